// Package store implements the contract of package storage over a table engine. It wires the parts
// below: the catalogue of series, the write path and the read path. It never knows a protocol.
package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/internal/retry"
	"github.com/tsdbridge/tsdbridge/internal/tracing"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/annotations"
	"github.com/tsdbridge/tsdbridge/storage/archive"
	"github.com/tsdbridge/tsdbridge/storage/catalog"
	"github.com/tsdbridge/tsdbridge/storage/changes"
	"github.com/tsdbridge/tsdbridge/storage/compact"
	"github.com/tsdbridge/tsdbridge/storage/documents"
	"github.com/tsdbridge/tsdbridge/storage/election"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/leases"
	"github.com/tsdbridge/tsdbridge/storage/read"
	"github.com/tsdbridge/tsdbridge/storage/register"
	"github.com/tsdbridge/tsdbridge/storage/retention"
	"github.com/tsdbridge/tsdbridge/storage/rollup"
	"github.com/tsdbridge/tsdbridge/storage/rollup/job"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/uid"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// Store is the one implementation of Appender and Querier: the OpenTSDB schema over a table engine.
type Store struct {
	db       *kv.Engine
	o        Options
	layout   schema.Layout
	uids     *uid.Dictionary
	tables   *tableLayout
	index    *index.Index
	registry *catalog.Registry
	days     *catalog.Days // nil: others write, and leave none
	births   *catalog.Births
	changes  *changes.Log // nil: others write

	catalog     *catalog.Catalog
	documents   *documents.Documents
	annotations *annotations.Annotations
	rollups     *rollup.Rollups   // nil: there are none
	archives    *archive.Archives // nil: there are none
	reader      *read.Reader
	uidUsage    *catalog.UIDUsage
	loader      *catalog.Loader
	registrar   *register.Registrar
	writer      *write.Writer
	closed      *compact.Compactor // nil: closed rows are not compacted
	retainer    *retention.Retainer
	retention   atomic.Pointer[[]retention.Rule]
	filler      *job.Filler // nil: rollup tables are not filled

	unreadable func(err error) // tells of what is in the tables and cannot be read

	forgotten atomic.Bool // what is known of filled rollup tables; see forgetFilled

	loading retry.Outcome // of the series index; its error keeps the store from answering
}

var (
	_ storage.Appender = (*Store)(nil)
	_ storage.Querier  = (*Store)(nil)
)

// New builds a store over db, which it does not close. Run makes it ready.
func New(db kv.KV, o Options) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s := &Store{
		db: kv.NewEngine(db, o.Exclusive), o: o, layout: o.Layout, index: index.New(o.Layout),
	}
	s.loading.Set(errors.New("series index: not loaded yet"))
	s.tables = newTableLayout(s.db, &s.o, &s.loading)
	s.unreadable = s.warnUnreadable()
	s.openUIDs()
	s.openCatalog()
	if err := s.openWriter(); err != nil {
		return nil, err
	}
	s.reader = s.newReader()
	s.closed = s.newCompactor()
	s.retainer = s.newRetainer()
	s.filler = s.newFiller()
	return s, nil
}

// openCatalog makes the catalogue of series.
func (s *Store) openCatalog() {
	o := s.o
	s.registry = catalog.NewRegistry(s.index, s.layout, o.Exclusive)
	s.births = &catalog.Births{}
	if o.Exclusive {
		s.days = catalog.NewDays(s.db, o.Tables, s.index, s.registry)
		s.changes = changes.New(s.metricOf, o.Now)
	}
	s.uidUsage = catalog.NewUIDUsage(s.uids, s.layout, o.Tables.UID, o.Logger)
	s.catalog = catalog.New(catalog.Options{
		DB: s.db, Tables: o.Tables, Layout: s.layout, UIDs: s.uids, Series: s.index, Registry: s.registry, Days: s.days, Births: s.births,
		Index: o.Index, IndexRefresh: o.IndexRefresh, Ready: s.ready, Describes: func(metric string) bool { return s.documents.Describes(metric) }, OpenRows: s.openRows, HeadHours: s.headHours,
		Now: o.Now, Logger: o.Logger, Registerer: o.Registerer,
	})
	s.loader = &catalog.Loader{Catalog: s.catalog, BeforeAll: s.tables.pinAgain}
}

