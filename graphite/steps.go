package graphite

import (
	"context"

	"github.com/tsdbridge/tsdbridge/storage"
)

// Steps returns the steps of series in seconds: by the rules of storage-schemas.conf for names that are
// paths, else those that are kept with the series, else those that follow from their points in a time
// (milliseconds). names may be empty.
func (s *Server) Steps(ctx context.Context, names map[storage.Ref]string, start, end int64) (map[storage.Ref]int64, error) {
	return s.api.sources.Steps(ctx, names, start/1000, end/1000)
}
