package tables

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"

	"github.com/tsdbridge/tsdbridge/internal/persistentqueue"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/pebble"
)

// storeOwner is an embedded store as the owner of spools.
type storeOwner struct {
	now    func() kv.Moment
	life   func() (kv.Life, error)
	adopts atomic.Bool
}

// Now implements persistentqueue.Owner.
func (o *storeOwner) Now() persistentqueue.Moment {
	m := o.now()
	return persistentqueue.Moment{Store: m.Store, Start: m.Start, Number: m.Generation.Number, Tag: m.Generation.Tag}
}

// Differs implements persistentqueue.Owner.
func (o *storeOwner) Differs(m persistentqueue.Moment) string {
	life, err := o.life()
	if err != nil {
		return fmt.Sprintf("whose it is cannot be told: %v", err)
	}
	return life.Differs(kv.Moment{Store: m.Store, Start: m.Start, Generation: kv.Generation{Number: m.Number, Tag: m.Tag}})
}

// Adopts implements persistentqueue.Owner.
func (o *storeOwner) Adopts() bool { return o.adopts.Load() }

// OwnSpools begins a start of an embedded store, and returns it as the owner of the queues that are written from now on. Queues of an
// earlier version, in dirs, become its own.
func OwnSpools(engine *pebble.Engine, dirs []string, logger *slog.Logger) (persistentqueue.Owner, error) {
	owner := &storeOwner{now: engine.Moment, life: engine.Life}
	life, err := engine.BeginStart()
	owner.adopts.Store(life.Adopts)
	switch {
	case errors.Is(err, storage.ErrFull):
		return owner, nil // the disk takes no writes: what is there is read
	case err != nil || !life.Adopts:
		return owner, err
	}
	for _, dir := range dirs {
		if err := persistentqueue.Adopt(dir, owner); err != nil { // it is reported again where the queue is used
			logger.Error("a spool of an earlier version cannot be opened, and is not sent; see docs/durability.md", "directory", dir, "err", err)
		}
	}
	owner.adopts.Store(false)
	return owner, engine.Adopted()
}

// SpoolDirs returns the directories of all queues below some directories, also of those to which nothing is sent now. An empty
// path has none.
func SpoolDirs(paths ...string) ([]string, error) {
	var all []string
	for _, path := range paths {
		if path == "" {
			continue
		}
		dirs, err := persistentqueue.Dirs(filepath.Clean(path))
		if err != nil {
			return nil, err
		}
		all = append(all, dirs...)
	}
	return all, nil
}
