package adapter

import (
	"fmt"
	"time"

	"github.com/tsdbridge/tsdbridge/copying"
	"github.com/tsdbridge/tsdbridge/opentsdb/query"
	"github.com/tsdbridge/tsdbridge/storage"
)

// matchesOf reads what --match says.
func matchesOf(texts []string) (matches []copying.Match, err error) {
	for _, text := range texts {
		m, err := query.ParseMatch(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		matches = append(matches, m)
	}
	return matches, nil
}

// A copyQuery is what is copied, as a request tells it.
type copyQuery struct {
	Match []string `json:"match,omitempty"`
	Start int64    `json:"start"`
	End   int64    `json:"end"`
}

// localCopy is a store of this process.
type localCopy struct {
	*copying.Writer
	*copying.Watch
	store copying.Store
}

// newLocalCopy returns a store. now tells how far behind its changes are.
func newLocalCopy(s copying.Store, now func() time.Time) *localCopy {
	return &localCopy{copying.NewWriter(s), copying.NewWatch(s, now), s}
}

// shared reports whether other processes write the tables too.
func (l *localCopy) shared() bool { return l.store.Shared }

// source returns a reader of what is copied.
func (l *localCopy) source(q copyQuery) (copying.Source, error) {
	matches, err := matchesOf(q.Match)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", storage.ErrInvalid, err)
	}
	return copying.NewReader(l.store, copying.Query{Matches: matches, Start: q.Start, End: q.End}), nil
}
