package admin

import (
	"fmt"
	"time"

	"github.com/tsdbridge/tsdbridge/copying"
	"github.com/tsdbridge/tsdbridge/opentsdb/query"
	"github.com/tsdbridge/tsdbridge/storage"
)

// CopyMatches reads what --match says.
func CopyMatches(texts []string) (matches []copying.Match, err error) {
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
	*copying.Writer
	*copying.Watch
	store copying.Store
}

// NewLocalCopy returns a store. now tells how far behind its changes are.
func NewLocalCopy(s copying.Store, now func() time.Time) *LocalCopy {
	return &LocalCopy{copying.NewWriter(s), copying.NewWatch(s, now), s}
}

// Shared reports whether other processes write the tables too.
func (l *LocalCopy) Shared() bool { return l.store.Shared }

// Source returns a reader of what is copied.
func (l *LocalCopy) Source(q CopyQuery) (copying.Source, error) {
	matches, err := CopyMatches(q.Match)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", storage.ErrInvalid, err)
	}
	return copying.NewReader(l.store, copying.Query{Matches: matches, Start: q.Start, End: q.End}), nil
}
