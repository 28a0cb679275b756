package catalog

import (
	"context"
	"fmt"
	"sync"

	"github.com/tsdbridge/tsdbridge/storage/uid"
)

// renames are what must hear that names of UIDs have changed.
type renames struct {
	mu        sync.Mutex // guards listeners
	listeners []func()
	follow    func(context.Context, []uid.Renamed) error // nil: nothing follows
}

// OnRename has f called each time that UIDs have got other names, by this process or by another one
// (OpenTSDB's "uid rename" too). A Ref that was resolved by name before is then perhaps that of a
// series with another name: f forgets them.
func (cat *Catalog) OnRename(f func()) {
	cat.renames.mu.Lock()
	defer cat.renames.mu.Unlock()
	cat.renames.listeners = append(cat.renames.listeners, f)
}

// FollowRenames has f called with the UIDs that another process has renamed, before those of OnRename.
// It must be called before the catalogue is used.
func (cat *Catalog) FollowRenames(f func(context.Context, []uid.Renamed) error) {
	cat.renames.follow = f
}

// Renamed has everything forgotten that was found by names of UIDs which have changed. The dictionary
// has forgotten them already.
func (cat *Catalog) Renamed() {
	cat.index.Renamed()
	cat.unused.renamed()
	cat.foreign.forget()
	cat.renames.mu.Lock()
	defer cat.renames.mu.Unlock()
	for _, f := range cat.renames.listeners {
		f()
	}
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
	if len(renamed) > 0 {
		cat.metrics.renamed.Add(float64(len(renamed)))
		cat.o.Logger.Info("UIDs were renamed; series are resolved again by their names", "uids", len(renamed))
		cat.Renamed()
	}
	if cat.renames.follow == nil {
		return nil
	}
	return cat.renames.follow(ctx, renamed)
}
