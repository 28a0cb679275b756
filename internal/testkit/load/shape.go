package load

import (
	"cmp"
	"sync"
	"time"
)

// Shape is the amount and the time of the data: every series has a sample in each step.
type Shape struct {
	Seed uint64
	// Env is the value of the label env, prod if empty. Shapes with different values have no series
	// in common, except under dotted paths.
	Env      string
	Series   int // of all hosts together
	Steps    int
	Interval time.Duration // of steps; whole milliseconds
	End      time.Time     // after the last step
	// Buckets is the number of additional series of BucketMetric, ten for each histogram.
	Buckets int
	// Explicit and Exponential are the numbers of additional histograms, which only OTLP can send: those
	// with fourteen bounds, of ExplicitMetric, and those with exponential buckets, of ExponentialMetric.
	Explicit, Exponential int
	// Tail is the number of additional series, of ChurnMetric. They only have samples in the last
	// TailSteps steps.
	Tail, TailSteps int
}

func (s Shape) env() string { return cmp.Or(s.Env, "prod") }

// Samples returns how many samples the shape has. A histogram is one sample.
func (s Shape) Samples() int {
	return (s.Series+s.Buckets+s.Explicit+s.Exponential)*s.Steps + s.Tail*s.TailSteps
}

// Start returns the time of the first step.
func (s Shape) Start() time.Time { return s.End.Add(-time.Duration(s.Steps) * s.Interval) }

// at returns the time of a host's samples in a step, in milliseconds. The offset of a host is less
// than the interval.
func (s Shape) at(step, host int) int64 {
	interval := s.Interval.Milliseconds()
	return s.Start().UnixMilli() + int64(step)*interval + int64(host)*997%interval
}

// Lane is the part of a shape that one connection sends. No other lane has its series, so their
// samples arrive in the order of time.
type Lane struct {
	shape      Shape
	host, tail []Series
}

// Lanes makes the series and distributes them among n lanes.
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
			for k := s.Buckets * i / n; k < s.Buckets*(i+1)/n; k++ {
				l.host = append(l.host, bucketSeries(s, k))
			}
			for k := s.Explicit * i / n; k < s.Explicit*(i+1)/n; k++ {
				l.host = append(l.host, distributionSeries(s, ExplicitMetric, explicit, len(explicitBounds)+1, k))
			}
			for k := s.Exponential * i / n; k < s.Exponential*(i+1)/n; k++ {
				l.host = append(l.host, distributionSeries(s, ExponentialMetric, exponential, exponentialBuckets, k))
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

// Each calls f with all samples, step by step. It can be called once, because each value depends on
// the one before.
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