// headHours calls see with the base times of the hours of a series that the head has.
func (s *Store) headHours(id index.ID, see func(base uint32)) {
	if head := s.writer.Head(); head != nil {
		head.Hours(uint32(id), see)
	}
}

// noteNew notes that a series was registered.
func (s *Store) noteNew(id index.ID) bool {
	s.births.Born(id, s.o.Now())
	return s.writer.NoteNew(id)
}

// newCompactor returns what compacts closed rows of shared tables; nil: nothing does.
func (s *Store) newCompactor() *compact.Compactor {
	if s.db.Versioned == nil || s.o.CompactAfter == 0 {
		return nil
	}
	return compact.New(compact.Options{
		DB: s.db, Data: s.o.Tables.Data, Leases: s.o.Tables.Tree, Layout: s.layout, After: s.o.CompactAfter, Quiet: compact.Quiet,
		Now: s.o.Now, Logger: s.o.Logger, Registerer: s.o.Registerer,
	})
}

// Leases returns the leases of the processes that share the tables; nil if no other process does.
func (s *Store) Leases() *leases.Leases {
	if s.db.Versioned == nil {
		return nil
	}
	return leases.New(s.db, s.o.Tables.Tree, s.o.Now)
}

// ClosedRows returns what is known of the compaction of closed rows; false if there is none.
func (s *Store) ClosedRows() (compact.Status, bool) {
	if s.closed == nil {
		return compact.Status{}, false
	}
	return s.closed.Status(), true
}

// CompactClosed compacts what is closed now, as Run does from time to time.
func (s *Store) CompactClosed(ctx context.Context) error {
	if s.closed == nil {
		return nil
	}
	return s.closed.Look(ctx)
}

func (s *Store) openRows() int {
	h := s.writer.Head()
	if h == nil {
		return 0
	}
	return int(h.Stats().Rows)
}

// openWriter makes the write path, the documents, which register series by it, and the annotations.
func (s *Store) openWriter() (err error) {
	o := s.o
	s.writer, err = write.New(write.Options{
		DB: s.db, Tables: o.Tables, Layout: s.layout, Values: o.Values, AppendCells: o.AppendCells, Series: s.index, Registry: s.registry, Days: s.days,
		Mode: o.Mode, LogUnacknowledged: o.LogUnacknowledged, Buffer: o.Buffer,
		Changes: s.changes, Late: s.noteLate(), Appended: o.Appended, Retention: o.Retention, Now: o.Now, Logger: o.Logger,
		Forget: func(ctx context.Context, ids []index.ID, since int64) error {
			return s.registrar.Forget(ctx, ids, since)
		},
		Follow:       func(ctx context.Context, ids []index.ID) error { return s.registrar.Follow(ctx, ids) },
		Revive:       func(ctx context.Context, ids []index.ID) error { return s.registrar.Register(ctx, ids) },
		Stored:       func(ctx context.Context, ids []index.ID) (map[index.ID]bool, error) { return s.stored(ctx, ids, false) },
		DeleteRolled: s.deleteRolled,
		Registerer:   o.Registerer,
	})
	if err != nil {
		return err
	}
	s.registrar = register.New(register.Options{
		DB: s.db, Table: o.Tables.Meta, Layout: s.layout, UIDs: s.uids, Series: s.index, Registry: s.registry, Days: s.days,
		Catalog: s.catalog, UIDUsage: s.uidUsage, NewSeries: o.NewSeries, Observer: o.Observer,
		NoteNew: s.noteNew, CheckFit: s.tables.check, Now: o.Now, Registerer: o.Registerer,
	})
	s.documents = documents.New(documents.Options{
		DB: s.db, Tables: o.Tables, Layout: s.layout, UIDs: s.uids, Series: s.index, Registrar: s.registrar,
		IndexRefresh: o.IndexRefresh, Now: o.Now, Unreadable: s.unreadable,
	})
	s.followRenames()
	s.annotations = annotations.New(annotations.Options{
		DB: s.db, Table: o.Tables.Data, Tree: o.Tables.Tree, Layout: s.layout, Series: s.index, Beside: s.writer.Beside, Ready: s.ready,
		Unreadable: s.unreadable,
	})
	if o.Rollups != nil {
		s.rollups = rollup.New(rollup.Options{
			DB: s.db, Layout: s.layout, Config: o.Rollups, Series: s.index, Beside: s.writer.Beside, Ready: s.ready,
			Unreadable: s.unreadable,
		})
	}
	if o.ArchiveTable != "" {
		s.archives = archive.New(archive.Options{
			DB: s.db, Table: o.ArchiveTable, Layout: s.layout, Series: s.index, Beside: s.writer.Beside, Ready: s.ready,
			Unreadable: s.unreadable,
		})
	}
	return nil
}

