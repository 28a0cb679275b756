package head

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"
)

// node makes series shaped like those of a node_exporter: 45 % constant, 18 % counters whose rate
// jitters by a fifth, 16 % float counters in hundredths, 11 % slow counters, 8 % gauges of bytes, 2
// % gauges in hundredths.
type node struct {
	rng    *rand.Rand
	kinds  []int
	values []float64
	rates  []float64
}

func newNode(series int) *node {
	n := &node{rng: rand.New(rand.NewPCG(3, 4)), kinds: make([]int, series), values: make([]float64, series), rates: make([]float64, series)}
	for i := range series {
		n.rates[i] = math.Exp(n.rng.Float64() * 10)
		switch c := n.rng.IntN(100); {
		case c < 45:
			n.kinds[i], n.values[i] = 0, float64(n.rng.Uint64N(1<<36)*uint64(n.rng.IntN(2)))
		case c < 63:
			n.kinds[i], n.values[i] = 1, math.Floor(n.rng.Float64()*1e9)
		case c < 79:
			n.kinds[i], n.values[i], n.rates[i] = 2, math.Floor(n.rng.Float64()*1e6), 0.1+14*n.rng.Float64()
		case c < 90:
			n.kinds[i] = 3
		case c < 98:
			n.kinds[i], n.values[i] = 4, float64(1<<18+n.rng.Uint64N(1<<22))*4096
		default:
			n.kinds[i], n.values[i] = 5, 2
		}
	}
	return n
}

// next returns the next value of series i.
func (n *node) next(i int) float64 {
	v := &n.values[i]
	switch n.kinds[i] {
	case 1:
		*v += math.Floor(n.rates[i] * (0.8 + 0.4*n.rng.Float64()))
	case 2:
		*v = math.Round((*v+n.rates[i]*(0.5+n.rng.Float64()))*100) / 100
	case 3:
		if n.rng.IntN(20) == 0 {
			*v++
		}
	case 4:
		*v = math.Abs(*v + float64(n.rng.IntN(513)-256)*4096)
	case 5:
		*v = math.Round(math.Abs(*v+(n.rng.Float64()-0.5)*0.2)*100) / 100
	}
	return *v
}

// steps returns batches of all series, each at one time.
func (n *node) steps(count int, begin int64) []Batch {
	batches := make([]Batch, count)
	for s := range batches {
		b := &batches[s]
		for i := range n.kinds {
			b.IDs = append(b.IDs, uint32(i))
			b.Times = append(b.Times, begin+int64(i/500*997%15000)+int64(s)*15000)
			b.Values = append(b.Values, n.next(i))
		}
	}
	return batches
}

// BenchmarkAppend appends time-major: an hour of series at a time.
func BenchmarkAppend(b *testing.B) {
	for _, size := range []struct{ series, steps int }{{10_000, 200}, {1_000_000, 3}} {
		for _, senders := range []int{1, 2} {
			b.Run(fmt.Sprintf("series=%d/senders=%d", size.series, senders), func(b *testing.B) {
				batches := newNode(size.series).steps(size.steps, begin)
				var spent time.Duration
				var mallocs uint64
				for b.Loop() {
					h := New(DefaultOptions())
					runtime.GC()
					var before, after runtime.MemStats
					runtime.ReadMemStats(&before)
					started := time.Now()
					appendAll(h, batches, senders)
					spent += time.Since(started)
					runtime.ReadMemStats(&after)
					mallocs = after.Mallocs - before.Mallocs
				}
				points := float64(size.series * size.steps)
				b.ReportMetric(float64(spent)/float64(b.N)/points, "ns/point")
				b.ReportMetric(float64(mallocs)/points, "allocs/point")
			})
		}
	}
}

// appendAll lets each sender append its part of every batch, 2000 points at a time.
func appendAll(h *Head, batches []Batch, senders int) {
	done := make(chan struct{})
	for s := range senders {
		go func() {
			for i := range batches {
				b := &batches[i]
				part := len(b.IDs) / senders
				for at := s * part; at < (s+1)*part; at += 2000 {
					end := min(at+2000, (s+1)*part)
					h.Append(&Batch{IDs: b.IDs[at:end], Times: b.Times[at:end], Values: b.Values[at:end]}, uint64(i))
				}
			}
			done <- struct{}{}
		}()
	}
	for range senders {
		<-done
	}
}

func filled(series, steps int) *Head {
	h := New(DefaultOptions())
	appendAll(h, newNode(series).steps(steps, begin), 1)
	return h
}

func BenchmarkRead(b *testing.B) {
	h := filled(2000, 240)
	var p Points
	points, i := 0, 0
	for b.Loop() {
		p.Reset()
		h.Read(uint32(i%2000), begin, begin+hour, &p)
		points += len(p.Times)
		i++
	}
	b.ReportMetric(float64(b.Elapsed())/float64(points), "ns/point")
}

func BenchmarkSeal(b *testing.B) {
	for _, coded := range []bool{false, true} {
		b.Run(fmt.Sprintf("coded=%v", coded), func(b *testing.B) {
			h := filled(10_000, 240)
			points := 0
			p := Everything()
			p.Coded = coded
			for b.Loop() {
				for s := range h.Seal(p) {
					points += len(s.Rows) * 240
					s.Keep()
				}
			}
			b.ReportMetric(float64(b.Elapsed())/float64(points), "ns/point")
		})
	}
}

// BenchmarkOldestMark reads the marks of a million rows.
func BenchmarkOldestMark(b *testing.B) {
	h := filled(1_000_000, 1)
	for b.Loop() {
		h.OldestMark()
	}
}

// BenchmarkMemory measures the memory of an hour of 240 points, and of a million series that have
// just begun.
func BenchmarkMemory(b *testing.B) {
	for _, size := range []struct{ series, steps int }{{10_000, 240}, {1_000_000, 3}} {
		b.Run(fmt.Sprintf("series=%d/steps=%d", size.series, size.steps), func(b *testing.B) {
			var st Stats
			for b.Loop() {
				st = filled(size.series, size.steps).Stats()
			}
			b.ReportMetric(float64(st.Bytes)/float64(size.series*size.steps), "B/point")
			b.ReportMetric(float64(st.Bytes)/float64(size.series), "B/series")
			b.ReportMetric(float64(st.Held)/float64(size.series), "held-B/series")
		})
	}
}
