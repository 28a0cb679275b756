package adapter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/tsdbridge/tsdbridge/adapter/config"
	"github.com/tsdbridge/tsdbridge/adapter/memory"
	"github.com/tsdbridge/tsdbridge/adapter/tables"
	"github.com/tsdbridge/tsdbridge/graphite/pipeline"
	"github.com/tsdbridge/tsdbridge/internal/netserver"
	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/internal/tracing"
	"github.com/tsdbridge/tsdbridge/opentsdb"
	prom "github.com/tsdbridge/tsdbridge/prometheus"
	"github.com/tsdbridge/tsdbridge/web"
)

// Options of an Adapter. A field without a flag keeps its default, except in tests.
type Options struct {
	tables.Options // --storage.*, --hbase.*, --write.mode and others: where the tables are, and how they are written

	ListenAddress    string        // --web.listen-address; empty: no listener
	OTLPGRPCAddress  string        // --otlp.grpc-listen-address; empty: no listener
	WebConfigFile    string        // --web.config.file: TLS, basic auth
	ExternalURL      string        // --web.external-url; empty: as requests name it
	CORSOrigin       string        // --web.cors-origin: RE2, anchored
	Hosts            []string      // --web.hosts: names by which browsers may reach the HTTP ports
	AdminAPI         bool          // --web.enable-admin-api
	Lifecycle        bool          // --web.enable-lifecycle
	MaxConnections   int           // --web.max-connections
	WebBodyBytes     int           // --web.max-body-bytes: of one request, except remote write
	WebInFlightBytes int           // of all these requests at once; 0: four times WebBodyBytes
	ShutdownGrace    time.Duration // --web.shutdown-grace: for requests under way to finish
	QuerySlow        time.Duration // --query.slow-after; 0: no query is slow
	QueryTimeout     time.Duration // --query.timeout: of one query or remote read, in any language
	QuerySeries      int           // --query.max-series: of a selector, a Graphite request or a search; 0: no limit
	QuerySamples     int           // --query.max-samples: that one query may hold, in any language
	QueryParallel    int           // --query.max-concurrency: of each of PromQL, remote read and Graphite
	QueryMemory      int64         // --query.max-memory-bytes: of all queries; 0: a quarter of the machine's or cgroup's
	ReadSamples      int           // of an unstreamed remote read; 0: QuerySamples

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

	Tracing tracing.Options // --tracing.*
	Tracer  *tracing.Tracer // of requests; nil: none

	LogLevel  slog.Level              // --log.level
	Level     *slog.LevelVar          // of Logger; nil: it does not change
	Configure func() (Options, error) // reads the configuration again; nil: there is no reload
	Reloads   <-chan os.Signal        // asks for reloads

	Sockets *netserver.Sockets // bound by the service manager; nil: none
}

// DefaultOptions returns the options without any flag.
func DefaultOptions() Options {
	return Options{
		Options: tables.DefaultOptions(), Tracing: tracing.Options{Fraction: 0.01, ClientTraces: 10},
		ListenAddress: ":9201", MaxConnections: 512, WebBodyBytes: 16 << 20, ShutdownGrace: 30 * time.Second,
		QueryTimeout: 2 * time.Minute, QuerySlow: 5 * time.Second, QuerySeries: 1_000_000, QuerySamples: 50_000_000, QueryParallel: 20,
		RemoteWrite: DefaultRemoteWriteOptions(), Prometheus: prom.DefaultOptions(), Carbon: pipeline.DefaultOptions(), OpenTSDB: opentsdb.DefaultOptions(), Graphite: DefaultGraphiteOptions(),
	}
}

// Validate returns errors that name the flags which cannot work: all of them, joined.
func (o Options) Validate() error {
	errs := []error{
		o.Options.Validate(), o.validateNumbers(), o.validateWeb(), o.prometheusOptions().Validate(), o.Carbon.Validate(),
		o.validateFill(), o.OpenTSDB.Validate(), o.Graphite.Validate(), o.Tracing.Validate(), o.validateRemoteWrite(),
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return o.tables().ValidateStore()
}

// tables returns the options of the tables, with what the listeners need of them.
func (o Options) tables() tables.Options {
	t := o.Options
	t.Unacknowledged = o.Carbon.Listens() || o.OpenTSDB.ListenAddress != ""
	return t
}

// validateFill checks the rules by which rollup tables are filled.
func (o Options) validateFill() error {
	names, err := o.Translator()
	if err != nil {
		return nil // it is reported with the tables
	}
	tables, err := o.RollupTables()
	if err != nil {
		return nil // it is reported with the tables
	}
	_, err = config.FillRules(o.FillRules, names, tables)
	return err
}

// validateNumbers checks the numbers, sizes and durations that no protocol checks.
func (o Options) validateNumbers() error {
	var errs []error
	errs = append(errs, tables.AtLeast([]tables.Number{
		{Flag: "--web.max-connections", Value: int64(o.MaxConnections), Least: 1},
		{Flag: "--web.max-body-bytes", Value: int64(o.WebBodyBytes), Least: 1},
		{Flag: "--query.slow-after", Value: int64(o.QuerySlow)},
		{Flag: query.MemoryFlag, Value: o.QueryMemory},
		{Flag: "--web.shutdown-grace", Value: int64(o.ShutdownGrace)},
	}))
	if o.QuerySeries < 0 {
		errs = append(errs, fmt.Errorf("--query.max-series=%d: must not be negative; 0 means no limit", o.QuerySeries))
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

// forwardPath returns the directory of the spools of what is sent to other carbons.
func (o Options) forwardPath() string {
	if o.Carbon.Forward.Path != "" || o.Path == "" {
		return o.Carbon.Forward.Path
	}
	return filepath.Join(o.Path, "forward")
}

// remoteWritePath returns the directory of the spools of remote_write; empty: there is none.
func (o Options) remoteWritePath() string {
	if o.RemoteWrite.Path != "" || o.Path == "" {
		return o.RemoteWrite.Path
	}
	return filepath.Join(o.Path, "remote-write")
}

// spoolDirs returns the directories of all queues on the disk.
func (o Options) spoolDirs() ([]string, error) {
	return tables.SpoolDirs(o.forwardPath(), o.remoteWritePath())
}

// CheckStore is tables.Check of the store of an adapter, with its queues on the disk.
func CheckStore(ctx context.Context, o Options, fix bool, out io.Writer) error {
	spools, err := o.spoolDirs()
	return errors.Join(err, tables.Check(ctx, o.Options, spools, fix, out))
}
