package queryable

import (
	"context"
	"errors"

	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"

	"github.com/tsdbridge/tsdbridge/prometheus/object"
	"github.com/tsdbridge/tsdbridge/prometheus/rangeql"
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
func (c *foundColumns) Read(ctx context.Context, most int, worker func() rangeql.ColumnWorker) error {
	query := storage.Query{Start: c.span.start, End: c.span.end, Samples: true, MaxSamples: c.left(), PartSeries: most}
	consumers, err := c.selectParts(ctx, query, c.sets, func() consumerWorker { return &columnWorker{ColumnWorker: worker(), columns: c} })
	if consumers {
		return err
	}
	return handOverLimit(err)
}

// columnWorker hands the columns of parts to a worker.
type columnWorker struct {
	rangeql.ColumnWorker
	columns *foundColumns
	failed  error // of the worker, or rangeql.ErrHandOver
}

func (w *columnWorker) consumerError() error { return w.failed }

// Take implements storage.PartWorker.
func (w *columnWorker) Take(ctx context.Context, p storage.Part) error {
	for i := range p.Points {
		if p.Points[i].Ref != w.columns.sets[p.From+i].ref {
			return errOrder
		}
		if !w.columns.onlyFloats(p.Points[i].Objects) || w.columns.hold(len(p.Points[i].Times)) != nil {
			w.failed = rangeql.ErrHandOver
			return w.failed
		}
	}
	w.failed = w.ColumnWorker.Take(ctx, func(yield func(int, rangeql.Column) bool) {
		for i, s := range p.Points {
			if len(s.Times) > 0 && !yield(p.From+i, rangeql.Column{Times: s.Times, Values: s.Values}) {
				return
			}
		}
	})
	return w.failed
}

// Commit implements storage.PartWorker.
func (w *columnWorker) Commit(ctx context.Context) error {
	w.failed = w.ColumnWorker.Commit(ctx)
	return w.failed
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
