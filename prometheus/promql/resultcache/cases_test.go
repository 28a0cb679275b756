package resultcache_test

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/resultcache"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

func emptyTwins(t *testing.T) *twins {
	var now atomic.Int64
	now.Store(begin)
	return newTwins(t, rand.New(rand.NewPCG(1, 1)), &now, storetest.Start(t, kv.NewMem(storetest.Tables()...)).Store)
}

// put appends samples of a series (its name, its instance, and its bucket if it has one), a value each 15 s from one second after begin to another.
func (w *twins) put(series string, from, to int64, v float64) {
	w.t.Helper()
	parts := strings.Fields(series + " ")
	ls := labels.FromStrings("__name__", parts[0], "instance", parts[1], "job", "demo")
	if len(parts) > 2 {
		ls = labels.NewBuilder(ls).Set("le", parts[2]).Labels()
	}
	b := &storage.Batch{}
	for i := range w.series {
		if labels.Equal(w.series[i], ls) {
			for t := from; t < to; t += 15 {
				b.Add(w.refs[i], begin+t*1000, v)
			}
		}
	}
	if len(b.Refs) == 0 {
		w.t.Fatalf("no series %s", series)
	}
	w.send(b)
}

// both asks both engines for steps of a minute, in seconds after begin, and returns the answer.
func (w *twins) both(text string, from, to int64) string {
	w.t.Helper()
	q := &request{text: text, step: 60, start: begin/1000 + from, end: begin/1000 + to}
	got, want := w.run(w.cached, q), w.run(w.plain, q)
	if got != want {
		w.t.Errorf("%s from %d to %d: the answer is\n%s\nwithout what was kept\n%s", text, from, to, got, want)
	}
	return got
}

// TestWarningsOfGoneSteps: an answer has no warning of a step that is not asked for any more.
func TestWarningsOfGoneSteps(t *testing.T) {
	const text = `rate(temperature[2m])`
	for _, to := range []int64{1800, 2400} { // of what is kept alone, and with new steps
		w := emptyTwins(t)
		w.put("temperature a", 0, 300, 1)
		if got := w.both(text, 0, 1800); !strings.Contains(got, "might not be a counter") {
			t.Fatalf("no warning: %s", got)
		}
		w.both(text, 0, 1800)
		if got := w.both(text, 900, to); strings.Contains(got, "counter") {
			t.Errorf("to %d: a warning of nothing: %s", to, got)
		}
	}
}

// TestWarningsOfKeptSteps: an answer has the warnings of the steps that are not evaluated again.
func TestWarningsOfKeptSteps(t *testing.T) {
	w := emptyTwins(t)
	w.put("temperature a", 0, 300, 1)
	for _, to := range []int64{1800, 1800, 2400} {
		if got := w.both(`rate(temperature[2m])`, 0, to); !strings.Contains(got, "might not be a counter") {
			t.Errorf("to %d: no warning: %s", to, got)
		}
	}
}

// TestWarningsOfRanges: an answer has the warnings that a range has and an instant has not, also if one step
// is all that is asked for or evaluated.
func TestWarningsOfRanges(t *testing.T) {
	w := emptyTwins(t)
	w.put("temperature a", 0, 3600, 1)
	for _, r := range [][2]int64{{0, 1200}, {0, 1200}, {300, 1260}, {1800, 1815}, {1800, 1815}, {1800, 1830}} {
		q := &request{text: "sort(temperature)", step: 60, start: begin/1000 + r[0], end: begin/1000 + r[1]}
		got, want := w.run(w.cached, q), w.run(w.plain, q)
		if got != want || !strings.Contains(got, "sort is ineffective") {
			t.Errorf("%v: %s\nwant %s", r, got, want)
		}
	}
	if w.count("extended") == 0 {
		t.Error("no answer was extended")
	}
}

// TestRepairedSteps: an answer reports the repairs of buckets at its own steps, whichever of them are
// kept. Repairs at the steps of a subquery are not kept apart.
func TestRepairedSteps(t *testing.T) {
	for text, kept := range map[string]bool{
		`histogram_quantile(0.9, demo_bucket)`:                                                  true,
		`histogram_quantile(0.9, demo_bucket) + histogram_quantile(0.5, demo_bucket offset 5m)`: true,
		`max_over_time(histogram_quantile(0.9, demo_bucket)[2m:1m])`:                            false,
	} {
		w := emptyTwins(t)
		w.put("demo_bucket a 1", 0, 7200, 10)
		w.put("demo_bucket a 2", 0, 1800, 7)
		w.put("demo_bucket a +Inf", 0, 7200, 10)
		w.put("demo_bucket b 1", 900, 7200, 3)
		w.put("demo_bucket b +Inf", 900, 7200, 2)
		for to := int64(600); to < 7200; to += 300 {
			if got := w.both(text, max(0, to-3000), to); !strings.Contains(got, "needed to be fixed for monotonicity") {
				t.Fatalf("no repairs: %s", got)
			}
		}
		if extended := w.count("extended"); (extended > 15) != kept {
			t.Errorf("%s: %v answers were extended", text, extended)
		}
	}
}

