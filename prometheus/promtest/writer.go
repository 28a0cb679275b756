package promtest

import (
	"context"
	"errors"
	"testing"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"

	"github.com/tsdbridge/tsdbridge/prometheus/histogramcodec"
	"github.com/tsdbridge/tsdbridge/storage"
)

// LabelNames name the series of labels.
type LabelNames interface {
	FromLabels(ls labels.Labels) storage.Series
}

// Writer writes to a store as the test suites of the Prometheus module do.
type Writer struct {
	Names LabelNames
	To    storage.Appender
}

func (Writer) StartTime() (int64, error) { return 0, nil }

func (Writer) Close() error { return nil }

func (Writer) Appender(context.Context) promstorage.Appender {
	panic("the suites write through AppenderV2")
}

func (a Writer) AppenderV2(ctx context.Context) promstorage.AppenderV2 {
	return &promAppender{Writer: a, context: func() context.Context { return ctx }}
}

// promAppender collects samples and appends them in one batch.
type promAppender struct {
	Writer
	context func() context.Context
	batch   storage.Batch
}

func (a *promAppender) Append(_ promstorage.SeriesRef, ls labels.Labels, st, t int64, v float64, h *histogram.Histogram, fh *histogram.FloatHistogram, o promstorage.AppendV2Options) (promstorage.SeriesRef, error) {
	refs, errs := a.To.Resolve(a.context(), []storage.Series{a.Names.FromLabels(ls)})
	if err := errors.Join(errs...); err != nil {
		return 0, err
	}
	add := func(kind storage.Kind, time int64, data []byte) {
		a.batch.AddObject(refs[0], time, kind, data)
	}
	switch {
	case fh != nil:
		add(storage.KindHistogram, t, histogramcodec.EncodeFloatHistogram(fh))
	case h != nil:
		add(storage.KindHistogram, t, histogramcodec.EncodeHistogram(h))
	default:
		a.batch.Add(refs[0], t, v)
	}
	if st != 0 {
		add(storage.KindStartTime, t, histogramcodec.AppendStartTime(nil, st-t))
	}
	for _, e := range o.Exemplars {
		add(storage.KindExemplar, e.Ts, histogramcodec.EncodeExemplar(e))
	}
	return promstorage.SeriesRef(refs[0]), nil
}

func (a *promAppender) Commit() error { return a.To.Append(a.context(), &a.batch) }

func (a *promAppender) Rollback() error { return nil }

// Write appends floats to a series: value i+1 at times[i].
func (a Writer) Write(t testing.TB, ls labels.Labels, times ...int64) {
	t.Helper()
	app := a.AppenderV2(t.Context())
	for i, at := range times {
		if _, err := app.Append(0, ls, 0, at, float64(i+1), nil, nil, promstorage.AppendV2Options{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := app.Commit(); err != nil {
		t.Fatal(err)
	}
}
