package otlp

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage"
)

// deltaLine is a sum of deltas as it is stored, so many seconds ago.
func deltaLine(ago int, v float64) string {
	return floatLine(labels.FromStrings("__name__", "d_total", "instance", "1", "job", "shop"), promtest.Now().UnixMilli()-int64(ago)*1000, v)
}

func delta(from, to int, v float64) pmetric.Metrics {
	return sum("d", pmetric.AggregationTemporalityDelta, second(from), second(to), v)
}

// TestDeltas sends deltas that are in order, repeated, late, and after a gap. What is not in memory
// comes from the store.
func TestDeltas(t *testing.T) {
	d := newDoor(t)
	for n, step := range []struct {
		md       pmetric.Metrics
		rejected string
		restart  bool
	}{
		{md: delta(100, 90, 5)},
		{md: delta(90, 80, 2)},
		{md: delta(90, 80, 2)},                         // the sender did not get the answer
		{md: delta(200, 70, 3), rejected: "starts at"}, // what the SDK of another process would send
		{md: delta(80, 70, 1), restart: true},
		{md: delta(80, 70, 1), restart: true},
		{md: delta(90, 85, 3), rejected: `metric "d": delta is not newer`},
		{md: delta(50, 40, 4)}, // an SDK leaves out intervals without a change
	} {
		if step.restart {
			d = d.again()
		}
		status, rejected, text := send(t, d, step.md)
		switch {
		case step.rejected == "" && (status != http.StatusOK || rejected != 0):
			t.Errorf("step %d: %d %d %s", n, status, rejected, text)
		case step.rejected != "" && (status != http.StatusBadRequest || !strings.Contains(text, step.rejected)):
			t.Errorf("step %d: %d %s, want %s", n, status, text, step.rejected)
		}
	}
	want := deltaLine(90, 5) + deltaLine(80, 7) + deltaLine(70, 8) + deltaLine(40, 12)
	if got := d.dump(t); got != want {
		t.Errorf("stored\n%swant\n%s", got, want)
	}
}

// TestDeltasWithinMillisecond sends deltas that end in the same millisecond, as an SDK does when it is
// flushed twice: the store has one sample, with both.
func TestDeltasWithinMillisecond(t *testing.T) {
	d := newDoor(t)
	for n, later := range []int{0, 300, 300, 700} {
		md := delta(100, 90, float64(n+1))
		p := md.ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().At(0).Sum().DataPoints().At(0)
		p.SetTimestamp(p.Timestamp() + pcommon.Timestamp(later))
		if status, rejected, text := send(t, d, md); status != http.StatusOK || rejected != 0 {
			t.Fatal(status, rejected, text)
		}
	}
	if got, want := d.dump(t), deltaLine(90, 1+2+4); got != want {
		t.Errorf("stored\n%swant\n%s", got, want)
	}
}

// shortDelta is a delta of a histogram that begins and ends so many nanoseconds after an instant.
func shortDelta(from, to int, native bool) pmetric.Metrics {
	base := second(90)
	begin, end := base+pcommon.Timestamp(from), base+pcommon.Timestamp(to)
	md, m := one("h")
	if native {
		h := m.SetEmptyExponentialHistogram()
		h.SetAggregationTemporality(pmetric.AggregationTemporalityDelta)
		p := h.DataPoints().AppendEmpty()
		p.SetStartTimestamp(begin)
		p.SetTimestamp(end)
		p.SetCount(1)
		p.SetSum(1)
		p.Positive().BucketCounts().FromRaw([]uint64{1})
		return md
	}
	h := m.SetEmptyHistogram()
	h.SetAggregationTemporality(pmetric.AggregationTemporalityDelta)
	p := h.DataPoints().AppendEmpty()
	p.SetStartTimestamp(begin)
	p.SetTimestamp(end)
	p.SetCount(1)
	p.SetSum(1)
	p.BucketCounts().FromRaw([]uint64{1, 0})
	p.ExplicitBounds().FromRaw([]float64{1})
	return md
}

