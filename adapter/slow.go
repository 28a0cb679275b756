package adapter

import (
	"log/slog"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
)

// slowLogged is how many bytes of the text of a slow query are logged.
const slowLogged = 1000

// logSlow logs a slow query.
func logSlow(logger *slog.Logger, s query.Slow) {
	read := query.SumWays(s.Ways)
	if s.Trace != "" {
		logger = logger.With("trace_id", s.Trace)
	}
	logger.Info("slow query (--query.slow-after); its plan: /api/v1/status/slow_queries", "language", s.Language, "query", httpapi.Cut(s.Text, slowLogged),
		"client", s.Client, "duration", s.Took.Round(time.Millisecond), "samples", s.Samples, "rows", read.Rows,
		"rows_by_way", query.WaysText(s.Ways), "bytes_read", read.Bytes, "memory_bytes", s.Memory, "failed", s.Failed)
}
