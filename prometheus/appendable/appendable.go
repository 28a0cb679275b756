// Package appendable takes labelled samples in the terms of the Prometheus module and appends them
// to a store: the results of rules, OTLP, text formats, blocks. It parses nothing and reads nothing
// back.
package appendable

import (
	"context"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"

	"github.com/tsdbridge/tsdbridge/prometheus/histogramcodec"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/ingest"
)

// Names translates labels into stored names. A translate.Translator is one.
type Names interface {
	FromLabels(ls labels.Labels) storage.Series
	MetricName(name string) string
}

// metadataWriter stores metadata by stored metric name; see Options.Metadata.
type metadataWriter interface {
	PutMetadata(ctx context.Context, metadata map[string]storage.Metadata) error
}

// Options are the limits and the parts of an Appendable. All parts must be given.
type Options struct {
	// SeriesBytes is how many bytes the names and values of the labels of a series may have.
	SeriesBytes int
	// SeriesCache is how many series are found by their labels.
	SeriesCache int
	// Future is how far ahead of the clock a sample may be; 0: no limit.
	Future time.Duration

	Appender storage.Appender
	// Metadata keeps the metadata of metrics. It returns when they are durable.
	Metadata metadataWriter
	Names    Names
	Now      func() time.Time
}

// An Appendable makes appenders over a store. It is safe for concurrent use.
type Appendable struct {
	o     Options
	cache *ingest.Cache
}

var (
	_ promstorage.AppendableV2 = (*Appendable)(nil)
	_ promstorage.Appendable   = (*Appendable)(nil)
)

// New returns an Appendable over the parts of o.
func New(o Options) *Appendable { return &Appendable{o: o, cache: ingest.NewCache(o.SeriesCache)} }

// AppenderV2 implements storage.AppendableV2 of the module. Commit returns when everything is
// durable, or a *RefusedError when the rest is.
func (a *Appendable) AppenderV2(ctx context.Context) promstorage.AppenderV2 { return a.Begin(ctx) }

// Appender implements storage.Appendable of the module, which its rules use.
func (a *Appendable) Appender(ctx context.Context) promstorage.Appender {
	return appenderV1{Transaction: a.Begin(ctx)}
}

// Begin begins a transaction.
func (a *Appendable) Begin(ctx context.Context) *Transaction {
	return &Transaction{
		a: a, context: func() context.Context { return ctx }, latest: histogramcodec.LastTime(a.o.Now, a.o.Future),
		numbers: map[string]int{}, metadata: map[string]storage.Metadata{},
	}
}
