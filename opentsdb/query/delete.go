package query

import (
	"context"

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

// Delete deletes the points of the series of an answer that lie in the times of its request, whatever
// stands beside them. A TSD deletes the whole hours that the times touch.
func (e *Engine) Delete(ctx context.Context, a *Answer) error {
	if err := e.MayDelete(); err != nil {
		return err
	}
	var refs []storage.Ref
	seen := map[storage.Ref]bool{}
	for _, g := range a.Groups {
		for _, ref := range g.refs {
			if !seen[ref] {
				seen[ref], refs = true, append(refs, ref)
			}
		}
	}
	if len(refs) == 0 {
		return nil
	}
	_, err := e.o.Deleter.Delete(ctx, storage.Deletion{Refs: refs, Start: a.Request.start, End: a.Request.end})
	return err
}
