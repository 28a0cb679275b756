package netserver

// PipelinePoints is how many points are worth a Pipeline. With fewer, waking a goroutine costs more
// than waiting.
const PipelinePoints = 512

// A Pipeline does one piece of work while its owner may read and parse what comes after it. The
// next piece begins when the last has ended, so that what a connection sent stays in order. The
// zero value is idle; nil never works.
type Pipeline struct{ done chan struct{} }

// Begin waits for the last piece of work and begins another. The owner calls Wait in the end.
func (p *Pipeline) Begin(work func()) {
	p.Wait()
	done := make(chan struct{})
	p.done = done
	go func() {
		defer close(done)
		work()
	}()
}

// Wait returns when no work is under way.
func (p *Pipeline) Wait() {
	if p != nil && p.done != nil {
		<-p.done
		p.done = nil
	}
}
