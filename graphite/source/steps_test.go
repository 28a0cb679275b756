package source

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
)

// every returns n instants, in milliseconds, changed one by one.
func every(interval int64, n int, change ...func(r *rand.Rand, i int, at int64) (int64, bool)) []int64 {
	r := rand.New(rand.NewPCG(1, uint64(interval)))
	var times []int64
	for i := range n {
		at, keep := webNow*1000+int64(i)*interval, true
		for _, c := range change {
			if keep {
				at, keep = c(r, i, at)
			}
		}
		if keep {
			times = append(times, at)
		}
	}
	slices.Sort(times)
	return slices.Compact(times)
}

func jitter(by int64) func(*rand.Rand, int, int64) (int64, bool) {
	return func(r *rand.Rand, _ int, at int64) (int64, bool) { return at + r.Int64N(2*by+1) - by, true }
}

func lose(percent int) func(*rand.Rand, int, int64) (int64, bool) {
	return func(r *rand.Rand, _ int, at int64) (int64, bool) { return at, r.IntN(100) >= percent }
}

func hole(from, to int) func(*rand.Rand, int, int64) (int64, bool) {
	return func(_ *rand.Rand, i int, at int64) (int64, bool) { return at, i < from || i >= to }
}

// byTurns returns n instants with two intervals by turns.
func byTurns(one, other int64, n int) (times []int64) {
	for at := int64(0); len(times) < n; one, other = other, one {
		times = append(times, at)
		at += one
	}
	return times
}

// Every stored point is rendered, however few there are and wherever they are.
func TestFewPointsAreAllRendered(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		times := map[int64]bool{}
		for range 2 + r.IntN(7) {
			times[webNow*1000+r.Int64N(600)*1000+r.Int64N(2)*r.Int64N(1000)] = true
		}
		sorted := slices.Sorted(maps.Keys(times))
		sorted = slices.CompactFunc(sorted, func(a, b int64) bool { return a/1000 == b/1000 })
		step, points := inferStep(sorted, make([]float64, len(sorted)))
		slots := map[int64]bool{}
		for _, at := range sorted {
			slots[at/1000/max(step, 1)] = true
		}
		if len(sorted) > 1 && len(slots) != points {
			t.Fatalf("step %d of %v: %d slots", step, sorted, len(slots))
		}
	}
}

func TestInferStep(t *testing.T) {
	for _, c := range []struct {
		name  string
		times []int64
		want  int64 // 0: no interval
	}{
		{"no points", nil, 0},
		{"one point", every(10_000, 1), 0},
		{"two points", every(10_000, 2), 10},
		{"nine points", every(10_000, 9), 10},
		{"ten points", every(10_000, 10), 10},
		{"scrapes", every(15_000, 200, jitter(5)), 15},
		{"scrapes of a busy server", every(15_000, 200, jitter(700)), 15},
		{"scrapes half a minute apart", every(30_000, 100, jitter(2000)), 30},
		{"a third is lost", every(10_000, 400, lose(33)), 10},
		{"an outage", every(60_000, 100, hole(20, 90)), 60},
		{"backfilled days apart", append(every(300_000, 20), every(300_000, 1, func(_ *rand.Rand, _ int, at int64) (int64, bool) { return at + 864e5, true })...), 300},
		{"changed from a minute to ten seconds", append(every(60_000, 50, func(_ *rand.Rand, _ int, at int64) (int64, bool) { return at - 3_600_000, true }), every(10_000, 3000)...), 10},
		{"faster than a second", every(100, 100), 1},
		{"second and a half", every(1500, 100), 2},
		{"unusual", every(47_000, 100), 47},
		{"nearly unusual", every(58_000, 100), 60},
		{"just unusual", every(56_900, 100), 57},
		{"four minutes", every(240_000, 100), 240},
		{"nearly an hour", every(3_550_000, 48), 3600},
		{"daily", every(86_400_000, 12), 86400},
		{"a point lost of five", slices.Delete(every(15_000, 5), 2, 3), 15},
		{"a minute and then two", []int64{0, 60_000, 180_000}, 60},
		{"a minute and two by turns", byTurns(60_000, 120_000, 40), 60},
		{"two thirds two minutes", byTurns(120_000, 120_000, 4), 120},
		{"slightly less than the step, in one slot of it", []int64{1_500_000, 1_514_900, 1_530_000}, 14},
		{"slightly less than the step, in slots of their own", []int64{1_501_000, 1_515_900, 1_531_000}, 15},
		{"pairs", []int64{0, 1_000, 60_000, 61_000}, 1},
		{"yearly", every(365*86_400_000, 12), greatestStep},
	} {
		got, points := inferStep(c.times, make([]float64, len(c.times)))
		if got != c.want || points == 0 != (len(c.times) == 0) {
			t.Errorf("%s: inferStep = %d of %d points, want %d", c.name, got, points, c.want)
		}
	}
}

