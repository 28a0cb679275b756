package rangeql

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// A likeness is how two answers compare.
type likeness string

const (
	same likeness = "same"
	// rounded answers differ in the last bits. The library adds the results of binary operations in
	// no certain order, so its own answers differ by as much.
	rounded   likeness = "rounded"
	different likeness = "different"
)

// shadow asks the library as well, for a share of the queries, and records how the answers compare.
func (q *columnQuery) shadow(ctx context.Context, ours *promql.Result) {
	e := q.engine
	if e.o.Shadow <= 0 || rand.Float64()*100 >= e.o.Shadow { //nolint:gosec // no secret
		return
	}
	theirs := q.Query.Exec(ctx)
	if ctx.Err() != nil {
		return
	}
	like, what := compareResults(ours, theirs)
	e.shadows.WithLabelValues(string(like)).Inc()
	if like == different && e.o.Logger != nil {
		e.o.Logger.Error("PromQL over columns and Prometheus' engine answer differently; set --query.promql-engine=prometheus, and report the query", "query", q.String(), "difference", what)
	}
}

// compareResults compares errors and values. The order of an instant vector does not matter.
func compareResults(ours, theirs *promql.Result) (likeness, string) {
	if (ours.Err == nil) != (theirs.Err == nil) || ours.Err != nil && ours.Err.Error() != theirs.Err.Error() {
		return different, fmt.Sprintf("error %v, the engine has %v", ours.Err, theirs.Err)
	}
	if ours.Err != nil {
		return same, ""
	}
	a, b := rowsOf(ours.Value), rowsOf(theirs.Value)
	if len(a) != len(b) {
		return different, fmt.Sprintf("%d series, the engine has %d", len(a), len(b))
	}
	like := same
	for i := range a {
		switch l := a[i].compare(b[i]); l {
		case different:
			return different, fmt.Sprintf("%v, the engine has %v", a[i], b[i])
		case rounded:
			like = rounded
		}
	}
	return like, ""
}

// rowsOf returns the series of an answer, sorted by labels.
func rowsOf(v parser.Value) []answerRow {
	var rows []answerRow
	switch v := v.(type) {
	case promql.Scalar:
		rows = append(rows, answerRow{floats: []promql.FPoint{{T: v.T, F: v.V}}})
	case promql.Vector:
		for _, s := range v {
			r := answerRow{labels: s.Metric}
			if s.H != nil {
				r.histograms = []promql.HPoint{{T: s.T, H: s.H}}
			} else {
				r.floats = []promql.FPoint{{T: s.T, F: s.F}}
			}
			rows = append(rows, r)
		}
	case promql.Matrix:
		for _, s := range v {
			rows = append(rows, answerRow{s.Metric, s.Floats, s.Histograms})
		}
	}
	slices.SortFunc(rows, func(a, b answerRow) int { return labels.Compare(a.labels, b.labels) })
	return rows
}

// answerRow is a series of an answer.
type answerRow struct {
	labels     labels.Labels
	floats     []promql.FPoint
	histograms []promql.HPoint
}

func (r answerRow) String() string {
	const most = 5
	return fmt.Sprintf("%v with %d values, %v…", r.labels, len(r.floats)+len(r.histograms), r.floats[:min(most, len(r.floats))])
}

func (r answerRow) compare(o answerRow) likeness {
	if !labels.Equal(r.labels, o.labels) || len(r.floats) != len(o.floats) || len(r.histograms) != len(o.histograms) {
		return different
	}
	like := same
	for i, p := range r.floats {
		if p.T != o.floats[i].T {
			return different
		}
		switch l := compareFloats(p.F, o.floats[i].F); l {
		case different:
			return different
		case rounded:
			like = rounded
		}
	}
	for i, p := range r.histograms {
		switch h := o.histograms[i]; {
		case p.T != h.T:
			return different
		case !p.H.Equals(h.H):
			if compareHistograms(p.H, h.H) == different {
				return different
			}
			like = rounded
		}
	}
	return like
}

// closeEnough is the relative difference of numbers that are rounded differently.
const closeEnough = 1e-9

func compareFloats(a, b float64) likeness {
	switch {
	case math.Float64bits(a) == math.Float64bits(b), math.IsNaN(a) && math.IsNaN(b):
		return same
	case math.Abs(a-b) <= closeEnough*max(math.Abs(a), math.Abs(b)):
		return rounded
	}
	return different
}

// compareHistograms compares what sums of buckets leave equal but for rounding.
func compareHistograms(a, b *histogram.FloatHistogram) likeness {
	if a.Schema != b.Schema || compareFloats(a.Count, b.Count) == different || compareFloats(a.Sum, b.Sum) == different {
		return different
	}
	return rounded
}
