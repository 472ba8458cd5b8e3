package remote

// outside runs functions in goroutines that belong to no bubble of testing/synctest. A bubble's clock stands still
// while one of its goroutines waits for such a function, so that a call over a real network takes no virtual time; and
// time.Now is the real one in there, as a signature needs it. A goroutine belongs to the bubble of whoever starts it, and
// so does a channel: both have to be made before the first bubble is.
type outside struct {
	desks chan desk
}

// desk is where one function is handed in.
type desk struct {
	hand chan func()
	done chan struct{}
}

func newOutside(workers int) *outside {
	o := &outside{desks: make(chan desk)}
	for range workers {
		go o.work()
	}
	return o
}

func (o *outside) work() {
	for {
		d := desk{hand: make(chan func()), done: make(chan struct{})}
		o.desks <- d
		f := <-d.hand
		f()
		close(d.done)
	}
}

// do returns when f has run.
func (o *outside) do(f func()) {
	d := <-o.desks
	d.hand <- f
	<-d.done
}
