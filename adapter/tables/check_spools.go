package tables

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/tsdbridge/tsdbridge/internal/fsutil"
	"github.com/tsdbridge/tsdbridge/internal/persistentqueue"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/pebble"
)

// lookAtSpools finds the spools that a start would refuse.
func (c *storeCheck) lookAtSpools() {
	for _, r := range c.refusedSpools() {
		c.find("spool: %s: %v", r.dir, r.err)
	}
}

// fixSpools puts them aside.
func (c *storeCheck) fixSpools(ctx context.Context) error {
	for _, r := range c.refusedSpools() {
		aside := filepath.Join(c.o.Path, "aside", "spool-"+filepath.Base(r.dir)+"-"+c.o.Now().UTC().Format("20060102T150405Z"))
		if err := fsutil.MoveDir(ctx, r.dir, aside); err != nil {
			return err
		}
		fmt.Fprintf(c.out, "mended: the spool %s is kept in %s, and is not sent\n", r.dir, aside)
	}
	return nil
}

type refusedSpool struct {
	dir string
	err error
}

// refusedSpools returns none where the tables, which have the name of their store, cannot be read.
func (c *storeCheck) refusedSpools() (list []refusedSpool) {
	life, err := pebble.Life(c.o.Path)
	if err != nil {
		return nil // it is reported with the tables
	}
	owner := &storeOwner{now: life.Now, life: func() (kv.Life, error) { return life, nil }}
	owner.adopts.Store(life.Adopts)
	for _, dir := range c.spools {
		if err := persistentqueue.Check(dir, owner); err != nil {
			list = append(list, refusedSpool{dir, err})
		}
	}
	return list
}
