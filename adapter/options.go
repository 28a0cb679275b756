package adapter

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/tsdbridge/tsdbridge/adapter/config"
	"github.com/tsdbridge/tsdbridge/adapter/memory"
	"github.com/tsdbridge/tsdbridge/graphite/pipeline"
	"github.com/tsdbridge/tsdbridge/internal/netserver"
	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/internal/tracing"
	"github.com/tsdbridge/tsdbridge/opentsdb"
	prom "github.com/tsdbridge/tsdbridge/prometheus"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/pebble"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/write"
	"github.com/tsdbridge/tsdbridge/translate"
	"github.com/tsdbridge/tsdbridge/web"
)

// The storage engines.
const (
	EngineEmbedded = "embedded"
	EngineMemory   = "memory"
	EngineHBase    = "hbase"
)

// Options of an Adapter. A field without a flag keeps its default, except in tests.
type Options struct {
	Engine            string        // --storage.engine
	Path              string        // --storage.path: directory of the embedded engine
	CacheBytes        int64         // --storage.cache-bytes
	MinFreeBytes      int64         // --storage.min-free-bytes: below, writes are refused
	Retention         time.Duration // --storage.retention: of the embedded engine; 0: for ever
	ZooKeeper         string        // --hbase.zookeeper: host:port,...
	HBaseRoot         string        // --hbase.root
	HBaseTimeout      time.Duration // --hbase.timeout: one operation on the cluster
	HBaseAppendCells  bool          // --hbase.append-cells
	HBaseCompactAfter time.Duration // --hbase.compact-after: of the hour of a row; 0: rows are not compacted
	TableData         string        // --storage.table.data
	TableUID          string        // --storage.table.uid
	TableMeta         string        // --storage.table.meta
	TableTree         string        // --storage.table.tree
	TableArchive      string        // --storage.table.archive
	MetricWidth       int           // --storage.uid-width.metric, bytes
	TagkWidth         int           // --storage.uid-width.tagk, bytes
	TagvWidth         int           // --storage.uid-width.tagv, bytes
	SaltWidth         int           // --storage.salt.width, bytes
	SaltBuckets       int           // --storage.salt.buckets
	Values            string        // --storage.values: auto, double or compact
	SeriesIndex       string        // --storage.series-index: auto or meta
	IndexRefresh      time.Duration // --storage.index-refresh
	RandomMetricUIDs  bool          // --storage.uid-random-metrics
	Rollups           string        // --storage.rollups: a file, or JSON
	SeriesCache       int           // --storage.series-cache: entries of each cache
	CompatMetrics     []string      // --translate.compat-metrics: RE2, anchored
	ListenAddress     string        // --web.listen-address; empty: no listener
	OTLPGRPCAddress   string        // --otlp.grpc-listen-address; empty: no listener
	WebConfigFile     string        // --web.config.file: TLS, basic auth
	ExternalURL       string        // --web.external-url; empty: as requests name it
	CORSOrigin        string        // --web.cors-origin: RE2, anchored
	Hosts             []string      // --web.hosts: names by which browsers may reach the HTTP ports
	AdminAPI          bool          // --web.enable-admin-api
	Lifecycle         bool          // --web.enable-lifecycle
	MaxConnections    int           // --web.max-connections
	WebBodyBytes      int           // --web.max-body-bytes: of one request, except remote write
	WebInFlightBytes  int           // of all these requests at once; 0: four times WebBodyBytes
	ShutdownGrace     time.Duration // --web.shutdown-grace: for requests under way to finish
	WriteMode         string        // --write.mode: auto, through or buffered
	LogPath           string        // --write.log.path: directory; empty: log in --storage.path
	LogBytes          int64         // --write.log.max-bytes
	FlushInterval     time.Duration // --write.buffer.flush-interval; 0: as fits the mode
	HeadBytes         int64         // --write.buffer.max-bytes
	ActiveSeries      int           // --write.max-active-series; 0: as many as fit a third of the memory; -1: no limit
	NewSeries         int           // --write.max-new-series-per-second: average over 10 seconds; 0: no limit
	NewBranches       int           // --write.max-new-branches-per-second: average over 10 seconds; 0: no limit
	PathDepth         int           // --write.max-path-depth: elements of a new series' metric; 0: no limit
	QuerySlow         time.Duration // --query.slow-after; 0: no query is slow
	QueryTimeout      time.Duration // --query.timeout: of one query or remote read, in any language
	QuerySeries       int           // --query.max-series: of a selector, a Graphite request or a search; 0: no limit
	QuerySamples      int           // --query.max-samples: that one query may hold, in any language
	QueryParallel     int           // --query.max-concurrency: of each of PromQL, remote read and Graphite
	QueryMemory       int64         // --query.max-memory-bytes: of all queries; 0: a quarter of the machine's or cgroup's
	ReadSamples       int           // of an unstreamed remote read; 0: QuerySamples

	Prometheus prom.Options     // of remote write, and --query.lookback-delta; other limits come from the fields above
	Carbon     pipeline.Options // --carbon.*
	OpenTSDB   opentsdb.Options // --opentsdb.*
	Graphite   GraphiteOptions  // --graphite.*

	RetentionRules []config.Retention // retention in the configuration file
	FillRules      []config.Fill      // rollups in the configuration file
	RemoteWrite    RemoteWriteOptions
	PromConfig     *config.Prometheus // global, rule_files and the like in the configuration file; nil: none of them

	Flags    map[string]string // shown under /api/v1/status/flags
	Settings map[string]string // the same with secrets, which are never shown
	// Several are the values of flags that may be given several times, NotInFile the flags that are no keys of the
	// configuration file, and Lists its lists, without secrets. The configuration is shown with them.
	Several   map[string][]string
	NotInFile []string
	Lists     map[string]*yaml.Node
	Logger    *slog.Logger
	Now       func() time.Time

	Tracing tracing.Options // --tracing.*
	Tracer  *tracing.Tracer // of requests; nil: none

	LogLevel  slog.Level              // --log.level
	Level     *slog.LevelVar          // of Logger; nil: it does not change
	Configure func() (Options, error) // reads the configuration again; nil: there is no reload
	Reloads   <-chan os.Signal        // asks for reloads

	Sockets *netserver.Sockets // bound by the service manager; nil: none

	Command bool // a command has the tables open, not a server

	StoreFiles int // of tables that the embedded engine has open; 0: as many as it takes by itself
}