// TestWarningOfOneStep: an annotation that only some steps have makes the whole be evaluated, and
// does not stay longer than these steps.
func TestWarningOfOneStep(t *testing.T) {
	w := emptyTwins(t)
	w.put("limit a", 0, 3600, 0.5)
	w.put("limit a", 600, 700, 2)
	w.put("temperature a", 0, 3600, 1)
	seen := false
	for to := int64(300); to < 3600; to += 60 {
		seen = strings.Contains(w.both(`quantile(scalar(limit{instance="a"}), temperature)`, max(0, to-900), to), "quantile value should be") || seen
	}
	if !seen {
		t.Error("no warning")
	}
}

// TestEqualLabels: what the engine refuses because series of different steps get equal labels is
// refused although some of the steps are kept.
func TestEqualLabels(t *testing.T) {
	w := emptyTwins(t)
	w.put("temperature a", 0, 300, 1)
	const text = `max_over_time({__name__=~"temperature|limit"}[2m])`
	w.both(text, 0, 1200)
	w.put("limit a", 1300, 1800, 1)
	if got := w.both(text, 0, 1800); !strings.Contains(got, "same labelset") {
		t.Errorf("answered: %s", got)
	}
}

// TestBesideWriter: a correction shows as soon as it is acknowledged, also to a query that follows
// one that was evaluated while it was written.
func TestBesideWriter(t *testing.T) {
	w := emptyTwins(t)
	w.put("limit a", 0, 600, 0)
	const corrections = 3000
	var acknowledged, seen atomic.Int64
	var writing sync.WaitGroup
	writing.Go(func() {
		for v := int64(1); v <= corrections; v++ {
			b := &storage.Batch{}
			b.Add(w.refs[8], begin+300_000, float64(v)) // limit a
			if err := w.store.Append(t.Context(), b); err != nil {
				t.Error(err)
			}
			acknowledged.Store(v)
			for seen.Load() < v && !t.Failed() {
				runtime.Gosched()
			}
		}
	})
	q := &request{text: `max_over_time(limit{instance="a"}[10m])`, step: 60, start: begin / 1000, end: begin/1000 + 600}
	for known := int64(0); known < corrections && !t.Failed(); {
		known = acknowledged.Load()
		if got := w.last(w.cached, q); got < float64(known) {
			t.Errorf("the answer has %v, and %d was acknowledged", got, known)
		}
		seen.Store(known)
	}
	writing.Wait()
}

// last returns the last value of an answer of one series.
func (w *twins) last(e promql.QueryEngine, q *request) float64 {
	w.t.Helper()
	query, err := e.NewRangeQuery(w.t.Context(), w.shown, nil, q.text, time.Unix(q.start, 0), time.Unix(q.end, 0), time.Duration(q.step)*time.Second)
	if err != nil {
		w.t.Fatal(err)
	}
	defer query.Close()
	result := query.Exec(w.t.Context())
	a, ok := result.Value.(*resultcache.Answer)
	if !ok || a.Len() != 1 {
		w.t.Fatalf("%v", result)
	}
	points := a.AppendPoints(nil, 0)
	bits, err := strconv.ParseUint(string(points[bytes.LastIndexByte(points, '=')+1:]), 16, 64)
	if err != nil {
		w.t.Fatal(err)
	}
	return math.Float64frombits(bits)
}

// TestGivesWay: what is kept gives way to a query that needs the memory, and to newer answers.
func TestGivesWay(t *testing.T) {
	w := emptyTwins(t)
	w.put("limit a", 0, 600, 1)
	empty := w.budget.Spare()
	for i := range int64(2000) {
		w.both(`limit * `+strings.Repeat("1", int(1+i/300))+strings.Repeat("0", int(i%300)), 0, 600)
	}
	kept := w.budget.Spare() - empty
	if kept < 1<<19 || kept > 1<<20+1<<18 {
		t.Errorf("%d bytes are kept, the limit is %d", kept, 1<<20)
	}
	a := w.budget.Open()
	if err := a.Take(7<<20 - 1000); err != nil {
		t.Errorf("a query finds no memory: %v", err)
	}
	a.Close()
	if left := w.budget.Spare(); left >= kept {
		t.Errorf("%d bytes are kept beside a query that needed them", left)
	}
}

// TestWithout: a query that wants nothing kept is evaluated as a whole.
func TestWithout(t *testing.T) {
	w := emptyTwins(t)
	w.put("limit a", 0, 600, 1)
	ctx := resultcache.Without(context.Background())
	for range 2 {
		run, err := w.cached.NewRangeQuery(ctx, w.shown, nil, `limit`, time.UnixMilli(begin), time.UnixMilli(begin+600_000), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if m, err := run.Exec(query.WithAccount(ctx, nil)).Matrix(); err != nil || len(m) != 1 {
			t.Errorf("%v, %v", m, err)
		}
		run.Close()
	}
	if w.budget.Spare() != 0 {
		t.Errorf("%d bytes are kept", w.budget.Spare())
	}
}
