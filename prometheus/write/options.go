package write

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/internal/rejections"
	"github.com/tsdbridge/tsdbridge/prometheus/hatracker"
	"github.com/tsdbridge/tsdbridge/storage"
)

// Options are the limits and the parts of remote write. DefaultOptions sets the limits; the parts
// must be given. What exceeds a limit of a request is refused for good. What exceeds a limit of the
// process may be sent again later. Bytes are bytes in memory, unless the comment names the network.
type Options struct {
	// BodyBytes is --write.max-body-bytes: the size of a request as it is sent, compressed.
	BodyBytes int
	// DecodedBytes is the size of a decompressed request; 0: BodyBytes.
	DecodedBytes int
	// RequestSeries is how many time series a request may have.
	RequestSeries int
	// RequestData is how many samples a request may have. An exemplar counts as one sample, a
	// histogram as ten.
	RequestData int
	// SeriesBytes is how many bytes the names and values of the labels of a series may have.
	SeriesBytes int
	// LabelBytes is the same for all series of a request, which in 2.0 may share their strings.
	LabelBytes int
	// Requests is --write.max-concurrency: requests at once.
	Requests int
	// InFlightBytes is --write.max-in-flight-bytes: of all requests at once the bodies, compressed
	// and decompressed, and the lists that are made of them.
	InFlightBytes int
	// SeriesCache is --storage.series-cache: how many series are found by their bytes, for each
	// version of the protocol.
	SeriesCache int
	// Future is --write.max-future: how far ahead of the clock a sample may be; 0: no limit.
	Future time.Duration
	// Timeout is how long the store may take.
	Timeout time.Duration

	// Dedup is --write.dedup.*: which labels name the replicas of HA pairs.
	Dedup hatracker.Options
	// Pairs elects the replicas; nil: all are stored.
	Pairs *hatracker.Tracker

	Appender storage.Appender
	// Metadata is of the same store.
	Metadata   metadataWriter
	Names      Names
	Refused    *rejections.Log // samples of what is refused; may be nil
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Now        func() time.Time
}

// DefaultOptions are Prometheus' limits where it has any (32 MiB, ten minutes).
func DefaultOptions() Options {
	return Options{
		BodyBytes: 32 << 20, RequestSeries: 500_000, RequestData: 2_000_000,
		SeriesBytes: 2 << 20, LabelBytes: 64 << 20, Requests: 256, InFlightBytes: 256 << 20, SeriesCache: 2_000_000,
		Future: 10 * time.Minute, Timeout: 20 * time.Second, Dedup: hatracker.DefaultOptions(),
	}
}

// Validate names the flag that cannot work.
func (o Options) Validate() error {
	for _, positive := range []struct {
		flag  string
		value int64
	}{
		{"--write.max-body-bytes", int64(o.BodyBytes)},
		{"series of a request", int64(o.RequestSeries)},
		{"samples of a request", int64(o.RequestData)},
		{"label bytes of a series", int64(o.SeriesBytes)},
		{"label bytes of a request", int64(o.LabelBytes)},
		{"--write.max-concurrency", int64(o.Requests)},
		{"--storage.series-cache", int64(o.SeriesCache)},
		{"timeout of a request", int64(o.Timeout)},
	} {
		if positive.value <= 0 {
			return fmt.Errorf("%s must be above 0", positive.flag)
		}
	}
	switch {
	case o.Future < 0:
		return fmt.Errorf("--write.max-future=%v: must not be negative", o.Future)
	case o.decodedBytes() > maxDecoded:
		return fmt.Errorf("--write.max-body-bytes=%d: at most %d", o.decodedBytes(), maxDecoded)
	case o.SeriesBytes > maxSeriesBytes:
		return fmt.Errorf("label bytes of a series %d: at most %d", o.SeriesBytes, maxSeriesBytes)
	case o.InFlightBytes < o.BodyBytes+o.decodedBytes():
		return fmt.Errorf("--write.max-in-flight-bytes=%d: one request may take %d+%d", o.InFlightBytes, o.BodyBytes, o.decodedBytes())
	}
	return o.Dedup.Validate()
}

// decodedBytes returns how many bytes a request may have, decompressed.
func (o Options) decodedBytes() int {
	if o.DecodedBytes > 0 {
		return o.DecodedBytes
	}
	return o.BodyBytes
}

const (
	// maxDecoded keeps positions in the lists of a message in 32 bits: no element takes less than a
	// byte.
	maxDecoded = 1 << 30
	// maxSeriesBytes is the longest string that Prometheus' labels hold; they panic on longer ones.
	maxSeriesBytes = 1<<24 - 1
)

func (o Options) wire(room func(bytes int) error) messageLimits {
	return messageLimits{series: o.RequestSeries, data: o.RequestData, room: room}
}
