package read

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/queryable"
)

// Options are the limits and the parts of remote read. DefaultOptions sets the limits; the parts
// must be given.
type Options struct {
	// Concurrency is --query.max-concurrency: how many requests are answered at once. Others wait.
	Concurrency int
	// Timeout is --query.timeout: how long a request may take, including its wait for a turn; 0: no
	// limit.
	Timeout time.Duration
	// Samples is --query.max-samples: how many samples an unstreamed answer may have, for all its
	// queries together; 0: no limit.
	Samples int
	// FrameBytes is how many bytes one series of a streamed answer may have.
	FrameBytes int

	Queryable *queryable.Store
	// Running holds the queries that are being answered. It may be nil.
	Running *query.Registry
	Logger  *slog.Logger
	// Registerer may be nil: no metrics.
	Registerer prometheus.Registerer
}

// defaultFrame is less than the 50 MB that Prometheus' client accepts as one frame. The client
// takes a series that continues in a second frame for a second series, so a series is never split.
const defaultFrame = 40 << 20

// DefaultOptions returns the limits without any flag.
func DefaultOptions() Options {
	return Options{Concurrency: 20, Timeout: 2 * time.Minute, Samples: 50_000_000, FrameBytes: defaultFrame}
}

// Validate names the flag that cannot work.
func (o Options) Validate() error {
	for _, positive := range []struct {
		flag  string
		value int64
	}{
		{"--query.timeout", int64(o.Timeout)}, {"--query.max-concurrency", int64(o.Concurrency)}, {"frame bytes of a remote read", int64(o.FrameBytes)},
	} {
		if positive.value <= 0 {
			return fmt.Errorf("%s must be above 0", positive.flag)
		}
	}
	return nil
}
