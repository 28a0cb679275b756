package queryable

import (
	"context"
	"slices"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/prometheus/histogramcodec"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/storage"
)

// exemplarQuerier reads exemplars. The interface passes the context when the querier is made.
type exemplarQuerier struct {
	*Store
	context func() context.Context
}

// Select returns the exemplars of all series that satisfy one of the selectors, each series once,
// sorted by labels and by time, with start <= time <= end in milliseconds.
func (q *exemplarQuerier) Select(start, end int64, selectors ...[]*labels.Matcher) ([]exemplar.QueryResult, error) {
	ctx := q.context()
	span := timeSpan{start, end}.clamp()
	sets, err := q.union(ctx, span, selectors)
	if err != nil || len(sets) == 0 {
		return []exemplar.QueryResult{}, err
	}
	byRef, err := q.read(ctx, sets, span)
	if err != nil {
		return nil, httpapi.QueryError(ctx, "read exemplars", err)
	}
	out := []exemplar.QueryResult{}
	for _, set := range sets {
		found := byRef[set.ref]
		for _, ref := range set.more {
			found = append(found, byRef[ref]...)
		}
		slices.SortStableFunc(found, exemplar.Compare)
		if len(found) > 0 {
			out = append(out, exemplar.QueryResult{SeriesLabels: set.labels, Exemplars: found})
		}
	}
	return out, nil
}

// union returns the label sets that satisfy at least one of the selectors.
func (q *exemplarQuerier) union(ctx context.Context, span timeSpan, selectors [][]*labels.Matcher) ([]labelSet, error) {
	all := newLabelSets(0)
	seen := map[storage.Ref]bool{}
	for _, matchers := range selectors {
		sets, err := q.find(ctx, selection{span: span, matchers: matchers})
		if err != nil {
			return nil, err
		}
		for _, set := range sets {
			for _, ref := range append([]storage.Ref{set.ref}, set.more...) {
				if !seen[ref] {
					seen[ref] = true
					all.add(set.labels, ref)
				}
			}
		}
	}
	slices.SortFunc(all.list, func(a, b labelSet) int { return labels.Compare(a.labels, b.labels) })
	return all.list, nil
}

func (q *exemplarQuerier) read(ctx context.Context, sets []labelSet, span timeSpan) (map[storage.Ref][]exemplar.Exemplar, error) {
	var refs []storage.Ref
	for _, set := range sets {
		refs = append(append(refs, set.ref), set.more...)
	}
	query := storage.Query{
		Refs: refs, Start: span.start, End: span.end, Exemplars: true, MaxSamples: int(q.limits.Samples),
	}
	found := map[storage.Ref][]exemplar.Exemplar{}
	for p, err := range q.store.Select(ctx, query) {
		if err != nil {
			return nil, err
		}
		if found[p.Ref], err = exemplarsOf(p); err != nil {
			return nil, err
		}
	}
	return found, ctx.Err()
}

func exemplarsOf(p storage.Points) ([]exemplar.Exemplar, error) {
	var out []exemplar.Exemplar
	for _, o := range p.Objects {
		if o.Kind != storage.KindExemplar {
			continue
		}
		e, err := histogramcodec.DecodeExemplar(o.Data)
		if err != nil {
			return nil, unreadable(o, err)
		}
		e.Ts, e.HasTs = o.Time, true
		out = append(out, e)
	}
	return out, nil
}
