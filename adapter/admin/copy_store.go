package admin

import (
	"fmt"
	"time"

	"github.com/tsdbridge/tsdbridge/migrate/tablecopy"
	"github.com/tsdbridge/tsdbridge/opentsdb/query"
	"github.com/tsdbridge/tsdbridge/storage"
)

// CopyMatches reads what --match says.
func CopyMatches(texts []string) (matches []tablecopy.Match, err error) {
	for _, text := range texts {
		m, err := query.ParseMatch(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		matches = append(matches, m)
	}
	return matches, nil
}

// A CopyQuery is what is copied, as a request tells it.
type CopyQuery struct {
	Match []string `json:"match,omitempty"`
	Start int64    `json:"start"`
	End   int64    `json:"end"`
}

// LocalCopy is a store of this process.
type LocalCopy struct {
	*tablecopy.Writer
	*tablecopy.Watch
	store tablecopy.Store
}

// NewLocalCopy returns a store. now tells how far behind its changes are.
func NewLocalCopy(s tablecopy.Store, now func() time.Time) *LocalCopy {
	return &LocalCopy{tablecopy.NewWriter(s), tablecopy.NewWatch(s, now), s}
}

// Shared reports whether other processes write the tables too.
func (l *LocalCopy) Shared() bool { return l.store.Shared }

// Source returns a reader of what is copied.
func (l *LocalCopy) Source(q CopyQuery) (tablecopy.Source, error) {
	matches, err := CopyMatches(q.Match)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", storage.ErrInvalid, err)
	}
	return tablecopy.NewReader(l.store, tablecopy.Query{Matches: matches, Start: q.Start, End: q.End}), nil
}
