package graphite

import (
	"context"

	"github.com/tsdbridge/tsdbridge/storage"
)

// PathRefs returns the series that a path pattern names as a target of /render, within its limits. Series of
// tagged names without points in a time (milliseconds, inclusive) may be left out.
func (s *Server) PathRefs(ctx context.Context, pattern string, start, end int64) ([]storage.Ref, error) {
	return s.api.sources.Open().Refs(ctx, pattern, start/1000, (end+999)/1000)
}
