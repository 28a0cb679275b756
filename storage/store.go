package storage

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/retry"
	"github.com/tsdbridge/tsdbridge/storage/catalog"
	"github.com/tsdbridge/tsdbridge/storage/documents"
	"github.com/tsdbridge/tsdbridge/storage/fit"
	"github.com/tsdbridge/tsdbridge/storage/head"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/read"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/series"
	"github.com/tsdbridge/tsdbridge/storage/uid"
)

// Store is the one implementation of Appender and Querier: the OpenTSDB schema over a table engine.
type Store struct {
	db       *kv.Engine
	verifier verifier
	stamps   stampClock
	o        Options
	layout   schema.Layout
	uids     *uid.Dictionary
	fit      *fit.Checker // nil: nobody else writes
	index    *index.Index
	states   index.Pages[state]
	registry *catalog.Registry
	days     *catalog.Days // nil: others write, and leave none
	*catalog.Catalog
	*documents.Documents
	*read.Reader
	uidUsage    *catalog.UIDUsage
	loader      *catalog.Loader
	metrics     *storeMetrics
	writers     sync.Pool     // *writer
	resolutions sync.Pool     // *resolution
	reads       chan struct{} // one for each append that is reading rows
	buffer      *buffer       // nil: writes go through
	old         *retention    // nil: rows are kept for ever

	admission admission
	unpinned  atomic.Bool // the layout could not be recorded yet

	unfit atomic.Bool // the flags do not fit the tables: nothing may be written

	flushing sync.Mutex // held while rows of the head are put

	loading retry.Outcome // of the series index; its error keeps the store from answering
}

var (
	_ Appender = (*Store)(nil)
	_ Querier  = (*Store)(nil)
)

// New builds a store over db, which it does not close. Run makes it ready.
func New(db kv.KV, o Options) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s := &Store{
		db: kv.NewEngine(db, o.Exclusive), o: o, layout: o.Layout, index: index.New(o.Layout),
		reads: make(chan struct{}, concurrentReads),
	}
	s.loading.Set(errors.New("series index: not loaded yet"))
	s.openUIDs()
	s.stamps.wall = o.Now
	s.writers.New = func() any { return &writer{} }
	s.resolutions.New = func() any { return &resolution{} }
	s.openCatalog()
	s.metrics = newStoreMetrics(o.Registerer)
	s.admission.init(o.NewSeries, s.index.Len, o.Now, o.Registerer)
	if o.Retention > 0 {
		old, err := newRetention(s)
		if err != nil {
			return nil, err
		}
		s.old = old
	}
	if keeper := s.db.LogKeeper(); keeper != nil && o.Buffer.Dir != "" {
		s.o.Buffer.AtLeast = keeper.LogEnd()
	}
	logged := o.Mode == WriteBuffered || o.LogUnacknowledged
	if !logged {
		left, err := s.o.Buffer.holdsLog()
		if err != nil {
			return nil, err
		}
		if logged = left; left {
			o.Logger.Info("a log is left from an earlier run with other flags; it is replayed and put into the table", "path", o.Buffer.Dir)
		}
	}
	if logged {
		b, err := openBuffer(s)
		if err != nil {
			return nil, err
		}
		s.buffer = b
	}
	s.Reader = s.newReader()
	return s, nil
}

// openCatalog makes the catalogue of series and the documents beside it.
func (s *Store) openCatalog() {
	o := s.o
	s.registry = catalog.NewRegistry(s.index, s.layout, o.Exclusive)
	if o.Exclusive {
		s.days = catalog.NewDays(s.db, o.Tables, s.index, s.registry)
	}
	s.uidUsage = catalog.NewUIDUsage(s.uids, s.layout, o.Tables.UID, o.Logger)
	s.Documents = documents.New(documents.Options{
		DB: s.db, Tables: o.Tables, Layout: s.layout, UIDs: s.uids, Series: s.index, Registrar: s,
		Exclusive: o.Exclusive, IndexRefresh: o.IndexRefresh, Now: o.Now,
	})
	s.Catalog = catalog.New(catalog.Options{
		DB: s.db, Tables: o.Tables, Layout: s.layout, UIDs: s.uids, Series: s.index, Registry: s.registry, Days: s.days,
		Exclusive: o.Exclusive, Index: o.Index, IndexRefresh: o.IndexRefresh, Ready: s.ready, Describes: s.Describes, OpenRows: s.openRows,
		Now: o.Now, Logger: o.Logger, Registerer: o.Registerer,
	})
	s.OnRename(s.Forget)
	s.loader = &catalog.Loader{Catalog: s.Catalog, BeforeAll: s.pinAgain}
}

// pinAgain records the layout if that could not be done at the start.
func (s *Store) pinAgain(ctx context.Context) error {
	if !s.unpinned.Load() {
		return nil
	}
	return s.PinLayout(ctx)
}

func (s *Store) openRows() int {
	if s.buffer == nil {
		return 0
	}
	return int(s.buffer.head.Stats().Rows)
}

func (s *Store) newReader() *read.Reader {
	o := read.Options{
		DB: s.db, Table: s.o.Tables.Data, Layout: s.layout, Index: s.index, Ready: s.replayed, Now: s.o.Now, Registerer: s.o.Registerer,
	}
	if s.buffer != nil {
		o.Head, o.Ages = s.buffer.head, s.buffer.agesOf
	}
	return read.New(o)
}

