package adapter

import (
	"errors"
	"fmt"
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

// ownSpools begins a start of an embedded store, which the spools that are written from now on name.
func (a *Adapter) ownSpools() error {
	engine, ok := a.engine.(*pebble.Engine)
	if !ok || a.o.Command {
		return nil
	}
	owner := &storeOwner{now: engine.Moment, life: engine.Life}
	life, err := engine.BeginStart()
	owner.adopts.Store(life.Adopts)
	a.spoolOwner = owner
	switch {
	case errors.Is(err, storage.ErrFull):
		return nil // the disk takes no writes: what is there is read
	case err != nil || !life.Adopts:
		return err
	}
	if err := a.o.adoptSpools(owner); err != nil {
		return err
	}
	owner.adopts.Store(false)
	return engine.Adopted()
}

// adoptSpools has the spools of an earlier version name the store. What is damaged is told again where
// it is used.
func (o Options) adoptSpools(owner persistentqueue.Owner) error {
	dirs, err := o.spoolDirs()
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if err := persistentqueue.Adopt(dir, owner); err != nil {
			o.Logger.Error("a spool of an earlier version cannot be opened, and is not sent; see docs/durability.md", "directory", dir, "err", err)
		}
	}
	return nil
}

// spoolDirs returns the directories of all spools, also of those to which nothing is sent now.
func (o Options) spoolDirs() ([]string, error) {
	var all []string
	for _, path := range []string{o.forwardPath(), o.remoteWritePath()} {
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