// Resolve implements Appender.
func (s *Store) Resolve(ctx context.Context, series []storage.Series) ([]storage.Ref, []error) {
	ctx, span := tracing.Start(ctx, "resolve")
	span.Number("series", int64(len(series)))
	refs, errs := s.registrar.Resolve(ctx, series)
	span.End(nil)
	return refs, errs
}

// Append implements Appender.
func (s *Store) Append(ctx context.Context, b *storage.Batch) error {
	ctx, span := tracing.Start(ctx, "append")
	span.Number("points", int64(len(b.Refs)))
	err := s.writer.Append(ctx, b)
	span.End(err)
	return err
}

// Find implements Querier.
func (s *Store) Find(ctx context.Context, filters []storage.Filter, start, end int64, limit int) ([]storage.Found, error) {
	return s.catalog.Find(ctx, filters, start, end, limit)
}

// Select implements Querier.
func (s *Store) Select(ctx context.Context, q storage.Query) iter.Seq2[storage.Points, error] {
	ctx, span := tracing.Start(ctx, "select")
	if !span.On() {
		return s.reader.Select(ctx, q)
	}
	return s.tracedSelect(ctx, span, q)
}

// tracedSelect ends the span with the sequence. It is apart, since what a closure holds takes memory.
func (s *Store) tracedSelect(ctx context.Context, span tracing.Span, q storage.Query) iter.Seq2[storage.Points, error] {
	span.Number("series", int64(len(q.Refs)))
	return func(yield func(storage.Points, error) bool) {
		var failed error
		for p, err := range s.reader.Select(ctx, q) {
			if failed = err; !yield(p, err) {
				break
			}
		}
		span.End(failed)
	}
}

// SelectParts implements Querier.
func (s *Store) SelectParts(ctx context.Context, q storage.Query, worker func() storage.PartWorker) error {
	ctx, span := tracing.Start(ctx, "select")
	span.Number("series", int64(len(q.Refs)))
	err := s.reader.SelectParts(ctx, q, worker)
	span.End(err)
	return err
}

// Metrics implements Querier.
func (s *Store) Metrics(ctx context.Context, start, end int64) ([]string, error) {
	return s.catalog.Metrics(ctx, start, end)
}

// TagKeys implements Querier.
func (s *Store) TagKeys(ctx context.Context, start, end int64) ([]string, error) {
	return s.catalog.TagKeys(ctx, start, end)
}

// TagValues implements Querier.
func (s *Store) TagValues(ctx context.Context, key string, start, end int64) ([]string, error) {
	return s.catalog.TagValues(ctx, key, start, end)
}

// Plan returns how the points of a query would be read.
func (s *Store) Plan(q storage.Query) ([]storage.Plan, error) { return s.reader.Plan(q) }

