// Package aggregator computes metrics of others as carbon-aggregator does: the values of all inputs within
// an interval become one. It keeps the values in bounded memory until an interval is too old to change, and
// tells from time to time what has become of them. It never stores a point, and knows no clock but the one
// that it is given.
package aggregator

import (
	"math"
	"sync"
	"time"

	"github.com/tsdbridge/tsdbridge/graphite/conf"
)

// Options are the settings of an Aggregator.
type Options struct {
	// MaxIntervals is carbon's MAX_AGGREGATION_INTERVALS: how many intervals before the one that the clock is
	// in still take values.
	MaxIntervals int
	// WriteBack is carbon's WRITE_BACK_FREQUENCY in seconds: how often outputs are computed at least; 0: every
	// frequency of their rule.
	WriteBack int64
	// MaxBytes bounds the memory for values, about.
	MaxBytes int64
	// Now is the clock.
	Now func() time.Time
}

// An Aggregator holds the buffers of all outputs. It is safe for concurrent use.
type Aggregator struct {
	o     Options
	begin time.Time

	mu      sync.Mutex // guards all below, and what they refer to
	buffers map[string]*buffer
	due     map[int64][]*buffer // by the second since begin at which they are to be computed
	swept   int64               // the last of these seconds
	bytes   int64
	short   bool // a value did not fit since the last sweep
}

// New returns an Aggregator without values.
func New(o Options) *Aggregator {
	return &Aggregator{o: o, begin: o.Now(), buffers: map[string]*buffer{}, due: map[int64][]*buffer{}}
}

// A Target is an output that some input has. It is the same for as long as its rule holds.
type Target struct {
	name   string
	rule   *conf.AggregationRule
	buffer *buffer // nil, or closed: it is looked for by its name
}

// NewTarget returns the output of that name of a rule.
func NewTarget(rule *conf.AggregationRule, name string) *Target {
	return &Target{name: name, rule: rule}
}

// An Input is a value for an output.
type Input struct {
	Target *Target
	Time   int64 // seconds since the epoch
	Value  float64
}

// A Result is the value of an output for the interval that begins at Time.
type Result struct {
	Name  string
	Time  int64 // seconds since the epoch
	Value float64
}

// Add takes inputs. It returns how many there was no memory for.
func (a *Aggregator) Add(inputs []Input) (dropped int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range inputs {
		in := &inputs[i]
		if b := a.bufferOf(in.Target); b == nil || !a.add(b, in.Time, in.Value) {
			dropped++
		}
	}
	a.short = a.short || dropped > 0
	return dropped
}

// bufferOf returns the buffer of a target, nil if there is no memory for it. The rule whose input comes
// first decides how the buffer computes: so does carbon's.
func (a *Aggregator) bufferOf(t *Target) *buffer {
	if t.buffer != nil && !t.buffer.closed {
		return t.buffer
	}
	b := a.buffers[t.name]
	if b == nil {
		b = newBuffer(t)
		if !a.take(b.cost()) {
			return nil
		}
		a.buffers[t.name] = b
		a.schedule(b, a.elapsed())
	}
	t.buffer = b
	return b
}

// add adds a value; false if there is no memory for it.
func (a *Aggregator) add(b *buffer, at int64, value float64) bool {
	v, cost := b.find(at - at%b.rule.Frequency)
	if !a.take(cost + b.method.cost) {
		return false
	}
	if v == nil {
		v = b.insert(at - at%b.rule.Frequency)
	}
	b.method.add(v, value)
	v.count++
	v.active = true
	return true
}

// take takes memory for values.
func (a *Aggregator) take(bytes int64) bool {
	if a.bytes+bytes > a.o.MaxBytes {
		return false
	}
	a.bytes += bytes
	return true
}

func (a *Aggregator) elapsed() int64 { return int64(a.o.Now().Sub(a.begin) / time.Second) }

// schedule has a buffer computed one period after a second.
func (a *Aggregator) schedule(b *buffer, from int64) {
	period := b.rule.Frequency
	if a.o.WriteBack > 0 {
		period = min(period, a.o.WriteBack)
	}
	a.due[from+period] = append(a.due[from+period], b)
}

// Sweep computes the outputs whose time has come, and appends what has changed to results. It is called
// every second. What it returns must be stored: it is not told again.
func (a *Aggregator) Sweep(results []Result) []Result {
	a.mu.Lock()
	defer a.mu.Unlock()
	now, until := a.o.Now().Unix(), a.elapsed()
	for ; a.swept < until; a.swept++ {
		second := a.swept + 1
		list := a.due[second]
		delete(a.due, second)
		for _, b := range list {
			if results = a.compute(b, now, results); !b.closed {
				a.schedule(b, second)
			}
		}
	}
	if a.short {
		a.short = false
		results = a.computeAll(now, results)
	}
	return results
}

// Flush computes all outputs, whether their time has come or not.
func (a *Aggregator) Flush(results []Result) []Result {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.computeAll(a.o.Now().Unix(), results)
}

func (a *Aggregator) computeAll(now int64, results []Result) []Result {
	for _, b := range a.buffers {
		results = a.compute(b, now, results)
	}
	return results
}

// compute appends what has changed of a buffer, and forgets the intervals that take no more values: those
// that are too old, as carbon does, and those as far in the future.
func (a *Aggregator) compute(b *buffer, now int64, results []Result) []Result {
	if b.closed {
		return results
	}
	current, reach := now-now%b.rule.Frequency, int64(a.o.MaxIntervals)*b.rule.Frequency
	kept := b.intervals[:0]
	for _, v := range b.intervals {
		if v.active {
			v.active = false
			if value := b.method.value(v); !math.IsNaN(value) { // carbon's caches take no NaN
				results = append(results, Result{b.name, v.start, value})
			}
		}
		if v.start < current-reach || v.start > current+max(reach, b.rule.Frequency) {
			a.bytes -= b.intervalCost(v)
			continue
		}
		kept = append(kept, v)
	}
	clear(b.intervals[len(kept):])
	b.intervals = kept
	if len(kept) == 0 {
		a.close(b)
	}
	return results
}

func (a *Aggregator) close(b *buffer) {
	b.closed = true
	a.bytes -= b.cost()
	delete(a.buffers, b.name)
}

// Keep forgets the buffers whose rule is not among rules, after it has appended what has changed of them
// to results.
func (a *Aggregator) Keep(rules *conf.AggregationRules, results []Result) []Result {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.o.Now().Unix()
	for _, b := range a.buffers {
		if rules.Has(b.rule) {
			continue
		}
		if results = a.compute(b, now, results); !b.closed {
			for _, v := range b.intervals {
				a.bytes -= b.intervalCost(v)
			}
			b.intervals = nil
			a.close(b)
		}
	}
	return results
}

// Stats returns how many outputs have values, and the memory that these take, in bytes.
func (a *Aggregator) Stats() (outputs int, bytes int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.buffers), a.bytes
}
