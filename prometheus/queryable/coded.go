package queryable

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/tsdbridge/tsdbridge/prometheus/histogramcodec"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// WithHistograms returns a querier that reads the histograms of OpenTSDB of a codec with the samples, as native
// histograms with custom buckets. Those that cannot be native ones stay storage.KindCoded. Where their instant has a sample
// too, the sample counts.
func WithHistograms(q storage.Querier, codec byte) storage.Querier { return codedQuerier{q, codec} }

type codedQuerier struct {
	storage.Querier
	codec byte
}

// Select implements storage.Querier.
func (c codedQuerier) Select(ctx context.Context, q storage.Query) iter.Seq2[storage.Points, error] {
	q.Histograms = q.Samples
	return func(yield func(storage.Points, error) bool) {
		for p, err := range c.Querier.Select(ctx, q) {
			if err == nil && hasCoded(&p) {
				p = c.converted(p)
			}
			if !yield(p, err) {
				return
			}
		}
	}
}

// SelectParts implements storage.Querier.
func (c codedQuerier) SelectParts(ctx context.Context, q storage.Query, worker func() storage.PartWorker) error {
	q.Histograms = q.Samples
	return c.Querier.SelectParts(ctx, q, func() storage.PartWorker { return &codedWorker{worker(), c} })
}

// A codedWorker hands parts on.
type codedWorker struct {
	storage.PartWorker
	coded codedQuerier
}

// Take implements storage.PartWorker.
func (w *codedWorker) Take(ctx context.Context, p storage.Part) error {
	own := false
	for i := range p.Points {
		if !hasCoded(&p.Points[i]) {
			continue
		}
		if !own {
			p.Points, own = slices.Clone(p.Points), true
		}
		p.Points[i] = w.coded.converted(p.Points[i])
	}
	return w.PartWorker.Take(ctx, p)
}

func hasCoded(p *storage.Points) bool {
	return slices.ContainsFunc(p.Objects, func(o storage.Object) bool { return o.Kind == storage.KindCoded })
}

// converted returns the points of a series with native histograms. It changes nothing of what it is given.
func (c codedQuerier) converted(p storage.Points) storage.Points {
	objects := make([]storage.Object, 0, len(p.Objects))
	sampled := map[int64]bool{} // the instants with a native histogram
	for _, o := range p.Objects {
		if o.Kind != storage.KindCoded {
			objects = append(objects, o)
			sampled[o.Time] = sampled[o.Time] || o.Kind == storage.KindHistogram
		}
	}
	for _, o := range p.Objects {
		if o.Kind != storage.KindCoded || sampled[o.Time] {
			continue
		}
		if _, ok := slices.BinarySearch(p.Times, o.Time); ok {
			continue
		}
		if native, ok := c.native(o.Data); ok {
			o.Kind, o.Data, sampled[o.Time] = storage.KindHistogram, native, true
		}
		objects = append(objects, o)
	}
	slices.SortStableFunc(objects, func(a, b storage.Object) int { return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Kind, b.Kind)) })
	p.Objects = objects
	return p
}

// native returns the data of a native histogram; false if there is none.
func (c codedQuerier) native(data []byte) ([]byte, bool) {
	h, err := schema.ParseStoredHistogram(data, c.codec)
	if err != nil {
		return nil, false
	}
	native, ok := histogramcodec.FromOpenTSDB(&h)
	if !ok {
		return nil, false
	}
	return histogramcodec.EncodeHistogram(native), true
}
