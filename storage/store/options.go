package store

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/compact"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/register"
	"github.com/tsdbridge/tsdbridge/storage/retention"
	"github.com/tsdbridge/tsdbridge/storage/rollup"
	"github.com/tsdbridge/tsdbridge/storage/rollup/job"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// Tables are the names of the four OpenTSDB tables.
type Tables = storage.Tables

// MinRetention is the shortest time for which points can be kept.
const MinRetention = write.MinRetention

// Options of a Store.
type Options struct {
	Tables Tables
	Layout schema.Layout
	// Values is the encoding of floats.
	Values schema.Values
	// Exclusive means that no other process writes to the tables (the local engines): nothing is
	// refreshed or scanned for.
	Exclusive bool
	Index     storage.SeriesIndex
	// Mode is when a point is durable. With LogUnacknowledged there is a log even with
	// WriteThrough, for the writers that take Logged.
	Mode              write.Mode
	LogUnacknowledged bool
	// Buffer is of the log, if there is one.
	Buffer write.BufferOptions
	// NewSeries limits the registration of series.
	NewSeries register.SeriesLimits
	// Retention is how long rows of points are kept, 0: for ever. The engine must be able to delete
	// ranges.
	Retention time.Duration
	// RetentionRules are how long points of some series are kept.
	RetentionRules []retention.Rule
	// CompactAfter is how long after the end of its hour a row of shared tables is compacted, 0:
	// never.
	CompactAfter time.Duration
	// AppendCells means that points are put into the append cells of their rows, as a TSD with
	// tsd.storage.enable_appends does: on shared tables only.
	AppendCells bool
	// IndexRefresh is the interval between two looks for series of other writers.
	IndexRefresh time.Duration
	// SeriesCache limits the entries of each cache of names and UIDs. Each kind of UID has one.
	SeriesCache int
	// SweepBytes is what one wide read of shared tables may hold at a time; 0: a quarter of the
	// query's budget.
	SweepBytes int64
	// RandomMetricUIDs gives metrics UIDs at random.
	RandomMetricUIDs bool
	// Rollups are the rollup tables; nil: there are none.
	Rollups *rollup.Config
	// ArchiveTable is the table of the coarse archives of Graphite's series; empty: there are none.
	ArchiveTable string
	// FillRules are which of them are filled from points.
	FillRules []job.Rule
	// Observer, if any, is told of each new series before its tsdb-meta row is written.
	Observer storage.Observer
	// Appended, if any, is told of each batch when it is durable, before it is acknowledged. It does not keep the batch.
	Appended func(b *storage.Batch)
	// Now is the clock.
	Now        func() time.Time
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// DefaultOptions returns the options of a store on tables of OpenTSDB's default names and widths.
func DefaultOptions() Options {
	return Options{
		Tables:       Tables{Data: "tsdb", UID: "tsdb-uid", Meta: "tsdb-meta", Tree: "tsdb-tree"},
		Layout:       schema.DefaultLayout(),
		Index:        storage.IndexAuto,
		Mode:         write.Through,
		Buffer:       write.DefaultBufferOptions(),
		IndexRefresh: 30 * time.Second,
		SeriesCache:  2_000_000,
		Now:          time.Now,
		Logger:       slog.New(slog.DiscardHandler),
		Registerer:   prometheus.NewRegistry(),
	}
}

// Validate names the option that cannot work.
func (o Options) Validate() error {
	if err := o.Layout.Validate(); err != nil {
		return err
	}
	switch {
	case o.Tables.Data == "" || o.Tables.UID == "" || o.Tables.Meta == "" || o.Tables.Tree == "":
		return errors.New("--storage.table.*: a table name is empty")
	case o.Index != storage.IndexAuto && o.Index != storage.IndexMeta:
		return fmt.Errorf("--storage.series-index: %q is neither auto nor meta", o.Index)
	case o.Mode != write.Through && o.Mode != write.Buffered:
		return fmt.Errorf("--write.mode: %q is neither through nor buffered", o.Mode)
	case o.Retention != 0 && o.Retention < MinRetention:
		return fmt.Errorf("--storage.retention=%v: want 0 (for ever) or at least %v", o.Retention, MinRetention)
	case o.CompactAfter != 0 && o.CompactAfter < compact.MinAfter:
		return fmt.Errorf("--hbase.compact-after=%v: want 0 (never) or at least %v", o.CompactAfter, compact.MinAfter)
	case o.AppendCells && o.Exclusive:
		return errors.New("--hbase.append-cells is for tables in HBase, which TSDs append to; an embedded store has cells of its own")
	case o.IndexRefresh <= 0:
		return errors.New("--storage.index-refresh must be above 0")
	case o.SeriesCache < 1:
		return errors.New("--storage.series-cache must be at least 1")
	}
	for i := range o.RetentionRules {
		if r := &o.RetentionRules[i]; r.Age < MinRetention {
			return fmt.Errorf("retention: %s: age %v: want at least %v", r.Name, r.Age, MinRetention)
		}
	}
	if len(o.FillRules) > 0 && o.Rollups == nil {
		return errors.New("rollups: there are no rollup tables to fill: --storage.rollups tells which there are")
	}
	if o.Mode == write.Buffered || o.LogUnacknowledged {
		return o.Buffer.Validate()
	}
	return nil
}

// HoldsLog reports whether there is a log that was not ended in order, also by what the engine
// knows: acknowledged points that the table may lack.
func (o Options) HoldsLog(db kv.KV) (bool, error) {
	e := kv.NewEngine(db, o.Exclusive)
	if keeper := e.LogKeeper(); keeper != nil {
		o.Buffer.AtLeast, o.Buffer.State = keeper.LogEnd(), keeper.LogState()
	}
	return o.Buffer.HoldsLog()
}
