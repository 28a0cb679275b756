package write

import (
	"fmt"
	"time"
)

// Limits bound what remote write takes. What is over a limit of a request is refused for good, what is over a limit of the
// process is asked for again later. Bytes are of memory, not of the network, unless it says so.
type Limits struct {
	BodyBytes     int           // --write.max-body-bytes: a request as it is sent, compressed
	DecodedBytes  int           // a request, decompressed; 0: BodyBytes
	RequestSeries int           // time series of a request
	RequestData   int           // samples of a request; exemplars count as one, histograms as ten
	SeriesBytes   int           // names and values of the labels of a series
	LabelBytes    int           // the same for all series of a request, which in 2.0 may share their strings
	Requests      int           // --write.max-concurrency: requests at once
	InFlightBytes int           // --write.max-in-flight-bytes: bodies of all requests at once, compressed and decompressed
	SeriesCache   int           // --storage.series-cache: series found by their bytes, for each version of the protocol
	Future        time.Duration // --write.max-future: how far ahead of the clock a sample may be; 0: any time
	Timeout       time.Duration // how long the store may take
}

// DefaultLimits are those of Prometheus where it has any (32 MiB, ten minutes).
func DefaultLimits() Limits {
	return Limits{
		BodyBytes: 32 << 20, RequestSeries: 500_000, RequestData: 2_000_000,
		SeriesBytes: 1 << 20, LabelBytes: 64 << 20, Requests: 256, InFlightBytes: 256 << 20, SeriesCache: 2_000_000,
		Future: 10 * time.Minute, Timeout: 20 * time.Second,
	}
}

// Validate names the flag that cannot work.
func (l Limits) Validate() error {
	for _, positive := range []struct {
		flag  string
		value int64
	}{
		{"--write.max-body-bytes", int64(l.BodyBytes)},
		{"series of a request", int64(l.RequestSeries)}, {"samples of a request", int64(l.RequestData)},
		{"label bytes of a series", int64(l.SeriesBytes)}, {"label bytes of a request", int64(l.LabelBytes)},
		{"--write.max-concurrency", int64(l.Requests)}, {"--storage.series-cache", int64(l.SeriesCache)},
		{"timeout of a request", int64(l.Timeout)},
	} {
		if positive.value <= 0 {
			return fmt.Errorf("%s must be above 0", positive.flag)
		}
	}
	switch {
	case l.Future < 0:
		return fmt.Errorf("--write.max-future=%v: must not be negative", l.Future)
	case l.decodedBytes() > maxDecoded:
		return fmt.Errorf("--write.max-body-bytes=%d: at most %d", l.decodedBytes(), maxDecoded)
	case l.SeriesBytes > maxSeriesBytes:
		return fmt.Errorf("label bytes of a series %d: at most %d", l.SeriesBytes, maxSeriesBytes)
	case l.InFlightBytes < l.BodyBytes+l.decodedBytes():
		return fmt.Errorf("--write.max-in-flight-bytes=%d: one request may take %d+%d", l.InFlightBytes, l.BodyBytes, l.decodedBytes())
	}
	return nil
}

// decodedBytes is how many bytes a request may have, decompressed.
func (l Limits) decodedBytes() int {
	if l.DecodedBytes > 0 {
		return l.DecodedBytes
	}
	return l.BodyBytes
}

const (
	// maxDecoded keeps positions in the lists of a wireRequest in 32 bits: no element takes less than a byte.
	maxDecoded = 1 << 30
	// maxSeriesBytes is the longest string that Prometheus' labels hold; they panic on longer ones.
	maxSeriesBytes = 1<<24 - 1
)

func (l Limits) wire() wireLimits {
	return wireLimits{series: l.RequestSeries, data: l.RequestData}
}
