package changes_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/changes"
)

// metricOf puts ten series into each metric.
func metricOf(ref storage.Ref) string { return fmt.Sprint(ref / 10) }

func batch(ref storage.Ref, times ...int64) *storage.Batch {
	b := &storage.Batch{}
	for _, t := range times {
		b.Refs, b.Times, b.Values = append(b.Refs, ref), append(b.Times, t), append(b.Values, 1)
	}
	return b
}

func is(metric string) func(string) bool { return func(uid string) bool { return uid == metric } }

func every(string) bool { return true }

const hour = 3600_000

// now is when points of six hours are recent.
func now() time.Time { return time.UnixMilli(6 * hour) }

// TestChanged: a reading learns of what changed in its time, of its metrics, since it began.
func TestChanged(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*changes.Log)
		wanted func(string) bool
		want   int64
	}{
		{"nothing", func(*changes.Log) {}, every, math.MaxInt64},
		{"a late point", func(l *changes.Log) { l.Batch(batch(15, hour)) }, is("1"), hour},
		{"a late point of another metric", func(l *changes.Log) { l.Batch(batch(25, hour)) }, is("1"), math.MaxInt64},
		{"a recent point of another metric", func(l *changes.Log) { l.Batch(batch(25, 6*hour-1000)) }, is("1"), 6*hour - 1000},
		{"before the reading", func(l *changes.Log) { l.Batch(batch(15, 1)) }, is("1"), math.MaxInt64},
		{"after the reading", func(l *changes.Log) { l.Batch(batch(15, 6*hour+1)) }, is("1"), math.MaxInt64},
		{"the first of several", func(l *changes.Log) { l.Batch(batch(15, 3*hour, 2*hour, 4*hour)) }, is("1"), 2 * hour},
		{"in several batches", func(l *changes.Log) {
			l.Batch(batch(15, 3*hour))
			l.Batch(batch(16, 2*hour))
			l.Batch(batch(17, 4*hour))
		}, is("1"), 2 * hour},
		{"an object", func(l *changes.Log) {
			b := &storage.Batch{}
			b.AddObject(15, 2*hour, storage.KindHistogram, nil)
			l.Batch(b)
		}, is("1"), 2 * hour},
		{"a deletion", func(l *changes.Log) { l.Times(2*hour, 3*hour) }, is("1"), 2 * hour},
		{"a deletion of older points", func(l *changes.Log) { l.Times(0, 1000) }, is("1"), math.MaxInt64},
		{"a deletion of newer points", func(l *changes.Log) { l.Times(7*hour, 8*hour) }, is("1"), math.MaxInt64},
		{"a rename", (*changes.Log).Names, is("1"), 0},
	} {
		l := changes.New(metricOf, now)
		c.change(l)
		r := l.Read(5000, 6*hour)
		if got := r.Changed(every); got != math.MaxInt64 {
			t.Errorf("%s: what changed before the reading counts: %d", c.name, got)
		}
		c.change(l)
		if got := r.Changed(c.wanted); got != c.want {
			t.Errorf("%s: Changed = %d, want %d", c.name, got, c.want)
		}
		r.End()
	}
	var none *changes.Log
	none.Batch(batch(1, 1))
	none.Times(0, 1)
	none.Names()
}

// TestSameAsList: a Log with its few marks tells what a list of all changes tells, or an earlier
// time.
func TestSameAsList(t *testing.T) {
	type point struct {
		metric string
		time   int64
	}
	type kept struct {
		*changes.Reading
		to    int64
		since []point
	}
	r := rand.New(rand.NewPCG(1, 2))
	exact := 0
	const rounds = 20_000
	l, open := changes.New(metricOf, now), []*kept{}
	for range rounds {
		switch r.IntN(4) {
		case 0:
			k := &kept{to: 6*hour + r.Int64N(hour)}
			k.Reading = l.Read(0, k.to)
			open = append(open, k)
			if len(open) > 20 {
				open[0].End()
				open = open[1:]
			}
		case 1, 2:
			p, ref := point{"", r.Int64N(8 * hour)}, storage.Ref(10+r.IntN(40))
			p.metric = metricOf(ref)
			l.Batch(batch(ref, p.time))
			for _, k := range open {
				k.since = append(k.since, p)
			}
		default:
			if len(open) == 0 {
				continue
			}
			k, metric := open[r.IntN(len(open))], metricOf(storage.Ref(10+r.IntN(40)))
			want := int64(math.MaxInt64)
			for _, p := range k.since {
				if p.metric == metric && p.time <= k.to {
					want = min(want, p.time)
				}
			}
			got := k.Changed(is(metric))
			if got > want {
				t.Fatalf("Changed = %d, but a point at %d has changed", got, want)
			}
			if got == want {
				exact++
			}
		}
	}
	if exact < rounds/8 {
		t.Errorf("only %d times exact", exact)
	}
}

// TestBeside: a value that is read beside writers is never taken for unchanged after it has changed.
func TestBeside(t *testing.T) {
	const points = 50
	l := changes.New(metricOf, now)
	var values [points]atomic.Int64
	var writers sync.WaitGroup
	var ended atomic.Bool
	for w := range 2 {
		writers.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 1))
			for !ended.Load() {
				at := r.IntN(points)
				values[at].Add(1)
				l.Batch(batch(storage.Ref(10+at%10), int64(at)*hour))
			}
		})
	}
	read := func() (all [points]int64) {
		for i := range values {
			all[i] = values[i].Load()
		}
		return all
	}
	for range 3000 {
		reading := l.Read(0, points*hour)
		was := read()
		is := read() // acknowledged or not
		first := reading.Changed(every)
		for i := range was {
			if int64(i)*hour < first && was[i]+2 < is[i] { // each writer has one that is not acknowledged
				t.Fatalf("point %d changed from %d to %d, but nothing before %d is said to have", i, was[i], is[i], first)
			}
		}
		reading.End()
	}
	ended.Store(true)
	writers.Wait()
}
