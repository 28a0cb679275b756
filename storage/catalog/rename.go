package catalog

import (
	"context"
	"fmt"
	"sync"
)

// renames are what must hear that names of UIDs have changed.
type renames struct {
	mu        sync.Mutex // guards listeners
	listeners []func()
}

// OnRename has f called each time that another process (OpenTSDB's "uid rename") has given UIDs
// other names. A Ref that was resolved by name before is then perhaps that of a series with another
// name: f forgets them.
func (s *Catalog) OnRename(f func()) {
	s.renames.mu.Lock()
	defer s.renames.mu.Unlock()
	s.renames.listeners = append(s.renames.listeners, f)
}

// refreshNames forgets the names that UIDs had until another process renamed them, at or after
// since (milliseconds).
func (s *Catalog) refreshNames(ctx context.Context, since int64) error {
	if s.o.Exclusive {
		return nil // no other process renames
	}
	renamed, err := s.uids.Refresh(ctx, since, s.o.Now().UnixMilli())
	if err != nil {
		return fmt.Errorf("look for renamed UIDs: %w", err)
	}
	if renamed == 0 {
		return nil
	}
	s.metrics.renamed.Add(float64(renamed))
	s.o.Logger.Info("UIDs were renamed; series are resolved again by their names", "uids", renamed)
	s.renames.mu.Lock()
	defer s.renames.mu.Unlock()
	for _, f := range s.renames.listeners {
		f()
	}
	return nil
}
