package idempotency

import "testing"

// Schedules that have found something, by what it was. A change of the simulation makes others of their seeds: the smallest form
// of each is a test of its own (of the ledger's in ledger_sim_found_test.go), where it has one.

func TestSimulation_FoundSeeds(t *testing.T) {
	t.Parallel()
	for name, seed := range map[string]uint64{
		"I7, a claim comes late, when the call has met another record and gone on": 419290,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newSimulation(seed).run(t)
		})
	}
}

func TestLedger_FoundSeeds(t *testing.T) {
	t.Parallel()
	for name, seed := range map[string]uint64{
		"I5, Do charges, and its transaction is refused":           2905,
		"I5, the same, and the process dies after the release":     5508,
		"I9, committed, and the answer's items cannot be read":     7693,
		"a late copy of a transaction whose record has been swept": 8371,
		"I7, a claim comes late, when the call has gone on":        470945,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newLedgerSim(seed).run(t)
		})
	}
}
