package otlp

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/internal/rejections"
	"github.com/tsdbridge/tsdbridge/prometheus/writelimits"
	"github.com/tsdbridge/tsdbridge/storage"
)

// Names translates labels into stored names. A translate.Translator is one.
type Names interface {
	FromLabels(ls labels.Labels) storage.Series
	MetricName(name string) string
}

// metadataWriter stores metadata by stored metric name. It returns when all of it is durable.
type metadataWriter interface {
	PutMetadata(ctx context.Context, metadata map[string]storage.Metadata) error
}

// selector reads the newest samples of series.
type selector interface {
	Select(ctx context.Context, q storage.Query) iter.Seq2[storage.Points, error]
}

// Options are the limits and the parts of OTLP. DefaultOptions sets the limits; the parts must be
// given. Bytes are bytes in memory, unless the comment names the network.
type Options struct {
	// DeltaSeries is --write.delta.max-series: of how many series the sums of deltas are kept in memory. A
	// native histogram counts for several.
	DeltaSeries int
	// DeltaWindow is --write.delta.window: how old the newest sample in the store may be for a sum of
	// deltas to go on from it.
	DeltaWindow time.Duration

	// BodyBytes is --write.max-body-bytes: the size of a request, compressed and decompressed.
	BodyBytes int
	// RequestPoints is how many data points a request may have.
	RequestPoints int
	// PointBytes is how many bytes a data point, a resource or a scope may have.
	PointBytes int
	// RequestSamples is how many samples they may become.
	RequestSamples int
	// SeriesBytes is how many bytes the names and values of the labels of a series may have.
	SeriesBytes int
	// LabelBytes is the same for all new series of a request.
	LabelBytes int
	// SeriesCache is how many series are found by the bytes of their attributes.
	SeriesCache int
	// Future is --write.max-future: how far ahead of the clock a sample may be; 0: no limit.
	Future time.Duration
	// Lookback is --query.lookback-delta: target_info has two samples in each.
	Lookback time.Duration

	// TypeAndUnitLabels is --write.type-and-unit-labels: series have the labels __type__ and __unit__.
	TypeAndUnitLabels bool
	// Config is the part otlp of a Prometheus' configuration.
	Config config.OTLPConfig

	Intake   *writelimits.Intake // of all doors for writes
	Appender storage.Appender
	Reader   selector // of the same store
	Metadata metadataWriter
	Names    Names
	Refused  *rejections.Log // samples of what is refused; may be nil
	Logger   *slog.Logger

	Registerer prometheus.Registerer
	Now        func() time.Time
}

// DefaultOptions returns the limits without any flag.
func DefaultOptions() Options {
	return Options{
		DeltaSeries: 500_000, DeltaWindow: 24 * time.Hour,
		BodyBytes: 32 << 20, RequestPoints: 500_000, PointBytes: 1 << 20, RequestSamples: 2_000_000, SeriesBytes: 1 << 20, LabelBytes: 64 << 20,
		SeriesCache: 2_000_000, Future: 10 * time.Minute,
		Lookback: 5 * time.Minute, Config: config.DefaultOTLPConfig,
	}
}

// Validate names the flag that cannot work.
func (o Options) Validate() error {
	switch {
	case o.DeltaSeries <= 0:
		return errors.New("--write.delta.max-series must be above 0")
	case o.DeltaWindow < 0:
		return fmt.Errorf("--write.delta.window=%v: must not be negative", o.DeltaWindow)
	}
	return nil
}
