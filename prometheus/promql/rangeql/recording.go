package rangeql

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	promstorage "github.com/prometheus/prometheus/storage"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/columns"
)

// recordingQueryable is a Queryable for the library that notes what its selectors read. Nothing is noted for a sample.
type recordingQueryable struct {
	promstorage.Queryable

	mu    sync.Mutex // guards reads
	reads []*recordedRead
}

// mostRecorded bounds the reads that are noted of one query.
const mostRecorded = 1000

// A recordedRead is the reading of a selector by the library.
type recordedRead struct {
	read Read
	set  sampleCounter // nil: it does not know
}

// A sampleCounter is a SeriesSet that knows how many samples it has read.
type sampleCounter interface{ Samples() int }

// Querier implements storage.Queryable.
func (w *recordingQueryable) Querier(mint, maxt int64) (promstorage.Querier, error) {
	q, err := w.Queryable.Querier(mint, maxt)
	if err != nil {
		return nil, err
	}
	return &recordingQuerier{q, w, mint, maxt}, nil
}

type recordingQuerier struct {
	promstorage.Querier
	queryable  *recordingQueryable
	mint, maxt int64
}

// Select implements storage.Querier.
func (w *recordingQuerier) Select(ctx context.Context, sorted bool, hints *promstorage.SelectHints, matchers ...*labels.Matcher) promstorage.SeriesSet {
	one := &recordedRead{read: Read{Selector: columns.Selector{Matchers: matchers, Start: w.mint, End: w.maxt}}}
	if hints != nil {
		one.read.Start, one.read.End = hints.Start, hints.End
	}
	w.queryable.mu.Lock()
	full := len(w.queryable.reads) >= mostRecorded
	if !full {
		w.queryable.reads = append(w.queryable.reads, one)
	}
	w.queryable.mu.Unlock()
	if full {
		return w.Querier.Select(ctx, sorted, hints, matchers...)
	}
	begin := time.Now()
	ctx, one.read.Rows = query.BeginTally(ctx)
	set := w.Querier.Select(ctx, sorted, hints, matchers...)
	one.read.Took = time.Since(begin)
	one.set, _ = set.(sampleCounter)
	return &recordingSet{set, one}
}

type recordingSet struct {
	promstorage.SeriesSet
	read *recordedRead
}

// Next implements storage.SeriesSet.
func (s *recordingSet) Next() bool {
	begin := time.Now()
	more := s.SeriesSet.Next()
	s.read.read.Took += time.Since(begin)
	if more {
		s.read.read.Series++
	} else if s.read.set != nil {
		s.read.read.Samples = int64(s.read.set.Samples())
	}
	return more
}

// explain returns how the library evaluated a query: what each selector read, and the rest as one node, since the library
// tells nothing of its parts.
func (w *recordingQueryable) explain(x *Explanation, expr string, answer *promql.Result, took time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	root := &Step{ID: 1, Operator: "Prometheus' engine", Expression: expr, Shared: 1, Done: answer != nil && answer.Err == nil, Took: took}
	if x.Left != "" {
		root.Operator += ", because: " + x.Left
	}
	if root.Done {
		root.Series, root.Samples = sizeOfAnswer(answer.Value)
	}
	for i, r := range w.reads {
		x.Reads = append(x.Reads, r.read)
		root.Took = max(0, root.Took-r.read.Took)
		root.Inputs = append(root.Inputs, &Step{
			ID: i + 2, Operator: "selector", Expression: columns.SelectorText(r.read.Matchers), Shared: 1, Done: true,
			Series: r.read.Series, Samples: int(r.read.Samples), Reads: []int{i},
		})
	}
	x.Plan = root
}

// sizeOfAnswer returns how many series and values an answer has.
func sizeOfAnswer(v parser.Value) (series, samples int) {
	switch v := v.(type) {
	case promql.Vector:
		return len(v), len(v)
	case promql.Matrix:
		return len(v), v.TotalSamples()
	}
	return 1, 1
}
