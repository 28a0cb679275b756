package adapter

import (
	"time"

	"github.com/tsdbridge/tsdbridge/prometheus/reply"
	"github.com/tsdbridge/tsdbridge/running"
)

// slowLogged is how many bytes of the text of a slow query are logged.
const slowLogged = 1000

// tellSlow logs a slow query.
func (a *Adapter) tellSlow(s running.Slow) {
	a.o.Logger.Info("slow query (--query.slow-after); its plan: /api/v1/status/explain", "language", s.Language, "query", reply.Cut(s.Text, slowLogged),
		"client", s.Client, "duration", s.Took.Round(time.Millisecond), "samples", s.Samples, "memory_bytes", s.Memory, "failed", s.Failed)
}
