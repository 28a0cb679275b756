package read

import (
	"errors"
	"fmt"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	promstorage "github.com/prometheus/prometheus/storage"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/columns"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
)

// TestReadColumns: columns and single samples become the same bytes, also in several parts.
func TestReadColumns(t *testing.T) {
	p := newMemStorage(t)
	promtest.WriteDemo(t, p)
	app := p.AppenderV2(t.Context())
	const series = 3*256 + 5 // several parts
	for i := range series {
		ls := labels.FromStrings("__name__", "many", "i", fmt.Sprint(i))
		for at := range int64(i % 7) { // some have none
			if _, err := app.Append(0, ls, 0, at<<(i%40), float64(i)/3, nil, nil, promstorage.AppendV2Options{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := app.Commit(); err != nil {
		t.Fatal(err)
	}
	h := New(testOptions(p, Options{}))
	for _, selector := range []string{`many`, `requests_total`, `{__name__=~"many|temperature"}`, `nothing`} {
		matchers := promtest.Matchers(t, selector)
		set, err := h.columnsOf(t.Context(), &prompb.Query{EndTimestampMs: promtest.DemoEnd}, matchers)
		if err != nil || set == nil {
			t.Fatal(set, err)
		}
		var got, want sampleEncoder
		if err := got.addColumns(t.Context(), set); err != nil {
			t.Fatal(err)
		}
		if err := want.add(t.Context(), querierOf(t, p, 0, promtest.DemoEnd).Select(t.Context(), false, nil, matchers...)); err != nil {
			t.Fatal(err)
		}
		if string(got.response) != string(want.response) {
			t.Errorf("%s: %d bytes, want %d, or others", selector, len(got.response), len(want.response))
		}
		for limit := range 3 {
			got.limit, want.limit = limit*200+1, limit*200+1
			gotErr := got.addColumns(t.Context(), set)
			wantErr := want.add(t.Context(), querierOf(t, p, 0, promtest.DemoEnd).Select(t.Context(), false, nil, matchers...))
			if fmt.Sprint(gotErr) != fmt.Sprint(wantErr) {
				t.Errorf("%s, limit %d: %v, want %v", selector, got.limit, gotErr, wantErr)
			}
		}
	}
	set, err := h.columnsOf(t.Context(), &prompb.Query{EndTimestampMs: promtest.DemoEnd}, promtest.Matchers(t, `{__name__!=""}`))
	if err != nil {
		t.Fatal(err)
	}
	var e sampleEncoder
	if err := e.addColumns(t.Context(), set); !errors.Is(err, columns.ErrHandOver) || len(e.response) > 0 {
		t.Errorf("histograms as columns: %v", err)
	}
}
