package remotewrite

import (
	"math"
	"testing"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"

	"github.com/tsdbridge/tsdbridge/prometheus/histogramcodec"
	"github.com/tsdbridge/tsdbridge/storage"
)

// TestValues sends values that are easily lost. All bits arrive.
func TestValues(t *testing.T) {
	values := []float64{0, math.Copysign(0, -1), 1, math.Float64frombits(value.StaleNaN), math.Float64frombits(0xfff8000000000001), math.Inf(-1), 5e-324}
	to := &target{labels: labels.FromStrings("__name__", "m")}
	var items []item
	for n, v := range values {
		items = append(items, item{to, entry{kind: kindFloat, time: int64(n), value: v}})
	}
	minus := math.Copysign(0, -1)
	items = append(items, item{to, entry{kind: storage.KindHistogram, data: histogramcodec.EncodeHistogram(&histogram.Histogram{Sum: minus})}},
		item{to, entry{kind: storage.KindHistogram, data: histogramcodec.EncodeFloatHistogram(&histogram.FloatHistogram{Sum: minus})}},
		item{to, entry{kind: storage.KindExemplar, data: histogramcodec.EncodeExemplar(exemplar.Exemplar{Value: minus})}})
	e := &encoder{}
	first, err := e.v1(items)
	if err != nil {
		t.Fatal(err)
	}
	var one prompb.WriteRequest
	read(t, first.body, one.Unmarshal)
	second, err := e.v2(items)
	if err != nil {
		t.Fatal(err)
	}
	var two writev2.Request
	read(t, second.body, two.Unmarshal)
	for n, want := range values {
		a, b := one.Timeseries[0].Samples[n], two.Timeseries[0].Samples[n]
		if math.Float64bits(a.Value) != math.Float64bits(want) || math.Float64bits(b.Value) != math.Float64bits(want) || a.Timestamp != int64(n) || b.Timestamp != int64(n) {
			t.Errorf("%x arrives as %x by 1.0 and %x by 2.0", math.Float64bits(want), math.Float64bits(a.Value), math.Float64bits(b.Value))
		}
	}
	ones, twos := one.Timeseries[0], two.Timeseries[1]
	for n := range 2 {
		if !math.Signbit(ones.Histograms[n].Sum) || !math.Signbit(twos.Histograms[n].Sum) {
			t.Errorf("histogram %d: the sum -0 arrives as %v and %v", n, ones.Histograms[n].Sum, twos.Histograms[n].Sum)
		}
	}
	if !math.Signbit(ones.Exemplars[0].Value) || !math.Signbit(twos.Exemplars[0].Value) {
		t.Errorf("an exemplar of -0 arrives as %v and %v", ones.Exemplars[0].Value, twos.Exemplars[0].Value)
	}
}

func read(t *testing.T, packed []byte, unmarshal func([]byte) error) {
	t.Helper()
	body, err := snappy.Decode(nil, packed)
	if err == nil {
		err = unmarshal(body)
	}
	if err != nil {
		t.Fatal(err)
	}
}
