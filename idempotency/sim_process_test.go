package idempotency

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// simProcess is a process of either simulation, with a clock of its own, that serves one request at a time.
type simProcess struct {
	number int
	rng    *rand.Rand
	skew   time.Duration
	r      *Runner
	dead   bool // until it begins anew
}

// simPerson is the number of who resolves: it neither crashes nor freezes.
const simPerson = 9

func newSimProcess(number int, seed uint64) simProcess {
	p := simProcess{number: number, rng: rand.New(rand.NewPCG(seed, uint64(number)))}
	p.skew = time.Duration(p.rng.Int64N(1800)-900) * time.Millisecond
	return p
}

func (p *simProcess) clock() time.Time { return time.Now().Add(p.skew) }

func (p *simProcess) chance(percent int) bool { return p.rng.IntN(100) < percent }

func (p *simProcess) upTo(d time.Duration) time.Duration {
	return time.Duration(p.rng.Int64N(int64(d)))
}

// crashes says that the process ends here: what is still deferred by its goroutine, a call perhaps, ends here too.
func (p *simProcess) crashes() bool {
	if p.dead {
		runtime.Goexit()
	}
	if p.number != simPerson && p.chance(2) {
		p.dead = true
	}
	return p.dead
}

// idle is the time between two requests: they come together, one after the other, or when leases have ended.
func (p *simProcess) idle() {
	pause(p.upTo([]time.Duration{50 * time.Millisecond, 5 * time.Second, 40 * time.Second}[p.rng.IntN(3)]))
}

// serves lets f serve a request. A handler's panic ends the process, as Lambda's runtime does.
func (p *simProcess) serves(background *sync.WaitGroup, f func()) {
	ended := make(chan struct{})
	background.Go(func() {
		defer close(ended)
		defer func() {
			if recover() != nil {
				p.dead = true
			}
		}()
		f()
	})
	<-ended
}

// invocation is the context of a request: most have a deadline.
func (p *simProcess) invocation() (context.Context, context.CancelFunc) {
	if p.chance(80) {
		return context.WithTimeout(context.Background(), 500*time.Millisecond+p.upTo(10*time.Second))
	}
	return context.WithCancel(context.Background())
}

// call is one call of the client: one try, and one repetition as the SDK makes it.
func (p *simProcess) call(ctx context.Context, try func() error) error {
	err := try()
	if errors.Is(err, errReset) {
		if !sleep(ctx, p.upTo(50*time.Millisecond)) {
			return ctx.Err()
		}
		err = try()
	}
	return err
}

// lastReply is the reply to the last try of a call: those to the tries before are lost, and a late copy's comes when nobody listens.
func lastReply[Out any](send func() (*Out, error), call func(try func() error) error) (*Out, error) {
	replies := make(chan *Out, 5)
	err := call(func() error {
		out, err := send()
		if err == nil {
			replies <- out
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	reply := <-replies
	for len(replies) > 0 {
		reply = <-replies
	}
	return reply, nil
}

// unknowns are all records without an outcome, by id.
func (p *simProcess) unknowns(ctx context.Context) (found []Record, err error) {
	for rec, err := range p.r.Unknowns(ctx) {
		if err != nil {
			return nil, err
		}
		found = append(found, rec)
	}
	slices.SortFunc(found, func(a, b Record) int { return strings.Compare(a.ID, b.ID) })
	return found, nil
}

// resolved says in words what became of a resolution. wrong is an error that there must not be.
func resolved(as Resolution, err error) (words string, wrong error) {
	switch {
	case err == nil:
		return "resolved " + string(as.status), nil
	case errors.Is(err, ErrInProgress), errors.Is(err, ErrLeaseLost), errors.Is(err, ErrNotFound):
		return "resolved too late", nil
	case errors.Is(err, ErrNotRecorded), errors.Is(err, ErrUnavailable), errors.Is(err, errNoKey):
		return "resolved without an answer", nil
	}
	return "resolved wrong", err
}

func pause(d time.Duration) { sleep(context.Background(), d) }

var errReset = errors.New("connection reset")