func TestParseStep(t *testing.T) {
	for text, want := range map[string]int64{"1": 1, "60": 60, "604800": 604800, "604801": 0, "0": 0, "-5": 0, "": 0, "10s": 0, "1.5": 0, "99999999999999999999": 0} {
		if got, ok := parseStep(text); ok != (want > 0) || ok && got != want {
			t.Errorf("parseStep(%q) = %d, %v, want %d", text, got, ok, want)
		}
	}
}

func TestMillis(t *testing.T) {
	for _, c := range []struct{ from, until, start, end int64 }{
		{10, 20, 10_000, 20_999},
		{-10, -5, 0, -1},
		{math.MinInt64, math.MaxInt64, 0, storage.MaxTime},
		{math.MaxInt64, math.MinInt64, farthest * 1000, -1},
	} {
		if start, end := millis(c.from, c.until); start != c.start || end != c.end {
			t.Errorf("millis(%d, %d) = %d, %d, want %d, %d", c.from, c.until, start, end, c.start, c.end)
		}
	}
}

func TestStaleMarkersAreNoPoints(t *testing.T) {
	times := every(10_000, 12)
	values := make([]float64, len(times))
	values[3], values[4], values[11] = math.NaN(), math.NaN(), math.Float64frombits(0x7ff0000000000002)
	if _, points := inferStep(times, values); points != 9 {
		t.Errorf("inferStep of nine points and three markers counts %d points", points)
	}
	if step, points := inferStep(every(15_000, 4), []float64{1, math.Float64frombits(0x7ff0000000000002), 1, 1}); step != 15 || points != 3 {
		t.Errorf("inferStep of three points and a marker = %d of %d points, want 15 of 3", step, points)
	}
	values[3] = 1
	if got, points := inferStep(times, values); points != 10 || got != 10 {
		t.Errorf("inferStep of ten points and two markers = %d of %d", got, points)
	}
}

// meta is SeriesMeta in memory, which fails on demand.
type meta struct {
	mu     sync.Mutex // guards all below
	values map[storage.Ref]string
	reads  int
	writes int
	err    error
}

func (m *meta) SeriesCustom(_ context.Context, refs []storage.Ref, _ string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads += len(refs)
	out := make([]string, len(refs))
	for i, ref := range refs {
		out[i] = m.values[ref]
	}
	return out, nil
}

func (m *meta) SetSeriesCustom(_ context.Context, _ string, edits []storage.CustomEdit) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range edits {
		if m.err == nil && m.values[e.Ref] == e.Old {
			m.values[e.Ref] = e.New
			m.writes++
		}
	}
	return m.err
}

func (m *meta) set(ref storage.Ref, value string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.values[ref], m.err = value, err
}

func (m *meta) get(ref storage.Ref) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.values[ref]
}

// stepsOver returns the steps of a web's series, with documents of their own. What waits is settled
// by settle.
func stepsOver(t *testing.T, w *fixture, log *strings.Builder) (s *steps, m *meta, settle func()) {
	t.Helper()
	m = &meta{values: map[storage.Ref]string{}}
	logger := slog.New(slog.NewTextHandler(log, nil))
	s = newSteps(Options{Store: w.Store, Now: time.Now, Logger: logger}, reader{w.Store})
	s.series = m
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return s, m, synctest.Wait
}

