package put

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/opentsdb/jackson"
	"github.com/tsdbridge/tsdbridge/opentsdb/opentsdbtest"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// TestHistogramsByTelnet: histograms and points of one read are stored together, and a store that fails is asked
// again.
func TestHistogramsByTelnet(t *testing.T) {
	m := opentsdbtest.NewMemory()
	m.Resolving = refuseNamed
	var stored histogramList
	stored.failures = 3
	o := DefaultOptions()
	o.Appender, o.Registerer, o.Histograms, o.Codecs = m, prometheus.NewRegistry(), &stored, Codecs{Enabled: true, Simple: 3}
	tel, d := telnetOver(New(o))
	l := NewLines(64<<10, 1024, nil)
	l.Filled(copy(l.Room(), "put m 1356998400 1 a=b\nhistogram h 1356998400 0,1=5 a=b\nput m 1356998401 2 a=b\n"+
		"histogram refused 1356998400 0,1=5 a=b\nhistogram h 1356998401000 u=1:0,1=5 a=b\nhistogram h 1 x a=b\n"))
	tel.Take(t.Context(), &l, d)
	answer := string(tel.Answer)
	if !strings.Contains(answer, "histogram: HBase error: resolve refused") || strings.Count(answer, "\n") != 2 {
		t.Errorf("answered %q", answer)
	}
	want := []string{"1356998400000 false 030001000000003F800000050000", "1356998401000 true 030001000000003F800000050100"}
	if diff := cmp.Diff(want, stored.list); diff != "" {
		t.Error(diff)
	}
	if n := len(m.Stored()); n != 2 {
		t.Errorf("%d points", n)
	}
}

// histogramList keeps histograms, after so many failures.
type histogramList struct {
	failures int
	list     []string
}

// PutHistograms implements HistogramStore.
func (l *histogramList) PutHistograms(_ context.Context, all []storage.CodedHistogram) error {
	if l.failures--; l.failures >= 0 {
		return errors.New("away")
	}
	for _, h := range all {
		l.list = append(l.list, fmt.Sprintf("%d %v %X", h.Time, h.Millis, h.Value))
	}
	return nil
}

// FuzzHistogramBody: no body is read as more than it is, and what it says of counts is kept.
func FuzzHistogramBody(f *testing.F) {
	for _, e := range readRequests(f, "api/queries/testdata/histograms") {
		f.Add([]byte(e))
	}
	o := DefaultOptions()
	o.Appender, o.Registerer, o.Codecs = opentsdbtest.NewMemory(), prometheus.NewRegistry(), Codecs{Enabled: true}
	in := New(o)
	f.Fuzz(func(t *testing.T, body []byte) {
		j := in.job(&in.http)
		defer j.Release()
		p := walker{Scanner: jackson.Scanner{B: body}, job: j, limit: 100, careful: true, histograms: &Histograms{}}
		if p.walk() != nil {
			return
		}
		if n := len(p.histograms.list) + len(p.bad); n != p.points {
			t.Errorf("%d of %d elements", n, p.points)
		}
		for _, h := range p.histograms.list {
			if _, err := schema.ParseStoredHistogram(h.Value, 0); err != nil && !errors.Is(err, schema.ErrShortHistogram) {
				t.Errorf("%X: %v", h.Value, err)
			}
		}
		for _, bad := range p.bad {
			_ = echo(body[bad.from:bad.to], true)
		}
	})
}

// readRequests returns the bodies of recorded puts.
func readRequests(t testing.TB, name string) (bodies []string) {
	t.Helper()
	for _, e := range opentsdbtest.ReadExchanges(t, "../"+name) {
		if e.Phase == "write" && e.Kind == "http" {
			bodies = append(bodies, string(e.Body))
		}
	}
	return bodies
}
