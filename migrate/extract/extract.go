// Package extract reads labelled samples of a store in columns, for exports and copies. It writes no
// format.
package extract

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/tsdbridge/tsdbridge/prometheus/columns"
	"github.com/tsdbridge/tsdbridge/prometheus/histogramcodec"
	"github.com/tsdbridge/tsdbridge/storage"
)

// Store is what is read. A queryable.Store is one.
type Store interface {
	promstorage.Queryable
	promstorage.ExemplarQueryable
}

// Hours tell when metrics have points. storage's Store and Catalog do.
type Hours interface {
	Metrics(ctx context.Context, start, end int64) ([]string, error)
	NextHour(ctx context.Context, metric string, from int64) (hour int64, ok bool, err error)
}

// Documents have the metadata of metrics.
type Documents interface {
	Metadata(ctx context.Context) (map[string]storage.Metadata, error)
}

// A Reader reads a store. It is safe for concurrent use.
type Reader struct {
	Store     Store
	Hours     Hours
	Documents Documents
}

// A Query selects series, those of any of some selectors (none: all), and times in milliseconds, both
// included.
type Query struct {
	Match    [][]*labels.Matcher
	From, To int64
	// Exemplars asks for them in addition to samples.
	Exemplars bool
}

// batchSize is how large a batch is that is given, about in samples.
const batchSize = 100_000

// Read gives the samples of series in batches, which it uses again when give returns. A series is in
// one batch, and batches have their series one after the other.
func (r *Reader) Read(ctx context.Context, q Query, give func(*columns.Batch) error) (err error) {
	from, to := max(q.From, 0), min(q.To, storage.MaxTime)
	if from > to {
		return nil
	}
	querier, err := r.Store.Querier(from, to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, querier.Close()) }()
	exemplars, err := r.exemplars(ctx, q, from, to)
	if err != nil {
		return err
	}
	batch := &columns.Batch{}
	f := columns.Filler{Batch: batch, From: from, To: to}
	var it chunkenc.Iterator
	match := columns.AnyOf(q.Match)
	for n, ms := range match {
		set := querier.Select(ctx, true, nil, ms...)
		for set.Next() {
			ls := set.At().Labels()
			if columns.AnyMatches(match[:n], ls) {
				continue
			}
			it = set.At().Iterator(it)
			ref := batch.Series(ls)
			if err := f.Add(ref, it); err != nil {
				return err
			}
			addExemplars(batch, ref, exemplars.take(ls))
			if batch.Size() >= batchSize {
				if err := give(batch); err != nil {
					return err
				}
				batch.Reset()
			}
		}
		if err := set.Err(); err != nil {
			return err
		}
	}
	for _, all := range exemplars { // of series without samples in this time
		for _, e := range all {
			addExemplars(batch, batch.Series(e.SeriesLabels), e.Exemplars)
		}
	}
	if batch.Empty() {
		return nil
	}
	return give(batch)
}

// foundExemplars are exemplars by the hashes of the labels of their series.
type foundExemplars map[uint64][]exemplar.QueryResult

// take removes those of a series and returns them.
func (f foundExemplars) take(ls labels.Labels) []exemplar.Exemplar {
	hash := ls.Hash()
	at := slices.IndexFunc(f[hash], func(e exemplar.QueryResult) bool { return labels.Equal(e.SeriesLabels, ls) })
	if at < 0 {
		return nil
	}
	found := f[hash][at].Exemplars
	f[hash] = slices.Delete(f[hash], at, at+1)
	return found
}

// exemplars returns those of the selected series.
func (r *Reader) exemplars(ctx context.Context, q Query, from, to int64) (foundExemplars, error) {
	if !q.Exemplars {
		return nil, nil
	}
	e, err := r.Store.ExemplarQuerier(ctx)
	if err != nil {
		return nil, err
	}
	found, err := e.Select(from, to, columns.AnyOf(q.Match)...)
	if err != nil {
		return nil, err
	}
	all := make(foundExemplars, len(found))
	for _, one := range found {
		all[one.SeriesLabels.Hash()] = append(all[one.SeriesLabels.Hash()], one)
	}
	return all, nil
}

func addExemplars(b *columns.Batch, ref storage.Ref, all []exemplar.Exemplar) {
	for _, e := range all {
		b.Points.AddObject(ref, e.Ts, storage.KindExemplar, histogramcodec.EncodeExemplar(e))
	}
}

// Next returns the first time from one on at which there may be samples; false: there is none.
func (r *Reader) Next(ctx context.Context, from, to int64) (at int64, ok bool, err error) {
	from, to = max(from, 0), min(to, storage.MaxTime)
	if from > to {
		return 0, false, nil
	}
	metrics, err := r.Hours.Metrics(ctx, from, to)
	if err != nil {
		return 0, false, err
	}
	at = math.MaxInt64
	for _, m := range metrics {
		hour, ok, err := r.Hours.NextHour(ctx, m, from)
		if err != nil {
			return 0, false, err
		}
		if ok {
			at = min(at, max(hour, from))
		}
		if at == from {
			break
		}
	}
	return at, at <= to, nil
}

// Metadata returns the metadata of metric families that have some, by their stored names.
func (r *Reader) Metadata(ctx context.Context) (map[string]metadata.Metadata, error) {
	found, err := r.Documents.Metadata(ctx)
	if err != nil {
		return nil, err
	}
	all := make(map[string]metadata.Metadata, len(found))
	for name, m := range found {
		all[name] = metadata.Metadata{Type: model.MetricType(m.Type), Help: m.Help, Unit: m.Unit}
	}
	return all, nil
}
