package store

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/tsdbridge/tsdbridge/internal/retry"
	"github.com/tsdbridge/tsdbridge/internal/tracing"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/annotations"
	"github.com/tsdbridge/tsdbridge/storage/archive"
	"github.com/tsdbridge/tsdbridge/storage/catalog"
	"github.com/tsdbridge/tsdbridge/storage/changes"
	"github.com/tsdbridge/tsdbridge/storage/compact"
	"github.com/tsdbridge/tsdbridge/storage/documents"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/read"
	"github.com/tsdbridge/tsdbridge/storage/register"
	"github.com/tsdbridge/tsdbridge/storage/retention"
	"github.com/tsdbridge/tsdbridge/storage/rollup"
	"github.com/tsdbridge/tsdbridge/storage/rollup/job"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/uid"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// parts are what a store is made of, and what these ask of each other.
type parts struct {
	db          *kv.Engine
	o           Options
	layout      schema.Layout
	uids        *uid.Dictionary
	tables      *tableLayout
	index       *index.Index
	registry    *catalog.Registry
	days        *catalog.Days // nil: others write, and leave none
	births      *catalog.Births
	changes     *changes.Log // nil: others write
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
	filler      *job.Filler     // nil: rollup tables are not filled
	unreadable  func(err error) // tells of what is in the tables and cannot be read
	forgotten   atomic.Bool     // what is known of filled rollup tables; see forgetFilled
	loading     retry.Outcome   // of the series index; its error keeps the store from answering
}

// openCatalog makes the catalogue of series.
func (s *parts) openCatalog() {
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
func (s *parts) headHours(id index.ID, see func(base uint32)) {
	if head := s.writer.Head(); head != nil {
		head.Hours(uint32(id), see)
	}
}

// noteNew notes that a series was registered.
func (s *parts) noteNew(id index.ID) bool {
	s.births.Born(id, s.o.Now())
	return s.writer.NoteNew(id)
}

// newCompactor returns what compacts closed rows of shared tables; nil: nothing does.
func (s *parts) newCompactor() *compact.Compactor {
	if s.db.Versioned == nil || s.o.CompactAfter == 0 {
		return nil
	}
	return compact.New(compact.Options{
		DB: s.db, Data: s.o.Tables.Data, Leases: s.o.Tables.Tree, Layout: s.layout, After: s.o.CompactAfter, Quiet: compact.Quiet,
		Now: s.o.Now, Logger: s.o.Logger, Registerer: s.o.Registerer,
	})
}

func (s *parts) openRows() int {
	h := s.writer.Head()
	if h == nil {
		return 0
	}
	return int(h.Stats().Rows)
}

// openWriter makes the write path, the documents, which register series by it, and the annotations.
func (s *parts) openWriter() (err error) {
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

func (s *parts) newReader() *read.Reader {
	o := read.Options{
		DB: s.db, Table: s.o.Tables.Data, Layout: s.layout, Index: s.index, Ready: s.writer.Replayed, Now: s.o.Now, Registerer: s.o.Registerer,
	}
	o.Unreadable = s.unreadable
	o.Head, o.Ages, o.SweepBytes = s.writer.Head(), s.writer.Ages, s.o.SweepBytes
	return read.New(o)
}

// openUIDs opens the dictionary; on shared tables it assigns nothing before the flags are known to
// fit.
func (s *parts) openUIDs() {
	o := uid.Options{Table: s.o.Tables.UID, Layout: s.layout, CacheEntries: s.o.SeriesCache, RandomMetrics: s.o.RandomMetricUIDs, Unreadable: s.unreadable}
	if !s.o.Exclusive {
		o.BeforeAssign = s.tables.beforeUID
	}
	s.uids = uid.New(s.db, o)
}

// ready fails queries that the index cannot answer yet.
func (s *parts) ready() error {
	if s.registry.Loaded() {
		if s.days != nil {
			return s.writer.Replayed() // the log may have days that the table lacks
		}
		return nil
	}
	return fmt.Errorf("%w: %w", storage.ErrNotReady, s.loading.Err())
}

// SelectParts implements Querier.
func (s *parts) SelectParts(ctx context.Context, q storage.Query, worker func() storage.PartWorker) error {
	ctx, span := tracing.Start(ctx, "select")
	span.Number("series", int64(len(q.Refs)))
	err := s.reader.SelectParts(ctx, q, worker)
	span.End(err)
	return err
}
