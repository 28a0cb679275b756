package storage

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/retry"
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
	db          *kv.Engine
	verifier    verifier
	stamps      stampClock
	o           Options
	layout      schema.Layout
	uids        *uid.Dictionary
	fit         *fit.Checker // nil: nobody else writes
	index       *index.Index
	states      states
	spans       *spans // nil: others write, and leave none
	cover       coverage
	foreign     foreignMetrics
	metrics     *storeMetrics
	reader      *read.Reader
	meta        metadataCache
	renames     renames
	writers     sync.Pool     // *writer
	resolutions sync.Pool     // *resolution
	reads       chan struct{} // one for each append that is reading rows
	buffer      *buffer       // nil: writes go through
	old         *retention    // nil: rows are kept for ever

	admission admission
	usage     uidUsage

	loaded   atomic.Bool
	unpinned atomic.Bool // the layout could not be recorded yet

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
	if o.Exclusive {
		s.spans = &spans{}
	}
	s.metrics = newStoreMetrics(o.Registerer, s)
	s.admission.init(o.NewSeries, s.index.Len, o.Now, o.Registerer)
	s.showUIDs(o.Registerer)
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
	s.reader = s.newReader()
	return s, nil
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

// Select implements Querier.
func (s *Store) Select(ctx context.Context, q Query) iter.Seq2[Points, error] {
	return s.reader.Select(ctx, q)
}

// Plan returns how Select would read a query now, by metric and kind. It reads nothing.
func (s *Store) Plan(q Query) ([]read.Plan, error) { return s.reader.Plan(q) }

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
		switch err := s.refresh(ctx, since); {
		case errors.Is(err, ErrLayout):
			return err
		case err == nil:
			if !s.loaded.Swap(true) {
				s.o.Logger.Info("series index loaded", "series", s.index.Len(), "duration", s.o.Now().Sub(begin))
			}
			s.loading.Set(nil)
			s.measureUIDs(ctx)
			since = begin.Add(-refreshMargin).UnixMilli()
		case ctx.Err() != nil:
			return nil
		default:
			if s.loading.Note(ctx, fmt.Errorf("series index: %w", err)) {
				s.o.Logger.Error("reading the series index; trying again", "table", s.o.Tables.Meta, "err", err)
			}
		}
		if s.o.Exclusive && s.loaded.Load() {
			<-ctx.Done()
			return nil
		}
		wait := s.o.IndexRefresh
		if !s.loaded.Load() {
			wait = min(wait, time.Second)
		}
		if !retry.Sleep(ctx, wait) {
			return nil
		}
	}
}

// refreshMargin is how far a refresh reaches back before the begin of the last one: for clocks of region servers that
// differ from ours, and for cells that were on their way.
const refreshMargin = 5 * time.Minute

// refresh takes in what other processes changed at or after since.
func (s *Store) refresh(ctx context.Context, since int64) error {
	if err := s.refreshNames(ctx, since); err != nil {
		return err
	}
	return s.loadIndex(ctx, since)
}

// loadIndex adds the series whose tsdb-meta rows were written at or after since (milliseconds; 0: ever).
func (s *Store) loadIndex(ctx context.Context, since int64) error {
	begin := s.o.Now()
	scan := kv.Scan{Table: s.o.Tables.Meta, Family: schema.FamilyMeta}
	if s.spans != nil {
		if err := s.loadAlone(ctx, scan); err != nil {
			return err
		}
	} else {
		scan.KeysOnly, scan.Since = true, since
		for row, err := range s.db.Scan(ctx, scan) {
			if err != nil {
				return err
			}
			s.addMeta(row.Key)
		}
	}
	s.metrics.refreshSeconds.Observe(s.o.Now().Sub(begin).Seconds())
	return nil
}

// loadAlone adds all series, and their spans, of a table that nobody else writes to.
func (s *Store) loadAlone(ctx context.Context, scan kv.Scan) error {
	if s.unpinned.Load() {
		if err := s.PinLayout(ctx); err != nil {
			return err
		}
	}
	if err := s.beginSpans(ctx); err != nil {
		return err
	}
	return s.db.Rows.ScanStored(ctx, scan, func(key []byte, cells []kv.StoredCell) error {
		if id, ok := s.addMeta(key); ok {
			s.noteSpan(id, cells)
		}
		return nil
	})
}

// addMeta adds the series of a row of tsdb-meta; ok is false when it is no series.
func (s *Store) addMeta(key []byte) (id index.ID, ok bool) {
	id, _, err := s.index.Add(key)
	if err != nil {
		s.o.Logger.Warn("row key in tsdb-meta is no TSUID of the configured UID widths; skipped", "row", fmt.Sprintf("%x", key), "err", err)
		return 0, false
	}
	s.noteMeta(id, s.states.get(id))
	return id, true
}

// noteMeta remembers that a series has its tsdb-meta row; true when that was not known.
func (s *Store) noteMeta(id index.ID, st *state) bool {
	if st.hasMeta.Swap(true) {
		return false
	}
	if s.o.Exclusive {
		return true // nothing is searched for by row keys
	}
	s.cover.inMeta.Store(s.index.TSUID(id)[:s.layout.MetricWidth], true)
	return true
}

// noteNew remembers that this process wrote the tsdb-meta row of a series, which had none; true when it was not known to have one. Where nobody
// else writes, such a series has no rows of data: points come after the row.
func (s *Store) noteNew(id index.ID, st *state) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.hasMeta.Load() {
		return false // somebody was faster, and may have written points
	}
	if s.o.Exclusive {
		st.known, st.newest, st.lastSample, st.lastObject = true, true, -1, -1
	}
	return s.noteMeta(id, st)
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
	if s.loaded.Load() {
		if s.spans != nil {
			return s.replayed() // the log may have days that the table lacks
		}
		return nil
	}
	return fmt.Errorf("%w: %w", series.ErrNotReady, s.loading.Err())
}