// Catalog returns the catalogue of the store's series: what more it knows than a Querier needs.
func (s *Store) Catalog() *catalog.Catalog { return s.catalog }

// Names returns the dictionary of the store's names and UIDs.
func (s *Store) Names() *uid.Dictionary { return s.uids }

// Documents returns the metadata of the store's metrics and the custom keys of its series.
func (s *Store) Documents() *documents.Documents { return s.documents }

// Annotations returns the notes of the store's series, and the global ones.
func (s *Store) Annotations() *annotations.Annotations { return s.annotations }

// PutHistograms puts histograms of OpenTSDB beside the points of their series; see Writer.PutHistograms.
func (s *Store) PutHistograms(ctx context.Context, all []storage.CodedHistogram) error {
	return s.writer.PutHistograms(ctx, all)
}

// Rollups returns the values of longer intervals; nil: there are no tables for them.
func (s *Store) Rollups() *rollup.Rollups { return s.rollups }

// Elections returns who of several senders of the same data is listened to.
func (s *Store) Elections() *election.Book { return election.New(s.db, s.o.Tables.Tree) }

// Archives returns the coarse archives of Graphite's series; nil: there is no table for them.
func (s *Store) Archives() *archive.Archives { return s.archives }

// Logged returns the store for protocols without an acknowledgement (carbon, telnet put). In every
// mode their points are durable when the log has them. Without a log it appends like the store.
func (s *Store) Logged() storage.Appender { return logged{s.registrar, s.writer} }

// logged is an Appender that appends through the log.
type logged struct {
	*register.Registrar
	writer *write.Writer
}

// Append implements Appender.
func (l logged) Append(ctx context.Context, b *storage.Batch) error {
	return l.writer.AppendLogged(ctx, b)
}

// PinLayout records the layout with which an exclusive store was made and refuses another one with
// an ErrLayout. Shared tables record nothing: there it checks some of their rows, as Run does.
func (s *Store) PinLayout(ctx context.Context) error { return s.tables.pin(ctx) }

// Series returns how many series the index knows.
func (s *Store) Series() int { return s.index.Size() }

// Replayed returns nil when the log of an earlier run is in the head; until then reads fail.
func (s *Store) Replayed() error { return s.writer.Replayed() }

// Refuses returns why points are refused at the moment, or were the last time; nil: they are taken.
func (s *Store) Refuses() error { return s.writer.Refuses() }

// Backup copies the tables; see Writer.Backup.
func (s *Store) Backup(ctx context.Context, dir string) error { return s.writer.Backup(ctx, dir) }

// SalvageLog puts what can be read of a damaged log into the tables; see Writer.SalvageLog.
func (s *Store) SalvageLog(ctx context.Context, o write.BufferOptions) (points, left int, err error) {
	return s.writer.SalvageLog(ctx, o)
}

// GiveUpLog makes the tables forget their log; see Writer.GiveUpLog.
func (s *Store) GiveUpLog() error { return s.writer.GiveUpLog() }

// UnknownInLog counts the series of a log that the store does not have; see Writer.UnknownInLog.
func (s *Store) UnknownInLog(ctx context.Context, o write.BufferOptions) (unknown int, err error) {
	return s.writer.UnknownInLog(ctx, o)
}

func (s *Store) newReader() *read.Reader {
	o := read.Options{
		DB: s.db, Table: s.o.Tables.Data, Layout: s.layout, Index: s.index, Ready: s.writer.Replayed, Now: s.o.Now, Registerer: s.o.Registerer,
	}
	o.Unreadable = s.unreadable
	o.Head, o.Ages, o.SweepBytes = s.writer.Head(), s.writer.Ages, s.o.SweepBytes
	return read.New(o)
}

