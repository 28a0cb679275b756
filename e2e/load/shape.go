package load

import (
	"cmp"
	"sync"
	"time"
)

// Shape is how much data there is and when: every series has a sample each step.
type Shape struct {
	Seed uint64
	// label of that name, prod if empty: shapes of different ones have no series in common, except
	// under dotted paths
	Env      string
	Series   int // of hosts
	Steps    int
	Interval time.Duration // of steps; whole milliseconds
	End      time.Time     // after the last step
	// Tail is how many series of ChurnMetric there are beside, in the last TailSteps steps alone.
	Tail, TailSteps int
}

func (s Shape) env() string { return cmp.Or(s.Env, "prod") }

// Samples returns how many samples the shape has.
func (s Shape) Samples() int { return s.Series*s.Steps + s.Tail*s.TailSteps }

// Start returns the time when the first step is, and Stop when the last one has ended.
func (s Shape) Start() time.Time { return s.End.Add(-time.Duration(s.Steps) * s.Interval) }

// at returns the millisecond of a host's sample in a step. The offsets of the hosts stay below an
// interval.
func (s Shape) at(step, host int) int64 {
	interval := s.Interval.Milliseconds()
	return s.Start().UnixMilli() + int64(step)*interval + int64(host)*997%interval
}

// Lane is the part of a shape that one connection sends: it has its series to itself, so that their
// samples arrive in order of time.
type Lane struct {
	shape      Shape
	host, tail []Series
}

// Lanes makes the series and deals them to n lanes.
func (s Shape) Lanes(n int) []Lane {
	lanes := make([]Lane, n)
	hosts := (s.Series + SeriesPerHost - 1) / SeriesPerHost
	var group sync.WaitGroup
	for i := range lanes {
		group.Go(func() {
			l := Lane{shape: s}
			for k := s.Series * i / n; k < s.Series*(i+1)/n; k++ {
				l.host = append(l.host, hostSeries(s, k))
			}
			for k := s.Tail * i / n; k < s.Tail*(i+1)/n; k++ {
				l.tail = append(l.tail, churnSeries(s, hosts, k))
			}
			lanes[i] = l
		})
	}
	group.Wait()
	return lanes
}

// Sample is a value of a series.
type Sample struct {
	Series *Series
	Time   int64 // milliseconds since 1970
	Value  float64
	Step   int
}

// Each calls f with all samples, step by step. It can be done once: values follow one another.
func (l *Lane) Each(f func(Sample)) {
	for step := range l.shape.Steps {
		l.stepOf(l.host, step, f)
		if step >= l.shape.Steps-l.shape.TailSteps {
			l.stepOf(l.tail, step, f)
		}
	}
}

func (l *Lane) stepOf(series []Series, step int, f func(Sample)) {
	for i := range series {
		s := &series[i]
		f(Sample{Series: s, Time: l.shape.at(step, s.Host), Value: s.next(), Step: step})
	}
}
