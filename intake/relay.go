package intake

// RelayPoints is how many points are worth a Relay: below, waking somebody costs more than waiting.
const RelayPoints = 512

// A Relay does one piece of work beside its owner, who may read and parse meanwhile what comes after it. The next piece begins when the last
// has ended, so that what a connection sent stays in order. The zero value is idle; nil never works.
type Relay struct{ done chan struct{} }

// Begin waits for the last piece of work and begins another. The owner waits for it at last.
func (r *Relay) Begin(work func()) {
	r.Wait()
	done := make(chan struct{})
	r.done = done
	go func() {
		defer close(done)
		work()
	}()
}

// Wait returns when no work is under way.
func (r *Relay) Wait() {
	if r != nil && r.done != nil {
		<-r.done
		r.done = nil
	}
}