// TestShortDeltas sends deltas that end in one millisecond, each of them twice, and forgets all sums
// before each of them.
func TestShortDeltas(t *testing.T) {
	for _, native := range []bool{false, true} {
		d := newDoor(t)
		for n, step := range []struct{ from, to int }{
			{-1e9, 200}, {-1e9, 200}, {200, 700}, {200, 700}, {-1e9, 200}, {700, 999_999}, {700, 999_999}, {999_999, 3e9},
		} {
			d = d.again()
			if status, rejected, text := send(t, d, shortDelta(step.from, step.to, native)); status != http.StatusOK || rejected != 0 {
				t.Fatal(n, status, rejected, text)
			}
		}
		got := d.dump(t)
		wants := []string{`{__name__="h_count", instance="1", job="shop"} 1767225513000 4 `, `le="1"} 1767225513000 4 `, `{__name__="h_sum", instance="1", job="shop"} 1767225510000 3 `}
		if native {
			wants = []string{"1767225510000 schema 0 zero 0 {count:3, sum:3", "1767225513000 schema 0 zero 0 {count:4, sum:4"}
		}
		for _, want := range wants {
			if !strings.Contains(got, want) {
				t.Errorf("stored\n%s, without %s", got, want)
			}
		}
	}
}

// TestShortDeltasTorn repeats a short delta of which a part is durable.
func TestShortDeltasTorn(t *testing.T) {
	for part := range 4 {
		torn := &tearing{part: -1, objects: true}
		d := newDoor(t, func(o *Options) { torn.Appender, o.Appender = o.Appender, torn })
		for n, step := range []struct{ from, to int }{{-1e9, 200}, {200, 700}, {200, 700}, {700, 900}} {
			if n == 1 {
				torn.part = part
			}
			status, _, text := send(t, d, shortDelta(step.from, step.to, false))
			if want := n != 1; want != (status == http.StatusOK) {
				t.Fatal(n, status, text)
			}
			d = d.again()
		}
		got := d.dump(t)
		if n := strings.Count(got, " 1767225510000 3 "); n != 4 {
			t.Errorf("after %d samples were durable, stored\n%s", part, got)
		}
	}
}

// TestDeltasWithoutStart sends deltas that do not tell when they began.
func TestDeltasWithoutStart(t *testing.T) {
	d := newDoor(t)
	for _, after := range []int{200, 200, 700, 700, 2_000_000} {
		md := sum("d", pmetric.AggregationTemporalityDelta, 0, second(90)+pcommon.Timestamp(after), 1)
		d = d.again()
		if status, rejected, text := send(t, d, md); status != http.StatusOK || rejected != 0 {
			t.Fatal(after, status, rejected, text)
		}
	}
	want := deltaLine(90, 2) + floatLine(labels.FromStrings("__name__", "d_total", "instance", "1", "job", "shop"), promtest.Now().UnixMilli()-90_000+2, 3)
	if got := d.dump(t); got != want {
		t.Errorf("stored\n%swant\n%s", got, want)
	}
}

// TestDeltaWindow begins a sum anew when the store has only an old sample.
func TestDeltaWindow(t *testing.T) {
	d := newDoor(t, func(o *Options) { o.DeltaWindow = 0 })
	send(t, d, delta(100, 90, 5))
	d = d.again()
	send(t, d, delta(90, 80, 2))
	if got, want := d.dump(t), deltaLine(90, 5)+deltaLine(80, 2); got != want {
		t.Errorf("stored\n%swant\n%s", got, want)
	}
}

// TestDeltasForgotten has more series than fit in memory.
func TestDeltasForgotten(t *testing.T) {
	d := newDoor(t, func(o *Options) { o.DeltaSeries = 4 })
	const series, steps = 30, 5
	for step := range steps {
		for n := range series {
			md := delta(100-10*step, 90-10*step, 1)
			md.ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().At(0).Sum().DataPoints().At(0).Attributes().PutInt("n", int64(n))
			if status, _, text := send(t, d, md); status != http.StatusOK {
				t.Fatal(text)
			}
		}
	}
	if n := d.totals.all().Len(); n > 8 {
		t.Errorf("%d sums in memory", n)
	}
	if got := strings.Count(d.dump(t), fmt.Sprintf(" %d 40", steps)); got != series {
		t.Errorf("%d series have the whole sum, want %d", got, series)
	}
}

