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
func (cat *Catalog) OnRename(f func()) {
	cat.renames.mu.Lock()
	defer cat.renames.mu.Unlock()
	cat.renames.listeners = append(cat.renames.listeners, f)
}

// refreshNames forgets the names that UIDs had until another process renamed them, at or after
// since (milliseconds).
func (cat *Catalog) refreshNames(ctx context.Context, since int64) error {
	if cat.db.Exclusive {
		return nil // no other process renames
	}
	renamed, err := cat.uids.Refresh(ctx, since, cat.o.Now().UnixMilli())
	if err != nil {
		return fmt.Errorf("look for renamed UIDs: %w", err)
	}
	if renamed == 0 {
		return nil
	}
	cat.metrics.renamed.Add(float64(renamed))
	cat.o.Logger.Info("UIDs were renamed; series are resolved again by their names", "uids", renamed)
	cat.renames.mu.Lock()
	defer cat.renames.mu.Unlock()
	for _, f := range cat.renames.listeners {
		f()
	}
	return nil
}
