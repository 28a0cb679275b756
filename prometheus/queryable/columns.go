package queryable

import (
	"context"
	"errors"

	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"

	"github.com/tsdbridge/tsdbridge/prometheus/object"
	"github.com/tsdbridge/tsdbridge/prometheus/rangeql"
	"github.com/tsdbridge/tsdbridge/prometheus/reply"
	"github.com/tsdbridge/tsdbridge/storage"
)

var _ rangeql.Source = (*Store)(nil)

// Columns implements rangeql.Source.
func (p *Store) Columns(ctx context.Context, s rangeql.Selector) (rangeql.Columns, error) {
	q := p.querier(s.Start, s.End)
	sets, err := q.find(ctx, selection{span: q.span, matchers: s.Matchers})
	if err != nil {
		return nil, handOverLimit(err)
	}
	for i := range sets {
		if len(sets[i].more) > 0 {
			return nil, rangeql.ErrHandOver // Series that show the same labels have to be merged.
		}
	}
	return &foundColumns{q, sets, s.NoStartTimes}, nil
}

// HintedColumns is Columns with the hints of a remote reader. It returns rangeql.ErrHandOver if
// they ask for labels alone or limit the number of series.
func (p *Store) HintedColumns(ctx context.Context, mint, maxt int64, hints *promstorage.SelectHints, matchers []*labels.Matcher) (rangeql.Columns, error) {
	s := selection{span: timeSpan{mint, maxt}}.withHints(hints)
	if s.labelsOnly || s.limit > 0 {
		return nil, rangeql.ErrHandOver
	}
	return p.Columns(ctx, rangeql.Selector{Matchers: matchers, Start: s.span.start, End: s.span.end})
}

// handOverLimit replaces a limit error by rangeql.ErrHandOver, so that Prometheus' engine meets the
// limit itself and reports it in its own words.
func handOverLimit(err error) error {
	if errors.Is(err, storage.ErrLimit) {
		return rangeql.ErrHandOver
	}
	return err
}

// foundColumns are the series of one selector.
type foundColumns struct {
	*querier
	sets         []labelSet
	noStartTimes bool
}

func (c *foundColumns) Len() int { return len(c.sets) }

func (c *foundColumns) Labels(i int) labels.Labels { return c.sets[i].labels }

// Read implements rangeql.Columns.
func (c *foundColumns) Read(ctx context.Context, from, to int, visit func(i int, times []int64, values []float64) error) error {
	refs := make([]storage.Ref, 0, to-from)
	for _, set := range c.sets[from:to] {
		refs = append(refs, set.ref)
	}
	query := storage.Query{Refs: refs, Start: c.span.start, End: c.span.end, Samples: true, MaxSamples: c.left()}
	i := from
	for p, err := range c.store.Select(ctx, query) {
		if err != nil {
			return handOverLimit(reply.QueryError(ctx, "read samples", err))
		}
		for i < to && c.sets[i].ref != p.Ref {
			i++
		}
		if i == to {
			return reply.QueryError(ctx, "read samples", errOrder)
		}
		if !c.onlyFloats(p.Objects) || c.hold(len(p.Times)) != nil {
			return rangeql.ErrHandOver
		}
		if len(p.Times) == 0 {
			continue
		}
		if err := visit(i, p.Times, p.Values); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		// If the store ended its loop silently because the context ended, the answer would be
		// incomplete.
		return reply.QueryError(ctx, "read samples", err)
	}
	return nil
}

// onlyFloats reports whether objects change nothing for the engine: they are start times that can
// be decoded, and the engine ignores start times.
func (c *foundColumns) onlyFloats(objects []storage.Object) bool {
	for _, o := range objects {
		if c.noStartTimes || o.Kind != storage.KindStartTime {
			return false
		}
		if _, err := object.DecodeStartTime(o.Data); err != nil {
			return false
		}
	}
	return true
}
