// Package tables has where the tables are: the options of the engine and of the store over it, and what
// opens them for a process or for a command. It checks, repairs, compacts and copies stores that no
// process has open. It serves nothing.
package tables

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/tsdbridge/tsdbridge/adapter/backups"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/pebble"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/write"
	"github.com/tsdbridge/tsdbridge/translate"
)

// The storage engines.
const (
	EngineEmbedded = "embedded"
	EngineMemory   = "memory"
	EngineHBase    = "hbase"
)

// Options are where the tables are, and how they are written.
type Options struct {
	Engine       string        // --storage.engine
	Path         string        // --storage.path: directory of the embedded engine
	CacheBytes   int64         // --storage.cache-bytes
	MinFreeBytes int64         // --storage.min-free-bytes: below, writes are refused
	Retention    time.Duration // --storage.retention: of the embedded engine; 0: for ever
	StoreFiles   int           // of tables that the embedded engine has open; 0: as many as it takes by itself
	HBase
	Names
	Widths
	Buffer
	SeriesBounds

	Values           string        // --storage.values: auto, double or compact
	SeriesIndex      string        // --storage.series-index: auto or meta
	IndexRefresh     time.Duration // --storage.index-refresh
	RandomMetricUIDs bool          // --storage.uid-random-metrics
	Rollups          string        // --storage.rollups: a file, or JSON
	SeriesCache      int           // --storage.series-cache: entries of each cache
	CompatMetrics    []string      // --translate.compat-metrics: RE2, anchored

	Unacknowledged bool // there are writes without an acknowledgement: carbon's, and puts by telnet
	Command        bool // a command has the tables open, not a server

	Logger *slog.Logger
	Now    func() time.Time
}

// HBase is where the cluster is, and how it is used.
type HBase struct {
	ZooKeeper         string        // --hbase.zookeeper: host:port,...
	HBaseRoot         string        // --hbase.root
	HBaseTimeout      time.Duration // --hbase.timeout: one operation on the cluster
	HBaseAppendCells  bool          // --hbase.append-cells
	HBaseCompactAfter time.Duration // --hbase.compact-after: of the hour of a row; 0: rows are not compacted
}

// Names are those of the tables.
type Names struct {
	TableData    string // --storage.table.data
	TableUID     string // --storage.table.uid
	TableMeta    string // --storage.table.meta
	TableTree    string // --storage.table.tree
	TableArchive string // --storage.table.archive
}

// Widths are those of the parts of a row key.
type Widths struct {
	MetricWidth int // --storage.uid-width.metric, bytes
	TagkWidth   int // --storage.uid-width.tagk, bytes
	TagvWidth   int // --storage.uid-width.tagv, bytes
	SaltWidth   int // --storage.salt.width, bytes
	SaltBuckets int // --storage.salt.buckets
}

// Buffer is the log and the memory for points that are not in the tables yet.
type Buffer struct {
	WriteMode     string        // --write.mode: auto, through or buffered
	LogPath       string        // --write.log.path: directory; empty: log in --storage.path
	LogBytes      int64         // --write.log.max-bytes
	FlushInterval time.Duration // --write.buffer.flush-interval; 0: as fits the mode
	HeadBytes     int64         // --write.buffer.max-bytes
}

// SeriesBounds bound the series.
type SeriesBounds struct {
	ActiveSeries int // --write.max-active-series; 0: as many as fit a third of the memory; -1: no limit
	NewSeries    int // --write.max-new-series-per-second: average over 10 seconds; 0: no limit
	NewBranches  int // --write.max-new-branches-per-second: average over 10 seconds; 0: no limit
	PathDepth    int // --write.max-path-depth: elements of a new series' metric; 0: no limit
}

// DefaultOptions returns the options without any flag.
func DefaultOptions() Options {
	return Options{
		Engine: EngineEmbedded, Path: "./data", CacheBytes: pebble.DefaultCacheBytes, MinFreeBytes: 256 << 20,
		HBase:  HBase{HBaseRoot: "/hbase", HBaseTimeout: 15 * time.Second, HBaseCompactAfter: 2 * time.Hour},
		Names:  Names{TableData: "tsdb", TableUID: "tsdb-uid", TableMeta: "tsdb-meta", TableTree: "tsdb-tree", TableArchive: "tsdb-archive"},
		Widths: Widths{MetricWidth: 3, TagkWidth: 3, TagvWidth: 3, SaltBuckets: 20}, Values: "auto",
		SeriesIndex: "auto", IndexRefresh: 30 * time.Second, SeriesCache: store.DefaultOptions().SeriesCache,
		Buffer:       Buffer{WriteMode: WriteAuto, LogBytes: 4 << 30, HeadBytes: 1 << 30},
		SeriesBounds: SeriesBounds{NewBranches: 10_000, PathDepth: 64},
		Logger:       slog.New(slog.DiscardHandler), Now: time.Now,
	}
}

// Validate returns errors that name the flags which cannot work: all of them, joined.
func (o Options) Validate() error {
	_, translator := o.Translator()
	_, rollups := o.RollupTables()
	return errors.Join(o.validateEngine(), o.validateRetention(), o.validateNumbers(), rollups, translator)
}

// ValidateStore returns why a store cannot have valid options.
func (o Options) ValidateStore() error { return o.StoreOptions().Validate() }

