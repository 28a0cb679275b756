package tables

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/fsutil"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/pebble"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// errLost means that a check found losses, which have been printed.
var errLost = errors.New("the store is damaged")

// Check reads all of an embedded store and of its log, which no process may have open. It
// prints what is damaged: by file, and how many hours of series. With fix it then repairs the
// store without the lost parts, and keeps damaged files in the folder "aside". It fails if
// something is lost and not repaired. spools are the directories of the queues on the disk.
func Check(ctx context.Context, o Options, spools []string, fix bool, out io.Writer) error {
	if err := o.WantEmbedded("store check"); err != nil {
		return err
	}
	if _, err := os.Stat(o.Path); err != nil {
		return fmt.Errorf("--storage.path: there is no store: %w", err)
	}
	c := storeCheck{o: o, spools: spools, out: out, log: o.StoreOptions().Buffer}
	err := c.look(ctx)
	c.lookAtSpools()
	if err != nil {
		return err
	}
	if c.found == 0 {
		fmt.Fprintf(out, "%s: everything was read, nothing is damaged\n", o.Path)
		return nil
	}
	if !fix {
		return fmt.Errorf("%w: %d findings; \"tsdbridge store check --fix\" goes on without what is lost", errLost, c.found)
	}
	return c.fix(ctx)
}

// storeCheck is one Check.
type storeCheck struct {
	o      Options
	spools []string // directories of queues on the disk
	out    io.Writer
	log    write.BufferOptions
	found  int

	logDamaged bool
	logUseless bool // its records say nothing about these tables
}

func (c *storeCheck) find(format string, args ...any) {
	c.found++
	fmt.Fprintf(c.out, format+"\n", args...)
}

func (c *storeCheck) pebble() pebble.Options {
	return pebble.Options{Path: c.o.Path, CacheBytes: c.o.CacheBytes, Logger: c.o.Logger, Tables: c.o.Tables()}
}

// look finds what is damaged. It changes nothing.
func (c *storeCheck) look(ctx context.Context) error {
	if err := c.lookAtLog(ctx); err != nil {
		return err
	}
	lost, err := pebble.Check(ctx, c.pebble())
	switch {
	case errors.Is(err, storage.ErrDamaged):
		c.find("%v", err)
		return nil
	case err != nil:
		return err
	}
	c.tell(ctx, lost)
	return c.lookForSeries(ctx)
}

// lookAtLog finds what is wrong with the log, and whether it is that of the tables.
func (c *storeCheck) lookAtLog(ctx context.Context) error {
	if state, end, err := pebble.LogState(c.o.Path); err == nil { // else it is reported with the tables
		c.log.State, c.log.AtLeast = state, end
	}
	found, err := c.log.CheckLog(ctx)
	if err != nil {
		return err
	}
	if !c.logDamaged { // else this is the second look
		for _, p := range found.Problems {
			c.find("log: %s", p)
		}
	}
	c.logDamaged, c.logUseless = c.logDamaged || len(found.Problems) > 0, found.Useless
	return nil
}

// lookForSeries finds series that are in the log and not in the store, as far as damage allows.
func (c *storeCheck) lookForSeries(ctx context.Context) error {
	store, closeStore, err := c.openThrough(ctx)
	if err != nil {
		fmt.Fprintf(c.out, "the log's series cannot be compared with the store's: %v\n", err)
		return nil
	}
	unknown, err := store.UnknownInLog(ctx, c.log)
	if err := errors.Join(err, closeStore()); err != nil {
		return err
	}
	if unknown > 0 {
		c.logDamaged = true
		c.find("log: %s: %s", filepath.Join(c.log.Dir, "series"), storage.UnknownText(unknown))
	}
	return nil
}

