package ingest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tsdbridge/tsdbridge/storage"
)

// memory is a storage.Appender that keeps the points that it gets.
type memory struct {
	gate      chan error              // an append waits for its outcome; nil: it does not
	resolving chan struct{}           // Resolve waits until it is closed; nil: it does not
	refuse    func(name string) error // of Resolve; nil: none

	mu       sync.Mutex // guards all below
	names    []string   // by Ref, from 1
	resolved []string   // the names of each Resolve
	points   []string
	appends  int
}

func (m *memory) Resolve(_ context.Context, series []storage.Series) ([]storage.Ref, []error) {
	if m.resolving != nil {
		<-m.resolving
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	refs := make([]storage.Ref, len(series))
	var errs []error
	var names []string
	for i, s := range series {
		names = append(names, s.Metric)
		if m.refuse != nil {
			if err := m.refuse(s.Metric); err != nil {
				if errs == nil {
					errs = make([]error, len(series))
				}
				errs[i] = err
				continue
			}
		}
		if !slices.Contains(m.names, s.Metric) {
			m.names = append(m.names, s.Metric)
		}
		refs[i] = storage.Ref(slices.Index(m.names, s.Metric) + 1)
	}
	m.resolved = append(m.resolved, strings.Join(names, " "))
	return refs, errs
}

func (m *memory) Append(_ context.Context, b *storage.Batch) error {
	if m.gate != nil {
		if err := <-m.gate; err != nil {
			return err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.appends++
	for i, ref := range b.Refs {
		m.points = append(m.points, fmt.Sprintf("%s %v@%d", m.names[ref-1], b.Values[i], b.Times[i]))
	}
	return nil
}
