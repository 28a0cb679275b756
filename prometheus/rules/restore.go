package rules

import (
	"context"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/tsdbridge/tsdbridge/internal/retry"
)

// patient is a queryable by which the state of alerts is restored. The manager tries this once, so a
// store that is away for a while is waited for.
type patient struct {
	promstorage.Queryable
	running context.Context //nolint:containedctx // it ends with the process
}

// patience is how long a store is waited for.
const patience = time.Minute

// Querier implements storage.Queryable of the module.
func (p patient) Querier(from, to int64) (promstorage.Querier, error) {
	q, err := p.Queryable.Querier(from, to)
	return patientQuerier{q, p.running}, err
}

type patientQuerier struct {
	promstorage.Querier
	running context.Context //nolint:containedctx // see patient
}

// Select implements storage.Querier of the module.
func (q patientQuerier) Select(ctx context.Context, sorted bool, hints *promstorage.SelectHints, matchers ...*labels.Matcher) promstorage.SeriesSet {
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var set promstorage.SeriesSet
	retry.Until(waiting, pauses(), func() bool {
		set = newest(q.Querier.Select(ctx, sorted, hints, matchers...))
		return set.Err() == nil || q.running.Err() != nil
	})
	return set
}

// newest reads a set and returns one with the last float of each series, which is all that the manager
// looks at. An error ends the reading: the manager does not look at errors after the first series.
func newest(set promstorage.SeriesSet) promstorage.SeriesSet {
	all := &seriesList{}
	var it chunkenc.Iterator
	for set.Next() {
		it = set.At().Iterator(it)
		last := promql.FPoint{T: -1}
		for kind := it.Next(); kind != chunkenc.ValNone; kind = it.Next() {
			if kind == chunkenc.ValFloat {
				last.T, last.F = it.At()
			}
		}
		if err := it.Err(); err != nil {
			return promstorage.ErrSeriesSet(err)
		}
		if last.T >= 0 {
			all.series = append(all.series, promql.NewStorageSeries(promql.Series{Metric: set.At().Labels(), Floats: []promql.FPoint{last}}))
		}
	}
	if err := set.Err(); err != nil {
		return promstorage.ErrSeriesSet(err)
	}
	return all
}

// alertName is how the labels of a series of the state of an alert are written without the name of the metric.
func alertName(ls labels.Labels) string {
	return ls.DropReserved(func(name string) bool { return name == model.MetricNameLabel }).String()
}

// seriesList is a set of series in memory.
type seriesList struct {
	series []*promql.StorageSeries
	next   int
}

func (l *seriesList) Next() bool {
	l.next++
	return l.next <= len(l.series)
}

func (l *seriesList) At() promstorage.Series { return l.series[l.next-1] }

func (*seriesList) Err() error { return nil }

func (*seriesList) Warnings() annotations.Annotations { return nil }
