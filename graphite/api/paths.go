package api

import (
	"context"

	"github.com/tsdbridge/tsdbridge/storage"
)

// PathRefs returns the series that a path pattern names as a target of /render, within its limits. Series of
// tagged names without points in a time (milliseconds, inclusive) may be left out.
func (a *API) PathRefs(ctx context.Context, pattern string, start, end int64) ([]storage.Ref, error) {
	return a.Sources.Open().Refs(ctx, pattern, start/1000, (end+999)/1000)
}

// Steps returns the steps of series in seconds: by the rules of storage-schemas.conf for names that are
// paths, else those that are kept with the series, else those that follow from their points in a time
// (milliseconds). names may be empty.
func (a *API) Steps(ctx context.Context, names map[storage.Ref]string, start, end int64) (map[storage.Ref]int64, error) {
	return a.Sources.Steps(ctx, names, start/1000, end/1000)
}