// DefaultOptions returns the options without any flag.
func DefaultOptions() Options {
	return Options{
		Tracing: tracing.Options{Fraction: 0.01, ClientTraces: 10},
		Engine:  EngineEmbedded, Path: "./data", CacheBytes: pebble.DefaultCacheBytes, MinFreeBytes: 256 << 20, HBaseRoot: "/hbase", HBaseTimeout: 15 * time.Second, HBaseCompactAfter: 2 * time.Hour,
		TableData: "tsdb", TableUID: "tsdb-uid", TableMeta: "tsdb-meta", TableTree: "tsdb-tree", TableArchive: "tsdb-archive",
		MetricWidth: 3, TagkWidth: 3, TagvWidth: 3, SaltBuckets: 20, Values: "auto",
		SeriesIndex: "auto", IndexRefresh: 30 * time.Second, SeriesCache: store.DefaultOptions().SeriesCache,
		ListenAddress: ":9201", MaxConnections: 512, WebBodyBytes: 16 << 20, ShutdownGrace: 30 * time.Second,
		WriteMode: WriteAuto, LogBytes: 4 << 30, HeadBytes: 1 << 30,
		NewBranches: 10_000, PathDepth: 64,
		QueryTimeout: 2 * time.Minute, QuerySlow: 5 * time.Second, QuerySeries: 1_000_000, QuerySamples: 50_000_000, QueryParallel: 20,
		RemoteWrite: DefaultRemoteWriteOptions(), Prometheus: prom.DefaultOptions(), Carbon: pipeline.DefaultOptions(), OpenTSDB: opentsdb.DefaultOptions(), Graphite: DefaultGraphiteOptions(),
		Logger: slog.New(slog.DiscardHandler), Now: time.Now,
	}
}

