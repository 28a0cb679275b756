package read

import (
	"math"
	"testing"

	"github.com/gogo/protobuf/proto"
	"github.com/golang/snappy"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/storage/remote"

	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/prometheus/queryable"
)

// TestSampleEncoder compares the answer with that of the module, which is right except for -0.
func TestSampleEncoder(t *testing.T) {
	p := newMemStorage(t)
	promtest.WriteDemo(t, p)
	var e sampleEncoder
	var want prompb.ReadResponse
	for _, selector := range []string{`{__name__!="limit"}`, `nothing`, `latency`} {
		q := querierOf(t, p, 0, promtest.DemoEnd)
		if err := e.add(t.Context(), q.Select(t.Context(), true, nil, promtest.Matchers(t, selector)...)); err != nil {
			t.Fatal(err)
		}
		result, _, err := remote.ToQueryResult(q.Select(t.Context(), true, nil, promtest.Matchers(t, selector)...), 0)
		if err != nil {
			t.Fatal(err)
		}
		want.Results = append(want.Results, result)
	}
	data, err := snappy.Decode(nil, e.compressed())
	if err != nil {
		t.Fatal(err)
	}
	var got prompb.ReadResponse
	if err := proto.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	wantData, err := proto.Marshal(&want)
	if err != nil {
		t.Fatal(err)
	}
	gotData, err := proto.Marshal(&got)
	if err != nil {
		t.Fatal(err)
	}
	if string(gotData) != string(wantData) {
		t.Error(cmp.Diff(want.String(), got.String()))
	}
}

func TestSampleEncoderSigns(t *testing.T) {
	p := newPromStorageOf(&promtest.PlainStore{}, promtest.RawNames{}, queryable.Limits{})
	promtest.WriteDemo(t, p)
	var e sampleEncoder
	if err := e.add(t.Context(), querierOf(t, p, 180_000, 180_000).Select(t.Context(), true, nil, promtest.Matchers(t, `limit`)...)); err != nil {
		t.Fatal(err)
	}
	data, _ := snappy.Decode(nil, e.compressed())
	var got prompb.ReadResponse
	if err := got.Unmarshal(data); err != nil {
		t.Fatal(err)
	}
	if v := got.Results[0].Timeseries[0].Samples[0].Value; v != 0 || !math.Signbit(v) {
		t.Errorf("%v, want -0", v)
	}
}