// TestDeltaBytes has histograms of many buckets, which count as many series.
func TestDeltaBytes(t *testing.T) {
	d := newDoor(t, func(o *Options) { o.DeltaSeries = 1000 })
	const series, buckets = 30, 9000
	for step := range 2 {
		for n := range series {
			md, m := one("h")
			h := m.SetEmptyExponentialHistogram()
			h.SetAggregationTemporality(pmetric.AggregationTemporalityDelta)
			p := h.DataPoints().AppendEmpty()
			p.SetStartTimestamp(second(100 - 10*step))
			p.SetTimestamp(second(90 - 10*step))
			p.Attributes().PutInt("n", int64(n))
			p.SetCount(buckets)
			counts := make([]uint64, buckets)
			for i := range counts {
				counts[i] = 1
			}
			p.Positive().BucketCounts().FromRaw(counts)
			if status, _, text := send(t, d, md); status != http.StatusOK {
				t.Fatal(text)
			}
		}
	}
	if n := d.totals.all().Len(); n > 4 { // each counts as 480
		t.Errorf("%d sums of %d buckets in memory", n, buckets)
	}
	if got := strings.Count(d.dump(t), fmt.Sprintf("{count:%d,", 2*buckets)); got != series {
		t.Errorf("%d series have the whole sum, want %d", got, series)
	}
}

// failing refuses appends for now, at random: before or after they are durable.
type failing struct {
	storage.Appender
	mu sync.Mutex
	r  *rand.Rand
}

func (f *failing) Append(ctx context.Context, b *storage.Batch) error {
	f.mu.Lock()
	n := f.r.IntN(4)
	f.mu.Unlock()
	if n == 0 {
		return errors.New("away")
	}
	if err := f.Appender.Append(ctx, b); err != nil || n != 1 {
		return err
	}
	return errors.New("the answer is lost")
}

// TestDeltasTogether has two senders at once, one of each series, that repeat what was not
// acknowledged, and at times what was.
func TestDeltasTogether(t *testing.T) {
	d := newDoor(t, func(o *Options) { o.Appender = &failing{Appender: o.Appender, r: rand.New(rand.NewPCG(1, 1))} })
	const steps = 40
	var wait sync.WaitGroup
	for n := range 4 {
		wait.Go(func() {
			r := rand.New(rand.NewPCG(uint64(n), 1))
			for step := range steps {
				md := delta(1000-10*step, 990-10*step, float64(1+step))
				md.ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().At(0).Sum().DataPoints().At(0).Attributes().PutInt("n", int64(n))
				for again := true; again; {
					status, rejected, text := send(t, d, md)
					if status != http.StatusOK && status != http.StatusServiceUnavailable || rejected != 0 {
						t.Errorf("%d %d %s", status, rejected, text)
						return
					}
					again = status != http.StatusOK || r.IntN(5) == 0
				}
			}
		})
	}
	wait.Wait()
	got := d.dump(t)
	if n := strings.Count(got, "\n"); n != 4*steps {
		t.Errorf("%d samples, want %d", n, 4*steps)
	}
	if n := strings.Count(got, fmt.Sprintf(" %d ", steps*(steps+1)/2)); n != 4 {
		t.Errorf("%d series have the whole sum:\n%s", n, got)
	}
}

// TestHistogramDeltas changes the buckets of a histogram, which begins its sums anew.
func TestHistogramDeltas(t *testing.T) {
	d := newDoor(t)
	for n, bounds := range [][]float64{{1, 2}, {1, 2}, {1, 5}} {
		md, m := one("h")
		h := m.SetEmptyHistogram()
		h.SetAggregationTemporality(pmetric.AggregationTemporalityDelta)
		p := h.DataPoints().AppendEmpty()
		p.SetStartTimestamp(second(100 - 10*n))
		p.SetTimestamp(second(90 - 10*n))
		p.SetCount(6)
		p.SetSum(3)
		p.BucketCounts().FromRaw([]uint64{1, 2, 3})
		p.ExplicitBounds().FromRaw(bounds)
		if status, _, text := send(t, d, md); status != http.StatusOK {
			t.Fatal(text)
		}
	}
	got := d.dump(t)
	for _, want := range []string{
		`{__name__="h_bucket", instance="1", job="shop", le="2"} 1767225520000 6 `, `{__name__="h_count", instance="1", job="shop"} 1767225520000 12 `,
		`{__name__="h_count", instance="1", job="shop"} 1767225530000 6 `, `{__name__="h_bucket", instance="1", job="shop", le="5"} 1767225530000 3 `,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("stored\n%s, without %s", got, want)
		}
	}
}

