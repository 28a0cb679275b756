package queryable

import (
	"context"
	"errors"
	"slices"

	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/storage"
)

// A consumerWorker hands parts to the consumer of a selection.
type consumerWorker interface {
	storage.PartWorker
	// consumerError is the error with which the consumer ended the reading, if it did.
	consumerError() error
}

// selectParts reads the points of sets in parts. An error of the consumer is returned as it is, an
// error of the store as one of the API; consumers reports which it is.
func (q *querier) selectParts(ctx context.Context, query storage.Query, sets []labelSet, worker func() consumerWorker) (consumers bool, err error) {
	query.Refs = make([]storage.Ref, len(sets))
	for i, set := range sets {
		query.Refs[i] = set.ref
	}
	var workers []consumerWorker
	err = q.store.SelectParts(ctx, query, func() storage.PartWorker {
		w := worker()
		workers = append(workers, w)
		return w
	})
	if err == nil {
		// If the store ended silently because the context ended, the answer would be incomplete.
		err = ctx.Err()
	}
	ended := func(w consumerWorker) bool { return w.consumerError() != nil && errors.Is(err, w.consumerError()) }
	if slices.ContainsFunc(workers, ended) {
		return true, err
	}
	return false, httpapi.QueryError(ctx, "read samples", err)
}