// openUIDs opens the dictionary; on shared tables it assigns nothing before the flags are known to fit.
func (s *Store) openUIDs() {
	o := uid.Options{Table: s.o.Tables.UID, Layout: s.layout, CacheEntries: s.o.UIDCacheEntries, Exclusive: s.o.Exclusive, Put: s.db.Put}
	if !s.o.Exclusive {
		s.fit = fit.New(s.db.KV, fit.Options{
			Data: s.o.Tables.Data, UID: s.o.Tables.UID, Meta: s.o.Tables.Meta, Layout: s.layout, Logger: s.o.Logger,
		})
		o.BeforeAssign = func(ctx context.Context, kind schema.Kind, id int64) error {
			return s.noteFit(s.fit.BeforeUID(ctx, kind, id))
		}
	}
	s.uids = uid.New(s.db.KV, o)
}

// Run loads the series index, trying again until it can, and keeps it fresh until ctx ends; where there is a log it replays it, and flushes rows to
// the table. Nothing is replayed or written before shared tables were seen to fit the flags; where they do not, it ends with an ErrLayout.
func (s *Store) Run(ctx context.Context) error {
	if err := s.awaitFit(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	if s.buffer != nil {
		group.Go(func() error { return s.flushEvery(ctx) })
	}
	if s.old != nil {
		group.Go(func() error { return s.old.run(ctx) })
	}
	if s.db.Versioned != nil {
		group.Go(func() error { return s.verifyEvery(ctx) })
	}
	group.Go(func() error { return s.refreshEvery(ctx) })
	return group.Wait()
}

// Close flushes what is in memory, settles what was put into shared tables without reading, as far as ctx allows, and closes the log. What is not flushed is replayed by the next process. Nothing
// may use the store any more; the engine is closed afterwards.
func (s *Store) Close(ctx context.Context) error {
	defer s.verifyLast(ctx)
	if s.buffer == nil {
		return nil
	}
	var err error
	if s.replayed() == nil && !s.unfit.Load() {
		err = s.flushRows(ctx, head.Everything())
	}
	flushed := err == nil && s.replayed() == nil && s.buffer.head.Stats().Rows == 0 && s.buffer.waits() == nil
	if err = errors.Join(err, s.buffer.close()); err != nil || !flushed {
		return err
	}
	return s.buffer.remove()
}

// replayed fails reads that would not see what the log holds.
func (s *Store) replayed() error {
	if s.buffer == nil {
		return nil
	}
	select {
	case <-s.buffer.ready:
		return nil
	default:
		return fmt.Errorf("%w: the log is being replayed", series.ErrNotReady)
	}
}

func (s *Store) refreshEvery(ctx context.Context) error {
	since := int64(0)
	for {
		begin := s.o.Now()
		if err := s.checkFit(ctx); errors.Is(err, ErrLayout) {
			return err // others began to fill empty tables
		}
		switch err := s.loader.Load(ctx, since); {
		case errors.Is(err, ErrLayout):
			return err
		case err == nil:
			if s.registry.SetLoaded() {
				s.o.Logger.Info("series index loaded", "series", s.index.Len(), "duration", s.o.Now().Sub(begin))
			}
			s.loading.Set(nil)
			s.uidUsage.Measure(ctx)
			since = begin.Add(-catalog.RefreshMargin).UnixMilli()
		case ctx.Err() != nil:
			return nil
		default:
			if s.loading.Note(ctx, fmt.Errorf("series index: %w", err)) {
				s.o.Logger.Error("reading the series index; trying again", "table", s.o.Tables.Meta, "err", err)
			}
		}
		if s.o.Exclusive && s.registry.Loaded() {
			<-ctx.Done()
			return nil
		}
		wait := s.o.IndexRefresh
		if !s.registry.Loaded() {
			wait = min(wait, time.Second)
		}
		if !retry.Sleep(ctx, wait) {
			return nil
		}
	}
}

// Ready says what keeps the store from answering, nil when nothing does. It asks the engine.
func (s *Store) Ready(ctx context.Context) error {
	for _, t := range []struct{ table, family string }{
		{s.o.Tables.Data, schema.FamilyData},
		{s.o.Tables.UID, schema.FamilyID},
		{s.o.Tables.Meta, schema.FamilyMeta},
		{s.o.Tables.Tree, schema.FamilyData},
	} {
		_, err := s.db.Get(ctx, t.table, t.family, [][]byte{schema.MaxIDRow()})
		switch {
		case errors.Is(err, kv.ErrNoTable):
			return fmt.Errorf("%w: table %s is missing: create the tables with \"tsdbridge tables create\"", series.ErrNotReady, t.table)
		case err != nil:
			return err
		}
	}
	if err := s.replayed(); err != nil && !s.unfit.Load() {
		return err
	}
	return s.loading.Err()
}

// ready fails queries that the index cannot answer yet.
func (s *Store) ready() error {
	if s.registry.Loaded() {
		if s.days != nil {
			return s.replayed() // the log may have days that the table lacks
		}
		return nil
	}
	return fmt.Errorf("%w: %w", series.ErrNotReady, s.loading.Err())
}