// validateEngine checks where the tables are.
func (o Options) validateEngine() error {
	switch o.Engine {
	case EngineEmbedded:
		if o.Path == "" {
			return errors.New("--storage.path is empty: the embedded engine needs a directory")
		}
	case EngineHBase:
		if o.ZooKeeper == "" {
			return errors.New("--hbase.zookeeper is empty: --storage.engine=hbase needs the cluster's ZooKeeper (host:port, separated by commas)")
		}
	case EngineMemory:
	default:
		return fmt.Errorf("--storage.engine=%s: want embedded, memory or hbase", o.Engine)
	}
	return nil
}

// A Number is the value of a flag that has a least value.
type Number struct {
	Flag         string
	Value, Least int64
}

// AtLeast returns errors about the numbers that are too small.
func AtLeast(all []Number) error {
	var errs []error
	for _, n := range all {
		switch {
		case n.Value >= n.Least:
		case n.Least > 0:
			errs = append(errs, fmt.Errorf("%s must be above 0", n.Flag))
		default:
			errs = append(errs, fmt.Errorf("%s must not be negative", n.Flag))
		}
	}
	return errors.Join(errs...)
}

// validateNumbers checks the numbers that the store does not check.
func (o Options) validateNumbers() error {
	errs := []error{AtLeast([]Number{
		{"--storage.series-cache", int64(o.SeriesCache), 1},
		{"--storage.index-refresh", int64(o.IndexRefresh), 1},
		{"--hbase.timeout", int64(o.HBaseTimeout), 1},
		{"--write.max-new-branches-per-second", int64(o.NewBranches), 0},
		{"--write.max-path-depth", int64(o.PathDepth), 0},
	})}
	if _, err := schema.ParseValues(o.Values); err != nil {
		errs = append(errs, fmt.Errorf("--storage.values: %w", err))
	}
	if o.ActiveSeries < -1 {
		errs = append(errs, fmt.Errorf("--write.max-active-series=%d: must not be below -1, which means no limit", o.ActiveSeries))
	}
	if o.NewSeries < 0 {
		errs = append(errs, fmt.Errorf("--write.max-new-series-per-second=%d: must not be negative", o.NewSeries))
	}
	return errors.Join(errs...)
}

// validateRetention refuses a retention on other engines than the embedded one. HBase expires cells
// by itself.
func (o Options) validateRetention() error {
	switch {
	case o.Retention == 0 || o.Engine == EngineEmbedded:
		return nil
	case o.Engine == EngineHBase:
		return fmt.Errorf("--storage.retention is for the embedded engine; on HBase the table has a TTL: \"tables create --ttl=…\", or alter '%s', {NAME => '%s', TTL => SECONDS}",
			o.TableData, schema.FamilyData)
	}
	return fmt.Errorf("--storage.retention is for the embedded engine, not for --storage.engine=%s", o.Engine)
}

// Layout returns the layout of the tables.
func (o Options) Layout() schema.Layout {
	return schema.Layout{MetricWidth: o.MetricWidth, TagkWidth: o.TagkWidth, TagvWidth: o.TagvWidth, SaltWidth: o.SaltWidth, SaltBuckets: o.SaltBuckets}
}

// StoreOptions returns the options of the store over the tables.
func (o Options) StoreOptions() store.Options {
	s := store.DefaultOptions()
	s.Tables = store.Tables{Data: o.TableData, UID: o.TableUID, Meta: o.TableMeta, Tree: o.TableTree}
	s.Layout = o.Layout()
	s.Values, _ = schema.ParseValues(o.Values) // checked by Validate
	s.Exclusive, s.Retention = o.Engine != EngineHBase, o.Retention
	s.AppendCells = o.HBaseAppendCells
	s.CompactAfter = o.HBaseCompactAfter // of shared tables alone, and checked in any case
	s.Index, s.IndexRefresh, s.SeriesCache = storage.SeriesIndex(o.SeriesIndex), o.IndexRefresh, o.SeriesCache
	s.Mode, s.LogUnacknowledged = o.writeMode(), o.spools()
	s.Buffer.Dir, s.Buffer.MaxLogBytes, s.Buffer.FlushInterval, s.Buffer.MaxHeadBytes = o.LogFolder(), o.LogBytes, o.flushInterval(), o.HeadBytes
	s.Buffer.MarkDir = o.logMarkPath()
	if o.Command && o.Engine == EngineHBase && o.writeMode() == write.Through {
		s.Buffer.Dir, s.Buffer.MarkDir = "", "" // a log there belongs to an adapter
	}
	s.NewSeries = o.SeriesLimits()
	s.RandomMetricUIDs = o.RandomMetricUIDs
	s.Rollups, _ = o.RollupTables() // checked by Validate
	s.ArchiveTable = o.TableArchive
	s.Now, s.Logger = o.Now, o.Logger
	return s
}

// Translator returns what translates names.
func (o Options) Translator() (*translate.Translator, error) {
	var rules []translate.Rule
	for _, pattern := range o.CompatMetrics {
		rules = append(rules, translate.Rule{Pattern: pattern, Mode: translate.Compat})
	}
	t, err := translate.New(rules...)
	if err != nil {
		return nil, fmt.Errorf("--translate.compat-metrics: %w", err)
	}
	return t, nil
}

// Backups returns the record of the backups of an embedded store.
func (o Options) Backups() backups.Record {
	return backups.Record{Store: o.Path, Now: o.Now, Logger: o.Logger}
}

// StoreTimeout is how long one operation of the store may take: writes do not end before it.
func (o Options) StoreTimeout() time.Duration {
	if o.Engine == EngineHBase {
		return o.HBaseTimeout
	}
	return 0
}
