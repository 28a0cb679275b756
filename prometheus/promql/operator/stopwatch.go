package operator

import "time"

// A Stopwatch measures one part of an evaluation. Parts are nested, and are started and stopped by
// the goroutine that evaluates the nodes.
type Stopwatch struct {
	started time.Time
	outer   time.Duration // of parts within the part around this one
}

// Start begins a part.
func (e *Evaluation) Start() Stopwatch {
	s := Stopwatch{time.Now(), e.within}
	e.within = 0
	return s
}

// Stop ends a part. It returns the time that it took, without the parts within it.
func (e *Evaluation) Stop(s Stopwatch) time.Duration {
	whole := time.Since(s.started)
	own := whole - e.within
	e.within = s.outer + whole
	return own
}
