package e2e_test

import (
	"net/url"
	"reflect"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/tsdb/tsdbutil"
)

// objectSet is what was written in addition to floats.
type objectSet struct {
	metric     string
	histograms map[int64]*histogram.FloatHistogram // by milliseconds
	exemplars  map[string]float64                  // trace → value
	help       string
}

// writeObjects writes native histograms, exemplars and metadata of the metric basic_h, some of them
// late, twice or corrected.
func writeObjects(t *testing.T, c client) objectSet {
	t.Helper()
	set := objectSet{metric: "basic_h", help: "What it measures.", histograms: map[int64]*histogram.FloatHistogram{}, exemplars: map[string]float64{}}
	write := func(n int, stamps ...int64) {
		t.Helper()
		ts := series(nil, "__name__", set.metric)
		for i, at := range stamps {
			if n%2 == 0 {
				h := tsdbutil.GenerateTestHistogram(int64(n + i))
				ts.Histograms = append(ts.Histograms, prompb.FromIntHistogram(at, h))
				set.histograms[at] = h.ToFloat(nil)
				continue
			}
			h := tsdbutil.GenerateTestCustomBucketsFloatHistogram(int64(n + i))
			ts.Histograms = append(ts.Histograms, prompb.FromFloatHistogram(at, h))
			set.histograms[at] = h
		}
		c.Write(t, ts).ok(t)
	}
	write(2, at(10), at(11))
	write(3, at(20), at(20.5))
	write(4, at(1))
	write(4, at(1))
	write(5, at(11))

	set.writeExemplars(t, c)
	c.WriteV1(t, &prompb.WriteRequest{Metadata: []prompb.MetricMetadata{{
		MetricFamilyName: set.metric, Type: prompb.MetricMetadata_HISTOGRAM, Help: set.help, Unit: "seconds",
	}}}).ok(t)
	return set
}

func (s objectSet) writeExemplars(t *testing.T, c client) {
	t.Helper()
	for _, trace := range []string{"a", "b"} { // of one instant
		ts := series(nil, "__name__", s.metric)
		ts.Exemplars = []prompb.Exemplar{{Labels: []prompb.Label{{Name: "trace", Value: trace}}, Value: float64(trace[0]), Timestamp: at(11)}}
		c.Write(t, ts).ok(t)
		s.exemplars[trace] = float64(trace[0])
	}
}

// check reads all of it back.
func (s objectSet) check(t *testing.T, c client) {
	t.Helper()
	got := map[int64]*histogram.FloatHistogram{}
	for _, ts := range c.Read(t, epoch.Add(-time.Hour), epoch.Add(2*time.Hour), equals("__name__", s.metric)) {
		for _, h := range ts.Histograms {
			f := h.ToFloatHistogram()
			if !h.IsFloatHistogram() {
				f = h.ToIntHistogram().ToFloat(nil)
			}
			got[h.Timestamp] = f
		}
	}
	if len(got) != len(s.histograms) {
		t.Errorf("%d histograms, want %d", len(got), len(s.histograms))
	}
	for at, want := range s.histograms {
		if h := got[at]; h == nil || !h.Equals(want) {
			t.Errorf("histogram at %d ms: %v, want %v", at, h, want)
		}
	}
	s.checkExemplars(t, c)
	s.checkMetadata(t, c)
}

func (s objectSet) checkExemplars(t *testing.T, c client) {
	t.Helper()
	var found []struct {
		Exemplars []struct {
			Labels    map[string]string
			Value     float64 `json:",string"`
			Timestamp float64
		}
	}
	c.API(t, "/api/v1/query_exemplars", url.Values{"query": {s.metric}, "start": {stamp(epoch)}, "end": {stamp(epoch.Add(time.Hour))}}, &found)
	got := map[string]float64{}
	for _, f := range found {
		for _, e := range f.Exemplars {
			got[e.Labels["trace"]] = e.Value
		}
	}
	if !reflect.DeepEqual(got, s.exemplars) {
		t.Errorf("exemplars = %v, want %v", got, s.exemplars)
	}
}

func (s objectSet) checkMetadata(t *testing.T, c client) {
	t.Helper()
	type metadata struct{ Type, Help, Unit string }
	var got map[string][]metadata
	c.API(t, "/api/v1/metadata", url.Values{"metric": {s.metric}}, &got)
	want := map[string][]metadata{s.metric: {{"histogram", s.help, "seconds"}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("metadata = %v, want %v", got, want)
	}
}
