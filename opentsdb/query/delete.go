package query

import (
	"context"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage"
)

// A Deleter deletes points of series; a store is one.
type Deleter interface {
	Delete(ctx context.Context, d storage.Deletion) (storage.Deleted, error)
}

var errNoDeletes = RequestError{Message: "Deleting data is not enabled (tsd.http.query.allow_delete=false)"}

// MayDelete returns an error if deletions are off.
func (e *Engine) MayDelete() error {
	if e.o.Deleter == nil {
		return errNoDeletes
	}
	return nil
}

// Delete deletes what the series that an answered request means have in its time: points, and what is in no
// answer, such as annotations, histograms, or stale markers of Prometheus. A TSD deletes the whole hours that the
// times touch.
func (e *Engine) Delete(ctx context.Context, a *Answer) error {
	if err := e.MayDelete(); err != nil {
		return err
	}
	var refs []storage.Ref
	for _, q := range a.Request.Queries {
		refs = append(refs, q.meant...)
	}
	if len(refs) == 0 {
		return nil
	}
	slices.Sort(refs)
	_, err := e.o.Deleter.Delete(ctx, storage.Deletion{Refs: slices.Compact(refs), Start: a.Request.start, End: a.Request.end})
	return err
}