// Validate returns errors that name the flags which cannot work: all of them, joined.
func (o Options) Validate() error {
	_, translator := o.translator()
	errs := []error{
		o.validateEngine(), o.validateRetention(), o.validateNumbers(), o.validateWeb(), o.prometheusOptions().Validate(), o.Carbon.Validate(),
		o.validateRollups(), o.OpenTSDB.Validate(), o.Graphite.Validate(), o.Tracing.Validate(), o.validateRemoteWrite(), translator,
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return o.storageOptions().Validate()
}

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

// validateNumbers checks the numbers, sizes and durations that no protocol checks.
func (o Options) validateNumbers() error {
	var errs []error
	if _, err := schema.ParseValues(o.Values); err != nil {
		errs = append(errs, fmt.Errorf("--storage.values: %w", err))
	}
	for _, number := range []struct {
		flag  string
		value int64
		least int64
	}{
		{"--storage.series-cache", int64(o.SeriesCache), 1},
		{"--storage.index-refresh", int64(o.IndexRefresh), 1},
		{"--hbase.timeout", int64(o.HBaseTimeout), 1},
		{"--web.max-connections", int64(o.MaxConnections), 1},
		{"--web.max-body-bytes", int64(o.WebBodyBytes), 1},
		{"--query.slow-after", int64(o.QuerySlow), 0},
		{query.MemoryFlag, o.QueryMemory, 0},
		{"--web.shutdown-grace", int64(o.ShutdownGrace), 0},
		{"--write.max-new-branches-per-second", int64(o.NewBranches), 0},
		{"--write.max-path-depth", int64(o.PathDepth), 0},
	} {
		switch {
		case number.value >= number.least:
		case number.least > 0:
			errs = append(errs, fmt.Errorf("%s must be above 0", number.flag))
		default:
			errs = append(errs, fmt.Errorf("%s must not be negative", number.flag))
		}
	}
	if o.QuerySeries < 0 {
		errs = append(errs, fmt.Errorf("--query.max-series=%d: must not be negative; 0 means no limit", o.QuerySeries))
	}
	if o.ActiveSeries < -1 {
		errs = append(errs, fmt.Errorf("--write.max-active-series=%d: must not be below -1, which means no limit", o.ActiveSeries))
	}
	if o.NewSeries < 0 {
		errs = append(errs, fmt.Errorf("--write.max-new-series-per-second=%d: must not be negative", o.NewSeries))
	}
	return errors.Join(errs...)
}

// validateWeb checks what concerns the HTTP port.
func (o Options) validateWeb() error {
	var errs []error
	if _, err := web.Prefix(o.ExternalURL); err != nil {
		errs = append(errs, fmt.Errorf("--web.external-url: %w", err))
	}
	if _, err := o.hosts(); err != nil {
		return err
	}
	if _, err := o.corsOrigin(); err != nil {
		errs = append(errs, err)
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

func (o Options) storageOptions() store.Options {
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
		s.Buffer.Dir, s.Buffer.MarkDir = "", "" // a log that is there is an adapter's
	}
	s.NewSeries = o.seriesLimits()
	s.RandomMetricUIDs = o.RandomMetricUIDs
	s.Rollups, _ = o.rollups() // checked by Validate
	s.ArchiveTable = o.TableArchive
	s.Now, s.Logger = o.Now, o.Logger
	return s
}

func (o Options) translator() (*translate.Translator, error) {
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

// webInFlightBytes returns how many bytes of bodies may be under way at once.
func (o Options) webInFlightBytes() int {
	if o.WebInFlightBytes > 0 {
		return o.WebInFlightBytes
	}
	return 4 * o.WebBodyBytes
}

// queryMemory returns the size of the budget, in bytes.
func (o Options) queryMemory() int64 {
	if o.QueryMemory > 0 {
		return o.QueryMemory
	}
	return memory.Machine() / 4
}