// TestSteps finds, stores, edits, deletes and loses a step.
func TestSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		ref := w.Points(t, "a.b", every(10_000, 50))
		var log strings.Builder
		s, m, settle := stepsOver(t, w, &log)
		window := span{webNow - 10, webNow + 400, webNow + 400}
		expect := func(what string, want int64) {
			t.Helper()
			got, err := s.of(t.Context(), []storage.Ref{ref, ref}, window)
			if err != nil || got[ref] != want {
				t.Errorf("%s: step %d, %v, want %d", what, got[ref], err, want)
			}
			settle()
		}
		document := func(want string) {
			t.Helper()
			if got := m.get(ref); got != want {
				t.Errorf("the document has %q, want %q", got, want)
			}
		}
		expect("from its points", 10)
		document("10")
		expect("remembered", 10)
		if m.writes != 1 {
			t.Errorf("%d writes, want 1", m.writes)
		}
		m.set(ref, "30", nil) // an edit by another process
		expect("not looked at yet", 10)
		time.Sleep(stepFresh)
		expect("not looked at before the answer", 10)
		expect("edited", 30)
		document("30")

		m.set(ref, "", nil)
		time.Sleep(stepFresh)
		expect("not looked at before the answer", 30)
		expect("deleted, so found again", 10)
		document("10")

		m.set(ref, "soon", nil)
		s.known.Forget(ref)
		expect("another program's nonsense", 10)
		document("soon")

		s.known.Forget(ref)
		m.set(ref, "", errors.New("read only"))
		for range 3 {
			s.known.Forget(ref)
			expect("documents cannot be written", 10)
		}
		if n := strings.Count(log.String(), "read only"); n != 1 {
			t.Errorf("logged %d times: %s", n, &log)
		}
		m.set(ref, "", nil)
		time.Sleep(stepFresh)
		expect("they can again", 10)
		expect("they can again", 10)
		document("10")
	})
}

// TestStepsOfFewPoints: more points are searched around the window; otherwise the step follows from
// a few points, and one point has carbon's default, for a while.
func TestStepsOfFewPoints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		var log strings.Builder
		s, m, settle := stepsOver(t, w, &log)
		day := func(name string, at int64, n int) storage.Ref {
			return w.Points(t, name, every(10_000, n, func(_ *rand.Rand, _ int, t int64) (int64, bool) { return t + at*1000, true }))
		}
		before, after, few, inside := day("x.before", -86400, 50), day("x.after", 7200, 50), day("x.few", 0, 9), day("x.inside", -20*86400, 50)
		one := day("x.one", 0, 1)
		refs := []storage.Ref{before, after, few, inside, one}
		for _, c := range []struct {
			from int64
			want string
		}{{webNow - 600, "10 10 10 60 60"}, {webNow - 30*86400, "10 10 10 10 60"}} {
			time.Sleep(guessFresh)
			got, err := s.of(t.Context(), refs, span{c.from, webNow + 600, webNow + 86400})
			if text := fmt.Sprint(got[before], got[after], got[few], got[inside], got[one]); err != nil || text != c.want {
				t.Errorf("steps from %d on: %s, %v, want %s", c.from, text, err, c.want)
			}
		}
		settle()
		if m.get(few) != "" || m.get(one) != "" || m.get(before) != "10" || m.get(after) != "10" || m.get(inside) != "10" {
			t.Errorf("documents %v", m.values)
		}
		// A guess is not checked again for a while, and then it is.
		w.Points(t, "x.one", every(10_000, 50))
		for _, want := range []int64{defaultStep, 10} {
			if got, err := s.of(t.Context(), refs, span{webNow - 600, webNow + 600, webNow + 600}); err != nil || got[one] != want {
				t.Errorf("step %d, %v, want %d", got[one], err, want)
			}
			time.Sleep(guessFresh)
		}
	})
}

// TestStepsOfHistograms: a series may have histograms alone. Where it has points, these decide.
func TestStepsOfHistograms(t *testing.T) {
	for _, c := range []struct {
		name   string
		kind   storage.Kind
		points []int64
		want   int64 // 0: none
	}{
		{"native", storage.KindHistogram, nil, 3600},
		{"OpenTSDB's", storage.KindCoded, nil, 3600},
		{"exemplars", storage.KindExemplar, nil, 0},
		{"beside points", storage.KindHistogram, every(60_000, 20), 60},
	} {
		p := storage.Points{Times: c.points, Values: make([]float64, len(c.points))}
		for _, at := range every(3_600_000, 12) {
			p.Objects = append(p.Objects, storage.Object{Time: at, Kind: c.kind}, storage.Object{Time: at, Kind: storage.KindStartTime})
		}
		f := inference{found: map[storage.Ref]int64{}, guessed: map[storage.Ref]int64{}}
		if f.add(p); f.found[p.Ref] != c.want || len(f.guessed) > 0 {
			t.Errorf("%s: step %d, want %d", c.name, f.found[p.Ref], c.want)
		}
	}
}