// tell prints what is lost of the tables.
func (c *storeCheck) tell(ctx context.Context, lost []pebble.Lost) {
	if len(lost) == 0 {
		return
	}
	names := c.names(ctx)
	defer names.close()
	for _, l := range lost {
		switch {
		case l.Table == c.o.TableData && names.store != nil:
			series := names.store.Catalog()
			c.find("%s: %s: rows from %s up to %s cannot be read: up to %d hours of series", l.Files[0], l.Table,
				series.RowText(ctx, l.From), series.RowText(ctx, l.To), series.SeriesHours(l.From, l.To))
		case l.Table == "":
			c.find("%s: what the store keeps about itself cannot be read", l.Files[0])
		default:
			c.find("%s: %s: rows from %x up to %x cannot be read", l.Files[0], l.Table, l.From, l.To)
		}
	}
}

// namedStore is a store that is opened for the names of series; nil if it cannot be opened.
type namedStore struct {
	store *store.Store
	close func()
}

// names opens the tables to name the series concerned, as far as damage allows.
func (c *storeCheck) names(ctx context.Context) namedStore {
	none := namedStore{close: func() {}}
	store, closeStore, err := c.openThrough(ctx)
	if err != nil {
		fmt.Fprintf(c.out, "the names of series cannot be read: %v\n", err)
		return none
	}
	return namedStore{store, func() { _ = closeStore() }}
}

// openThrough opens the tables without their log, and loads the series.
func (c *storeCheck) openThrough(ctx context.Context) (*store.Store, func() error, error) {
	db, engine, err := openEmbedded(c.o)
	if err != nil {
		return nil, nil, err
	}
	so := c.o.StoreOptions()
	so.Mode, so.Retention, so.LogUnacknowledged, so.Buffer.Dir, so.Buffer.MarkDir = write.Through, 0, false, "", ""
	store, err := store.New(db, so)
	if err == nil {
		// an index that cannot be read is retried forever
		ctx, stop := context.WithTimeout(ctx, time.Minute)
		err = replay(ctx, store)
		stop()
	}
	if err != nil {
		return nil, nil, errors.Join(err, engine.Close())
	}
	return store, func() error { return errors.Join(store.Close(context.WithoutCancel(ctx)), engine.Close()) }, nil
}

// fix repairs what look found.
func (c *storeCheck) fix(ctx context.Context) error {
	done, lost, err := pebble.Repair(ctx, c.pebble())
	for _, d := range done {
		fmt.Fprintf(c.out, "mended: %s\n", d)
	}
	if err != nil {
		return err
	}
	if len(lost) > 0 {
		fmt.Fprintf(c.out, "mended: %d ranges of rows are cut out, on all levels\n", len(lost))
	}
	if err := c.lookAtLog(ctx); err != nil { // now that the tables can be read
		return err
	}
	if !c.logDamaged {
		if err := c.lookForSeries(ctx); err != nil { // the damage may have been removed by now
			return err
		}
	}
	if c.logDamaged {
		if err := c.fixLog(ctx); err != nil {
			return err
		}
	}
	if err := c.fixSpools(ctx); err != nil {
		return err
	}
	fmt.Fprintf(c.out, "%s: the store can be opened; it holds what could be read\n", c.o.Path)
	return nil
}

// fixLog puts the readable part of the log into the tables and removes the log.
func (c *storeCheck) fixLog(ctx context.Context) error {
	store, closeStore, err := c.openThrough(ctx)
	if err != nil {
		return err
	}
	if c.logUseless {
		err = store.GiveUpLog()
		fmt.Fprintln(c.out, "mended: the tables go on without the log, which is not that of these tables: what was in theirs alone is lost")
	} else {
		var points, left int
		points, left, err = store.SalvageLog(ctx, c.log)
		fmt.Fprintf(c.out, "mended: %d points of the log are in the tables; %d records have unknown series\n", points, left)
	}
	if err := errors.Join(err, closeStore()); err != nil {
		return err
	}
	if _, err := os.Stat(c.log.Dir); err == nil {
		aside := filepath.Join(c.o.Path, "aside", "log-"+c.o.Now().UTC().Format("20060102T150405Z"))
		if err := fsutil.MoveDir(ctx, c.log.Dir, aside); err != nil {
			return err
		}
		fmt.Fprintf(c.out, "mended: the log is kept in %s\n", aside)
	}
	return c.log.ForgetLog()
}