// tearing stores a part of the next batch and then fails, as HBase may when a process is killed.
type tearing struct {
	storage.Appender
	part    int  // how many samples; negative: all, and no error
	objects bool // and their objects
}

func (a *tearing) Append(ctx context.Context, b *storage.Batch) error {
	if a.part < 0 {
		return a.Appender.Append(ctx, b)
	}
	var torn storage.Batch
	for i := range a.part {
		torn.Add(b.Refs[i], b.Times[i], b.Values[i])
		for _, o := range b.Objects {
			if a.objects && o.Ref == b.Refs[i] {
				torn.AddObject(o.Ref, o.Time, o.Kind, o.Data)
			}
		}
	}
	a.part = -1
	return errors.Join(errors.New("torn"), a.Appender.Append(ctx, &torn))
}

// TestDeltasTorn repeats a request of which a part is durable: after a crash of the process, and in
// the same process. All sums are as if nothing had happened.
func TestDeltasTorn(t *testing.T) {
	const steps = 4
	want := sendHistogramDeltas(t, steps, -1, false)
	for _, crash := range []bool{false, true} {
		for part := range 6 {
			if got := sendHistogramDeltas(t, steps, part, crash); got != want {
				t.Errorf("after %d samples were durable (crash: %v), stored\n%swant\n%s", part, crash, got, want)
			}
		}
	}
}

// sendHistogramDeltas sends deltas of a histogram of six series, the first of which are torn, and
// returns what is stored.
func sendHistogramDeltas(t *testing.T, steps, part int, crash bool) string {
	t.Helper()
	torn := &tearing{part: -1}
	d := newDoor(t, func(o *Options) { torn.Appender, o.Appender = o.Appender, torn })
	for n := range steps {
		md, m := one("h")
		h := m.SetEmptyHistogram()
		h.SetAggregationTemporality(pmetric.AggregationTemporalityDelta)
		p := h.DataPoints().AppendEmpty()
		p.SetStartTimestamp(second(100 - 10*n))
		p.SetTimestamp(second(90 - 10*n))
		p.SetCount(uint64(6 * (n + 1)))
		p.SetSum(3)
		p.BucketCounts().FromRaw([]uint64{1, 2, 3})
		p.ExplicitBounds().FromRaw([]float64{1, 2})
		if n == 2 {
			torn.part = part
		}
		for status := 0; status != http.StatusOK; {
			var text string
			if status, _, text = send(t, d, md); status != http.StatusOK && status != http.StatusServiceUnavailable {
				t.Fatal(status, text)
			}
			if status != http.StatusOK && crash {
				d = d.again()
			}
		}
	}
	return d.dump(t)
}

func FuzzRequest(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 1))
	for i, all := range randomMetrics(r, 1).ResourceMetrics().All() {
		for _, m := range all.ScopeMetrics().At(i % 2).Metrics().All() {
			md, small := one("x")
			m.CopyTo(small)
			f.Add(encode(f, md), false)
		}
	}
	f.Add([]byte(`{"resourceMetrics":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"x"}}]},"scopeMetrics":[{"metrics":[{"name":"a","gauge":{"dataPoints":[{"timeUnixNano":"1000000000","asInt":"1"}]}}]}]}]}`), true)
	d := newDoor(f, func(o *Options) { o.BodyBytes = 1 << 20 })
	f.Fuzz(func(t *testing.T, body []byte, json bool) {
		contentType := "application/x-protobuf"
		if json {
			contentType = "application/json"
		}
		status, text := post(t, d, contentType, body)
		if status != http.StatusOK && status != http.StatusBadRequest {
			t.Errorf("%d %s", status, text)
		}
		if again, text := post(t, d, contentType, body); again != status {
			t.Errorf("%d, and then %d %s", status, again, text)
		}
		if held := d.intake.Gate().Bytes(); held != 0 {
			t.Errorf("%d bytes are held", held)
		}
	})
}
