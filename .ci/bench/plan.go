package main

// run is a number of benchmarks that are run together, each for a fixed number of iterations, the whole several times.
type run struct {
	pkg        string // below the module's root
	bench      string
	test       string // a test that tells figures by its attributes, in virtual time
	iterations int
	times      int
}

var runs = []run{
	{pkg: "idempotency", bench: "^Benchmark(First|Replay|ReadFirst|Claimed|SingleShot|Cached)$", iterations: 1000, times: 5},
	{pkg: "idempotency", bench: "^BenchmarkFingerprint$", iterations: 200, times: 3},
	{pkg: "idempotency", bench: "^Benchmark(Storm|InFlight|Unknowns)$", test: "^TestStorm_Throttled$", iterations: 3, times: 3},
	{pkg: "idempotency", bench: "^BenchmarkGrowth$", iterations: 500, times: 1},
	{pkg: "lambda", bench: "^Benchmark(HTTP|SQS)$", iterations: 300, times: 3},
	{pkg: "lambda", bench: "^BenchmarkKey$", iterations: 100_000, times: 3},
	{pkg: "localtest", bench: "^Benchmark(PutUpdatePair|SDKAlone)$", iterations: 5000, times: 3},
}

// pair is a benchmark and its baseline.
type pair struct {
	what       string
	pkg        string
	ours, base string
	limits     limits
}

// limits are the largest ratios; zero: no budget, the ratio is told.
type limits struct{ allocations, bytes, instructions float64 }

func (l limits) any() bool { return l != limits{} }

// tenth is the budget of what the library adds to calls of the SDK that are written by hand.
var tenth = limits{allocations: 1.10, bytes: 1.10, instructions: 1.10}

// constants is the budget beside calls whose values are all constants. A tenth of those has no room for a fingerprint, which is
// half of what the library adds: the instructions are held to what has been reached.
func constants(instructions float64) limits {
	return limits{allocations: 1.10, bytes: 1.10, instructions: instructions}
}

var pairs = []pair{
	of("first run : two calls that compute the same items", "First", "none", "careful", tenth),
	of("replay : a put that computes the same item, and fails", "Replay", "none", "careful", tenth),
	of("first run : two calls of constants", "First", "none", "hand", constants(1.20)),
	of("replay : a put of constants that fails", "Replay", "none", "hand", constants(1.15)),
	of("replay, ReadFirst : a read", "ReadFirst", "none", "hand", constants(1.25)),
	of("transaction, claimed : put, transaction", "Claimed", "none", "hand", limits{}),
	of("transaction, single shot : transaction", "SingleShot", "none", "hand", limits{}),
	of("first run, embedded DynamoDB : two calls of constants", "First", "embedded", "hand", limits{}),
	of("replay, embedded DynamoDB : a put of constants that fails", "Replay", "embedded", "hand", limits{}),
	{"HTTPAPI : Wrap", "lambda", "BenchmarkHTTP/server=none/by=http", "BenchmarkHTTP/server=none/by=wrap", limits{}},
	{"SQS, a batch of 10 : ten times Do", "lambda", "BenchmarkSQS/batch=10/server=none/by=sqs", "BenchmarkSQS/batch=10/server=none/by=do", limits{}},
	{"table of 1,000,000 records : of 100", "idempotency", "BenchmarkGrowth/records=1000000", "BenchmarkGrowth/records=100", limits{allocations: 1.10, bytes: 1.10}},
	{"fingerprint, 1 KB of JSON : by hand", "idempotency", "BenchmarkFingerprint/JSON/1KB/by=oncekey", "BenchmarkFingerprint/JSON/1KB/by=hand", limits{}},
	{"fingerprint, 100 KB of JSON : by hand", "idempotency", "BenchmarkFingerprint/JSON/100KB/by=oncekey", "BenchmarkFingerprint/JSON/100KB/by=hand", limits{}},
	{"fingerprint, a struct of 1 KB : by hand", "idempotency", "BenchmarkFingerprint/struct/1KB/by=oncekey", "BenchmarkFingerprint/struct/1KB/by=hand", limits{}},
}

// of is a pair of the benchmarks of idempotency's pairs.
func of(what, name, server, by string, l limits) pair {
	path := "Benchmark" + name + "/server=" + server + "/by="
	return pair{what, "idempotency", path + "oncekey", path + by, l}
}

// figure is what a benchmark, or a test, tells beside a comparison.
type figure struct {
	what, bench string
	units       []string
}

var figures = []figure{
	{"replay from the process's cache", "BenchmarkCached", []string{"ns/op", "allocs/op", "B/op"}},
	{"1,000 duplicates at once, refused", "BenchmarkStorm/wait=false", []string{"writes/op", "reads/op", "ns/op"}},
	{"1,000 duplicates at once, waiting for 0.1 s", "BenchmarkStorm/wait=true", []string{"writes/op", "reads/op", "ns/op"}},
	{"1,000 duplicates, every second write throttled, waiting for 1 s", "TestStorm_Throttled", []string{"answered", "writes", "reads", "write-units", "read-units", "virtual-s"}},
	{"recovery's scan of 10,000 records", "BenchmarkUnknowns", []string{"records/s", "read-units/op"}},
	{"memory of a run under way", "BenchmarkInFlight/by=oncekey", []string{"heap-B/run", "stack-B/run"}},
	{"the same behind a claim by hand", "BenchmarkInFlight/by=hand", []string{"heap-B/run", "stack-B/run"}},
	{"fingerprint, 1 KB of JSON", "BenchmarkFingerprint/JSON/1KB/by=oncekey", []string{"MB/s", "allocs/op"}},
	{"fingerprint, 10 KB of JSON", "BenchmarkFingerprint/JSON/10KB/by=oncekey", []string{"MB/s", "allocs/op"}},
	{"fingerprint, 100 KB of JSON", "BenchmarkFingerprint/JSON/100KB/by=oncekey", []string{"MB/s", "allocs/op"}},
	{"fingerprint, a struct of 10 KB", "BenchmarkFingerprint/struct/10KB/by=oncekey", []string{"MB/s", "allocs/op"}},
	{"header Idempotency-Key, quoted", "BenchmarkKey/quoted", []string{"ns/op", "allocs/op"}},
	{"header Idempotency-Key, bare", "BenchmarkKey/bare", []string{"ns/op", "allocs/op"}},
	{"embedded DynamoDB, put and update", "BenchmarkPutUpdatePair", []string{"pairs/s"}},
	{"the SDK without a server, put and update", "BenchmarkSDKAlone", []string{"pairs/s"}},
}