// openUIDs opens the dictionary; on shared tables it assigns nothing before the flags are known to
// fit.
func (s *Store) openUIDs() {
	o := uid.Options{Table: s.o.Tables.UID, Layout: s.layout, CacheEntries: s.o.SeriesCache, RandomMetrics: s.o.RandomMetricUIDs, Unreadable: s.unreadable}
	if !s.o.Exclusive {
		o.BeforeAssign = s.tables.beforeUID
	}
	s.uids = uid.New(s.db, o)
}

// Run loads the series index, trying again until it can, and keeps it fresh until ctx ends; where
// there is a log it replays it, and flushes rows to the table. Nothing is replayed or written
// before the servers were seen to be new enough and shared tables to fit the flags; where that is not
// so, it ends with an ErrUnsupported or an ErrLayout.
func (s *Store) Run(ctx context.Context) error {
	if err := s.tables.await(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.writer.Run(ctx) })
	group.Go(func() error { return s.refreshEvery(ctx) })
	if s.closed != nil {
		group.Go(func() error { return s.closed.Run(ctx) })
	}
	group.Go(func() error { return s.retainer.Run(ctx) })
	if s.filler != nil {
		group.Go(func() error { return s.filler.Run(ctx) })
	}
	return group.Wait()
}

// Close flushes what is in memory, settles what was put into shared tables without reading, as far
// as ctx allows, and closes the log. What is not flushed is replayed by the next process. Nothing
// may use the store any more; the engine is closed afterwards.
func (s *Store) Close(ctx context.Context) error {
	return s.writer.Close(ctx, s.tables.unfit.Load())
}

func (s *Store) refreshEvery(ctx context.Context) error {
	since := int64(0)
	for {
		begin := s.o.Now()
		if err := s.tables.check(ctx); isFinal(err) {
			return err // others began to fill empty tables
		}
		switch err := s.loader.Load(ctx, since); {
		case isFinal(err):
			return err
		case err == nil:
			if s.registry.SetLoaded() {
				s.o.Logger.Info("series index loaded", "series", s.index.Size(), "duration", s.o.Now().Sub(begin))
			}
			s.loading.Set(nil)
			s.uidUsage.Measure(ctx)
			since = begin.Add(-catalog.RefreshMargin).UnixMilli()
		case ctx.Err() != nil:
			return nil
		default:
			if s.loading.Note(ctx, fmt.Errorf("series index: %w", err)) {
				s.o.Logger.Error("the series index cannot be read, which is tried again; queries fail until then, see /-/ready", "table", s.o.Tables.Meta, "err", err)
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

// Ready returns what keeps the store from answering, nil when nothing does. It asks the engine.
func (s *Store) Ready(ctx context.Context) error {
	type table struct{ table, family string }
	tables := []table{
		{s.o.Tables.Data, schema.FamilyData},
		{s.o.Tables.UID, schema.FamilyID},
		{s.o.Tables.Meta, schema.FamilyMeta},
		{s.o.Tables.Tree, schema.FamilyData},
	}
	if s.o.Rollups != nil {
		for _, name := range s.o.Rollups.Tables() {
			tables = append(tables, table{name, schema.FamilyData})
		}
	}
	for _, t := range tables {
		_, err := s.db.Get(ctx, t.table, t.family, [][]byte{schema.MaxIDRow()})
		switch {
		case errors.Is(err, kv.ErrNoTable):
			return fmt.Errorf("%w: table %s is missing: create the tables with \"tsdbridge tables create\"", storage.ErrNotReady, t.table)
		case err != nil:
			return err
		}
	}
	if err := s.writer.Replayed(); err != nil && !s.tables.unfit.Load() {
		return err
	}
	return s.loading.Err()
}

// ready fails queries that the index cannot answer yet.
func (s *Store) ready() error {
	if s.registry.Loaded() {
		if s.days != nil {
			return s.writer.Replayed() // the log may have days that the table lacks
		}
		return nil
	}
	return fmt.Errorf("%w: %w", storage.ErrNotReady, s.loading.Err())
}
