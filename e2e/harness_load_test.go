package e2e_test

import (
	"context"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/prometheus/prompb"
)

// loadOptions define what a load writes. The zero value is usable.
type loadOptions struct {
	Metric  string // default load_total
	Writers int    // default 4; each has its own series and one request under way
	Series  int    // of each writer, default 20
	Batches int    // of each writer at most, default 100 000: more than a test lasts
	// batches until a writer turns to new series, default 40: new series keep coming
	Generation int
	Start      time.Time     // of the first sample, default two hours ago
	Step       time.Duration // between batches, default 50 ms
}

func (o loadOptions) withDefaults() loadOptions {
	if o.Metric == "" {
		o.Metric = "load_total"
	}
	for _, d := range []struct {
		field *int
		value int
	}{{&o.Writers, 4}, {&o.Series, 20}, {&o.Batches, 100_000}, {&o.Generation, 40}} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	if o.Step == 0 {
		o.Step = 50 * time.Millisecond
	}
	if o.Start.IsZero() {
		o.Start = time.Now().Add(-2 * time.Hour)
	}
	o.Start = o.Start.Truncate(time.Millisecond)
	return o
}

// load writes numbered samples by remote write 1.0 as fast as they are acknowledged. Like
// Prometheus, it repeats a request until it is acknowledged. So each writer knows that all its
// batches up to a number are acknowledged, and that at most one more may be stored.
type load struct {
	*writers // a request is a batch

	o loadOptions
}

// startLoad begins to write to the first of the clients, and turns to the next one after every
// failure, until Stop or the end of the test.
func startLoad(t testing.TB, to ...client) *load {
	t.Helper()
	o := loadOptions{}.withDefaults()
	l := &load{writers: newWriters(t, o.Writers), o: o}
	l.start(func(ctx context.Context, w int) { l.write(ctx, w, to) })
	return l
}

// Acked returns how many samples are acknowledged.
func (l *load) Acked() int64 {
	return l.Requests() * int64(l.o.Series)
}

// WaitAcked waits until n more samples are acknowledged.
func (l *load) WaitAcked(t testing.TB, n int64) {
	t.Helper()
	waitMore(t, n, "samples", l.Acked)
}

func (l *load) write(ctx context.Context, w int, to []client) {
	for n := range l.o.Batches {
		body := snappied(l.t, &prompb.WriteRequest{Timeseries: l.batch(w, n)})
		for try := 0; !l.send(ctx, to[try%len(to)], body); try++ {
			if !l.again(ctx) {
				return
			}
		}
		l.acked[w].Add(1)
	}
}

// send reports whether the batch is acknowledged. What Prometheus would drop fails the test.
func (l *load) send(ctx context.Context, c client, body []byte) bool {
	r, err := c.do(ctx, http.MethodPost, "/api/v1/write", writeHeader(contentV1, nil), body)
	if err == nil && r.status/100 != 2 && r.status/100 != 5 {
		l.t.Errorf("load: answer %v", r)
	}
	return err == nil && r.status/100 == 2
}

// batch returns the n-th batch of a writer: its series' samples of one instant, with n as the
// value.
func (l *load) batch(w, n int) []prompb.TimeSeries {
	at := l.at(n)
	all := make([]prompb.TimeSeries, l.o.Series)
	for i := range all {
		all[i] = series([]prompb.Sample{sampleAt(at, float64(n))},
			"__name__", l.o.Metric, "generation", strconv.Itoa(n/l.o.Generation), "series", strconv.Itoa(i), "writer", strconv.Itoa(w))
	}
	return all
}

func (l *load) at(n int) time.Time { return l.o.Start.Add(time.Duration(n) * l.o.Step) }
