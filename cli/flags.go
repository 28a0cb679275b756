package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/cli/flagvalue"
)

// commandLine is a parsed command line.
type commandLine struct {
	run     command.Run // nil: help was printed, or that there is no help of something
	exit    int         // without run
	options adapter.Options
	file    *configFile // that was read
}

// parseCommand reads the command line, the environment and the configuration file that they name.
func parseCommand(args []string, stdout, stderr io.Writer) (commandLine, error) {
	return parseCommandIn(variables(os.Environ()), args, stdout, stderr)
}

// parseCommandIn is parseCommand in an environment. The command line wins over the environment, that
// over the configuration file, and that over a TSD's.
func parseCommandIn(environment map[string]string, args []string, stdout, stderr io.Writer) (commandLine, error) {
	p := newParser(stdout)
	if len(args) > 0 && args[0] == completionFlag { // the rest is no whole command line
		_, _ = p.app.Parse(completed(args)) // it prints the words
		return commandLine{}, nil
	}
	original := args
	args, err := p.plainBools(args)
	if err != nil {
		return commandLine{}, err
	}
	given, err := p.app.ParseContext(args)
	if p.terminated || err != nil {
		return commandLine{exit: p.exit}, p.suggestFlag(given, args, err)
	}
	read, err := p.readSettings(given, environment)
	if err != nil {
		return commandLine{}, err
	}
	p = newParser(stdout)
	p.args = original
	p.options.Graphite.Trees, p.options.RetentionRules, p.options.FillRules = read.file.lists.Trees, read.file.lists.Retention, read.file.lists.Fill
	p.options.PromConfig, p.options.Lists = read.file.lists.Prom, read.file.shown
	set, err := p.plainBools(read.flags())
	if err != nil {
		return commandLine{}, err
	}
	all := append(set, args...)
	_, err = p.app.Parse(all)
	if p.terminated { // it printed help, and why there is none
		return commandLine{exit: p.exit}, nil
	}
	if err != nil {
		if wrongForm(err) {
			return commandLine{}, p.advise(given, args, err)
		}
		return commandLine{}, nameFlag(all, err)
	}
	p.spreadFuture()
	c := commandLine{run: p.set.Run, options: p.options, file: read.file}
	if err := c.setLogger(stderr, p.logLevel, p.logFormat); err != nil {
		return commandLine{}, read.file.with(err)
	}
	read.tell(c.options.Logger, c.options.OpenTSDB.AllowEdits)
	c.options.Flags, c.options.Settings = p.values(read.secrets()), p.values(nil)
	c.options.Several, c.options.NotInFile = p.several()
	if !p.set.NoCheck {
		err = read.file.with(c.options.Validate())
	}
	return c, err
}

// plainBools writes --flag=true and --flag=false, as a configuration file has them, as --flag and --no-flag.
func (p *parser) plainBools(args []string) ([]string, error) {
	args = slices.Clone(args)
	for i, arg := range args {
		name, value, ok := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		flag := p.app.GetFlag(name)
		if !ok || !strings.HasPrefix(arg, "--") || flag == nil || !flag.Model().IsBoolFlag() {
			continue
		}
		on, err := strconv.ParseBool(value)
		if err != nil {
			return nil, fmt.Errorf("--%s=%s: want true or false", name, value)
		}
		if args[i] = "--" + name; !on {
			args[i] = "--no-" + name
		}
	}
	return args, nil
}

// spreadFuture applies --write.max-future to carbon and OpenTSDB unless their own flag was given.
func (p *parser) spreadFuture() {
	if p.future && !p.carbonFuture {
		p.options.Carbon.MaxFuture = p.options.Prometheus.Write.Future
	}
	if p.future && !p.opentsdbFuture {
		p.options.OpenTSDB.MaxFuture = p.options.Prometheus.Write.Future
	}
}

// nameFlag adds the flag to an error of kingpin about a value, which does not name it.
func nameFlag(args []string, err error) error {
	given, contextErr := newParser(io.Discard).app.ParseContext(args)
	if err == nil || contextErr != nil {
		return err
	}
	for _, e := range given.Elements {
		f, ok := e.Clause.(*kingpin.FlagClause)
		if !ok || e.Value == nil || f.Model().IsBoolFlag() {
			continue
		}
		flag := "--" + f.Model().Name + "=" + *e.Value
		alone := []string{flag}
		if newParser(io.Discard).app.GetFlag(f.Model().Name) == nil {
			name := given.SelectedCommand.FullCommand()
			alone = append(strings.Fields(name), flag)
			for _, arg := range given.SelectedCommand.Model().Args {
				if arg.Required {
					alone = append(alone, "argument")
				}
			}
		}
		if _, one := newParser(io.Discard).app.Parse(alone); one != nil && one.Error() == err.Error() {
			return withFlag(flag, err)
		}
	}
	return err
}

// withFlag adds a flag with its value to an error that does not begin with it.
func withFlag(flag string, err error) error {
	name, _, _ := strings.Cut(flag, "=")
	for _, begin := range []string{flag + ": ", name + ": "} {
		if rest, ok := strings.CutPrefix(err.Error(), begin); ok {
			return fmt.Errorf("%s: %s", flag, rest)
		}
	}
	return fmt.Errorf("%s: %w", flag, err)
}

// parser defines the command line and holds its values.
type parser struct {
	app        *kingpin.Application
	options    adapter.Options
	set        command.Set
	args       []string // the command line, of which others are read with the same configuration
	configFile string
	tsdConfig  string

	future, carbonFuture, opentsdbFuture bool // the flag was given
	logLevel                             string
	logFormat                            string
	terminated                           bool
	exit                                 int // if terminated
}

// newParser defines the command line.
func newParser(stdout io.Writer) *parser {
	p := &parser{app: kingpin.New("tsdbridge", "A Prometheus remote-storage adapter over the OpenTSDB schema."), options: adapter.DefaultOptions()}
	p.set.App = p.app
	p.app.HelpFlag.Short('h')
	p.app.Version("tsdbridge " + adapter.Version())
	p.app.UsageWriter(stdout)
	p.app.Terminate(func(status int) {
		if p.terminated = true; status != 0 { // it has told why
			p.exit = 2
		}
	})
	p.generalFlags()
	p.storageFlags()
	p.webFlags()
	p.writeFlags()
	p.queryFlags()
	p.ruleFlags()
	p.remoteWriteFlags()
	p.carbonFlags()
	p.graphiteFlags()
	p.opentsdbFlags()
	p.commands()
	return p
}

func (p *parser) generalFlags() {
	f := p.app.Flag
	f("config.file", "YAML file whose keys are the names of these flags, flat or nested at the dots. The command line wins over it.").StringVar(&p.configFile)
	f("log.level", "Lowest level that is logged: debug, info, warn, error.").Default("info").StringVar(&p.logLevel)
	t := &p.options.Tracing
	f("tracing.endpoint", "Where spans of requests are sent: host:port of an OpenTelemetry collector for OTLP over gRPC, or a URL such as http://localhost:4318/v1/traces for OTLP over HTTP; empty: nowhere.").StringVar(&t.Endpoint)
	f("tracing.sampling-fraction", "Fraction of requests that are traced, between 0 and 1. A request with a traceparent has its client's decision, see --tracing.client-traces-per-second.").Default("0.01").Float64Var(&t.Fraction)
	f("tracing.client-traces-per-second", "How many requests in a second are traced because their client says so in a traceparent; of the others the fraction. 0: none.").Default("10").Float64Var(&t.ClientTraces)
	f("tracing.insecure", "Send spans over gRPC without TLS.").BoolVar(&t.Insecure)
	f("tracing.tls-ca-file", "File with the certificates that sign the collector's; empty: the system's.").PlaceHolder("FILE").StringVar(&t.CAFile)
	f(tracingHeaderFlag, "NAME=VALUE of a header for the collector, such as Authorization=Bearer TOKEN; repeatable. It is a secret.").PlaceHolder("NAME=VALUE").StringsVar(&t.Headers)
	f("log.format", "Format of the log: logfmt or json.").Default("logfmt").StringVar(&p.logFormat)
}

func (p *parser) storageFlags() {
	o, f := &p.options, p.app.Flag
	f("storage.engine", "Where the tables are: embedded (in a directory), memory (lost at the end), hbase.").Default(o.Engine).EnumVar(&o.Engine, adapter.EngineEmbedded, adapter.EngineMemory, adapter.EngineHBase)
	f("storage.path", "Directory of the embedded engine.").Default(o.Path).StringVar(&o.Path)
	f("storage.cache-bytes", "Size of the block cache of the embedded engine.").Default(flagvalue.SizeText(o.CacheBytes)).SetValue((*flagvalue.Size)(&o.CacheBytes))
	f("storage.min-free-bytes", "Free disk space of the embedded engine below which writes are refused (503) until there is more; 0: none.").Default(flagvalue.SizeText(o.MinFreeBytes)).SetValue((*flagvalue.Size)(&o.MinFreeBytes))
	f("storage.retention", "How long the embedded engine keeps points, such as 90d or 2y (units: h, d, w, y); 0: for ever.").Default(flagvalue.AgeText(o.Retention)).SetValue((*flagvalue.Age)(&o.Retention))
	f("hbase.zookeeper", "ZooKeeper quorum of HBase: host:port,...").SetValue((*flagvalue.Quorum)(&o.ZooKeeper))
	f("hbase.root", "Root znode of HBase.").Default(o.HBaseRoot).StringVar(&o.HBaseRoot)
	f("hbase.timeout", "Time limit of one operation on HBase, including waiting and retries.").Default(o.HBaseTimeout.String()).DurationVar(&o.HBaseTimeout)
	f("hbase.append-cells", "Put points into OpenTSDB's append cells, one for each row, as TSDs with tsd.storage.enable_appends do. Rows are read before each write.").BoolVar(&o.HBaseAppendCells)
	f("hbase.compact-after", "How long after the end of its hour a row of single cells is put together into one cell, at least 15m; 0: never. Processes share the work.").Default(o.HBaseCompactAfter.String()).DurationVar(&o.HBaseCompactAfter)
	f("storage.table.data", "Data table.").Default(o.TableData).StringVar(&o.TableData)
	f("storage.table.uid", "UID table.").Default(o.TableUID).StringVar(&o.TableUID)
	f("storage.table.meta", "Meta table.").Default(o.TableMeta).StringVar(&o.TableMeta)
	f("storage.table.tree", "Tree table.").Default(o.TableTree).StringVar(&o.TableTree)
	f("storage.table.archive", "Table of the coarse archives of imported whisper files, which OpenTSDB does not know. On HBase it is needed for these alone. Empty: there are none.").Default(o.TableArchive).StringVar(&o.TableArchive)
	f("storage.uid-width.metric", "Bytes of a metric's UID. Every process that uses the tables must have the same value, for ever.").Default(text(o.MetricWidth)).IntVar(&o.MetricWidth)
	f("storage.uid-width.tagk", "Bytes of a tag key's UID.").Default(text(o.TagkWidth)).IntVar(&o.TagkWidth)
	f("storage.uid-width.tagv", "Bytes of a tag value's UID.").Default(text(o.TagvWidth)).IntVar(&o.TagvWidth)
	f("storage.salt.width", "Bytes of salt before a row key; 0: none. Every process that uses the tables must have the same value, for ever.").Default(text(o.SaltWidth)).IntVar(&o.SaltWidth)
	f("storage.salt.buckets", "Number of salt buckets.").Default(text(o.SaltBuckets)).IntVar(&o.SaltBuckets)
	f("storage.values", "Encoding of floats: auto (4 bytes if that loses nothing, else 8; for HTTP puts always 8, as in a TSD), double (always 8; for Prometheus series that TSDs also write over HTTP), compact (whole numbers of up to 4 bytes as integers, the smallest; a TSD then averages them as integers).").Default(o.Values).StringVar(&o.Values)
	f("storage.series-index", "Where series are found: auto (in tsdb-meta, and in row keys for writers that keep no tsdb-meta) or meta (in tsdb-meta alone). Matters on hbase only.").Default(o.SeriesIndex).EnumVar(&o.SeriesIndex, "auto", "meta")
	f("storage.uid-random-metrics", "New metrics get UIDs at random instead of counting up: their rows are spread over the regions of a table that is split evenly. OpenTSDB's tsd.core.uid.random_metrics.").BoolVar(&o.RandomMetricUIDs)
	f("storage.rollups", "Rollup tables: a file with the JSON of OpenTSDB's tsd.rollups.config, or the JSON itself. All who use the tables need the same.").PlaceHolder("FILE").StringVar(&o.Rollups)
	f("storage.index-refresh", "Interval at which changes of other processes are read: series, names, trees.").Default(o.IndexRefresh.String()).DurationVar(&o.IndexRefresh)
	f("storage.series-cache", "Entries of each cache of series: one for each protocol (by the bytes on the wire) and those of names and UIDs.").Default(text(o.SeriesCache)).IntVar(&o.SeriesCache)
	f("translate.compat-metrics", "Metric names (anchored regular expression) that are escaped as by Prometheus' old OpenTSDB adapter; repeatable.").PlaceHolder("REGEX").StringsVar(&o.CompatMetrics)
}

func (p *parser) webFlags() {
	o, f := &p.options, p.app.Flag
	f("web.listen-address", "Address of the HTTP listener; empty: none.").Default(o.ListenAddress).StringVar(&o.ListenAddress)
	f("web.config.file", "File with TLS and basic authentication, in the format of Prometheus' exporter-toolkit.").StringVar(&o.WebConfigFile)
	f("web.external-url", "URL by which browsers reach the HTTP port, for example https://metrics.example.org/tsdb/ behind a proxy. Paths below its path are served as those below /, with or without the proxy cutting it off.").StringVar(&o.ExternalURL)
	f("web.enable-admin-api", "Serve the admin API, which the commands backup, tables compact, tree sync, fsck, meta sync and uid use while the adapter runs, and end queries by their id.").Default(strconv.FormatBool(o.AdminAPI)).BoolVar(&o.AdminAPI)
	f("web.enable-lifecycle", "Load the configuration again when POST /-/reload asks for it. SIGHUP does so in any case.").Default(strconv.FormatBool(o.Lifecycle)).BoolVar(&o.Lifecycle)
	f("web.cors-origin", "Origins (anchored regular expression) whose scripts may use the HTTP port; empty: none.").StringVar(&o.CORSOrigin)
	f("web.hosts", "Names by which browsers may reach the HTTP ports, in addition to addresses, localhost, names without a dot and that of --web.external-url: metrics.example.org, *.example.org, or * for every name. Commas stand between several; repeatable.").PlaceHolder("NAME").StringsVar(&o.Hosts)
	f("web.max-connections", "HTTP connections, and requests, at once. When there are more, the connection that has been silent for longest is closed.").Default(text(o.MaxConnections)).IntVar(&o.MaxConnections)
	f("web.max-body-bytes", "Size limit of a request other than remote write, as it is sent (413). At most four times as much may be under way at once (503).").Default(flagvalue.SizeText(int64(o.WebBodyBytes))).SetValue((*flagvalue.IntSize)(&o.WebBodyBytes))
	f("web.shutdown-grace", "Time for requests under way to finish when the process is told to stop.").Default(o.ShutdownGrace.String()).DurationVar(&o.ShutdownGrace)
}

func (p *parser) writeFlags() {
	o := &p.options
	l, f := &o.Prometheus.Write, p.app.Flag
	f("write.mode", "When a write is acknowledged: through (the engine has every point) or buffered (a log on the local disk has it; rows are put when they are whole). auto: buffered on the embedded engine, otherwise through. carbon and OpenTSDB puts use the log in both modes.").Default(o.WriteMode).EnumVar(&o.WriteMode, "auto", "through", "buffered")
	f("write.log.path", "Directory of the log; empty: log in --storage.path.").StringVar(&o.LogPath)
	f("write.log.max-bytes", "Size limit of the log. At half of it rows are put early; beyond it writes are refused (503).").Default(flagvalue.SizeText(o.LogBytes)).SetValue((*flagvalue.Size)(&o.LogBytes))
	f("write.buffer.flush-interval", "Age at which points in memory are put into the table before their hour ends; 0: 2h, or 2s if only carbon and OpenTSDB puts use the log.").Default(o.FlushInterval.String()).DurationVar(&o.FlushInterval)
	f("write.buffer.max-bytes", "Memory for points. Beyond it the largest rows are put early; beyond 1.5 times of it writes are refused (503).").Default(flagvalue.SizeText(o.HeadBytes)).SetValue((*flagvalue.Size)(&o.HeadBytes))
	f("write.max-body-bytes", "Size limit of a request of remote write or OTLP, as it is sent and decompressed.").Default(flagvalue.SizeText(int64(l.BodyBytes))).SetValue((*flagvalue.IntSize)(&l.BodyBytes))
	f("write.max-concurrency", "Requests of remote write and OTLP at once; more get 503.").Default(text(l.Requests)).IntVar(&l.Requests)
	f("write.max-in-flight-bytes", "Memory limit of all requests of remote write and OTLP at once: their bodies, and what is made of these; more get 503.").Default(flagvalue.SizeText(int64(l.InFlightBytes))).SetValue((*flagvalue.IntSize)(&l.InFlightBytes))
	f("write.max-future", "How far ahead of the clock a sample of remote write or OTLP may be; 0: any time. If set, it also holds for carbon and OpenTSDB unless their flag is set.").Default(l.Future.String()).IsSetByUser(&p.future).DurationVar(&l.Future)
	f("otlp.grpc-listen-address", "Address of the listener for OTLP over gRPC, such as :4317; empty: none. It has the limits, the TLS and the passwords of the HTTP port.").Default(o.OTLPGRPCAddress).StringVar(&o.OTLPGRPCAddress)
	d := &o.Prometheus.OTLP
	f("write.delta.max-series", "Series of OTLP with delta temporality whose sums are kept in memory, about 150 bytes each. A native histogram counts as one for each 150 bytes. Sums of others are read from the store when they are needed.").Default(text(d.DeltaSeries)).IntVar(&d.DeltaSeries)
	f("write.delta.window", "How old the newest sample of a series in the store may be for a sum of deltas to go on from it, if the sum is not in memory.").Default(d.DeltaWindow.String()).DurationVar(&d.DeltaWindow)
	f("write.type-and-unit-labels", "Give series of OTLP the labels __type__ and __unit__, as Prometheus does with --enable-feature=type-and-unit-labels.").BoolVar(&d.TypeAndUnitLabels)
	f("write.dedup.cluster-label", "Label that tells from which HA pair of Prometheus servers a series comes. With --write.dedup.replica-label one replica of each pair is stored. Empty: all are.").StringVar(&l.Dedup.ClusterLabel)
	f("write.dedup.replica-label", "Label that tells from which server of an HA pair a series comes. It is removed.").StringVar(&l.Dedup.ReplicaLabel)
	f("write.dedup.failover-timeout", "Silence of the stored replica after which another one of its pair is stored.").Default(l.Dedup.Failover.String()).DurationVar(&l.Dedup.Failover)
	f("write.dedup.max-clusters", "HA pairs that are known at once; series of more are refused by name. One that was silent for 30m gives its place to a new one.").Default(text(l.Dedup.Clusters)).IntVar(&l.Dedup.Clusters)
	f("write.max-active-series", "Series that the process may know. New series beyond it are refused by name; known ones never are. Branches of trees and tags beyond 10 count as parts of a series, by their memory: 9 branches as one. 0: as many as fit a third of the memory of the machine or cgroup; -1: no limit.").Default(text(o.ActiveSeries)).IntVar(&o.ActiveSeries)
	f("write.max-new-branches-per-second", "Branches of trees that new series may make for each second, in addition to 8 for each series, on average over 10 seconds. Series that make more are refused by name. 0: no limit.").Default(text(o.NewBranches)).IntVar(&o.NewBranches)
	f("write.max-new-series-per-second", "New series for each second, on average over 10 seconds; more are refused by name. 0: no limit.").Default(text(o.NewSeries)).IntVar(&o.NewSeries)
	f("write.max-path-depth", "Elements between dots that the metric of a new series may have. Deeper ones are refused by name. 0: no limit; elements beyond 64 branches are then one.").Default(text(o.PathDepth)).IntVar(&o.PathDepth)
}

func (p *parser) queryFlags() {
	o, f := &p.options, p.app.Flag
	f("query.timeout", "Time limit of one query or remote read, in any language, including waiting.").Default(o.QueryTimeout.String()).DurationVar(&o.QueryTimeout)
	f("query.max-series", "Series that one PromQL selector, one Graphite request or one search for names may find; 0: no limit.").Default(text(o.QuerySeries)).IntVar(&o.QuerySeries)
	f("query.max-samples", "Samples that one query may hold in memory, in any language (empty points of Graphite included), and that an unstreamed remote read may return.").Default(text(o.QuerySamples)).IntVar(&o.QuerySamples)
	f("query.max-concurrency", "Queries that compute at once, for each of PromQL, remote read and Graphite; at most 4 for each core. Those that have computed least go first; large ones begin one after the other.").Default(text(o.QueryParallel)).IntVar(&o.QueryParallel)
	f("query.slow-after", "A query in any language that takes at least so long is logged, and listed by /api/v1/status/slow_queries and the page; 0: none.").Default(o.QuerySlow.String()).DurationVar(&o.QuerySlow)
	f("query.max-memory-bytes", "Memory that the answers to all queries may hold together. A query beyond it is refused (422, or 503 while others hold it). 0: a quarter of the memory of the machine or cgroup.").Default(flagvalue.SizeText(o.QueryMemory)).SetValue((*flagvalue.Size)(&o.QueryMemory))
	f("query.enable-feature", "Experimental part of PromQL, by Prometheus' name: promql-experimental-functions, promql-extended-range-selectors (anchored, smoothed) or promql-binop-fill-modifiers. May be given several times, or have several names between commas.").PlaceHolder("NAME").StringsVar(&o.Prometheus.Query.Features)
	f("query.lookback", "How long the newest sample of a metric counts in PromQL: PATTERN=step (twice the step of each series, for points that come more seldom than --query.lookback-delta), PATTERN=DURATION, or either without a pattern, for all metrics. May be given several times; the first pattern (RE2, anchored) that matches decides. At most 48h.").StringsVar(&o.Prometheus.Query.Lookbacks)
	f("query.lookback-delta", "Age of the oldest sample that a PromQL instant returns.").Default(o.Prometheus.Query.Lookback.String()).DurationVar(&o.Prometheus.Query.Lookback)
	f("query.promql-engine", "What evaluates PromQL: columns (on all cores, the rest as prometheus) or prometheus (the engine of the Prometheus module). The answers are the same.").Default(o.Prometheus.Query.Engine).EnumVar(&o.Prometheus.Query.Engine, "columns", "prometheus")
	f("query.cache-max-bytes", "Memory for the answers of PromQL range queries that are kept; 0: none are kept. A query that is asked again later evaluates only its new steps and those that changed points reach. It is part of --query.max-memory-bytes and gives way to queries. Nothing is kept where other processes write to the tables.").Default(flagvalue.SizeText(o.Prometheus.Query.CacheBytes)).SetValue((*flagvalue.Size)(&o.Prometheus.Query.CacheBytes))
	f("query.selector-cache-max-bytes", "Memory for the series that selectors found, with their labels; 0: none are kept. It is part of --query.max-memory-bytes and gives way to queries. Nothing is kept where other processes write to the tables.").Default(flagvalue.SizeText(o.Prometheus.SelectorBytes)).SetValue((*flagvalue.Size)(&o.Prometheus.SelectorBytes))
	f("query.rollup-sums", "Let sum_over_time and avg_over_time add the sums of filled rollup tables where ranges fit these. It is faster over long ranges, and the last digits may differ from Prometheus'.").BoolVar(&o.Prometheus.Query.RollupSums)
	f("query.promql-shadow", "Percentage of PromQL queries that both engines evaluate. Differences are logged, and counted in tsdbridge_promql_queries_shadowed_total. Such a query takes as long as both.").Default("0").Float64Var(&o.Prometheus.Query.Shadow)
}

func (p *parser) remoteWriteFlags() {
	o, f := &p.options.RemoteWrite, p.app.Flag
	f("remote-write.path", "Directory of the spools of what is sent on by remote_write (configuration file); empty: remote-write in --storage.path.").StringVar(&o.Path)
	f("remote-write.max-bytes", "Size limit of the spool of each destination of remote_write. What a full one does not take is stored, but not sent, and counted.").Default(flagvalue.SizeText(o.MaxBytes)).SetValue((*flagvalue.Size)(&o.MaxBytes))
}

func (p *parser) ruleFlags() {
	o, f := &p.options.Prometheus.Rules, p.app.Flag
	f("rules.alert.for-outage-tolerance", "Longest outage after which the state of alerts with \"for\" is restored.").Default(o.OutageTolerance.String()).DurationVar(&o.OutageTolerance)
	f("rules.alert.for-grace-period", "Shortest time between a restored state of an alert and its firing. Only alerts with a longer \"for\" are restored.").Default(o.GracePeriod.String()).DurationVar(&o.GracePeriod)
	f("rules.alert.resend-delay", "Shortest time before an alert is sent to an Alertmanager again.").Default(o.ResendDelay.String()).DurationVar(&o.ResendDelay)
	f("alertmanager.notification-queue-capacity", "Alerts that wait for an Alertmanager at most. The oldest give way; they are sent again after the resend delay.").Default(text(o.QueueCapacity)).IntVar(&o.QueueCapacity)
}

func (p *parser) carbonFlags() {
	o, f := &p.options.Carbon, p.app.Flag
	f("carbon.listen-address", "Address of the listener for carbon's plaintext lines, such as :2003; empty: none.").Default(o.ListenAddress).StringVar(&o.ListenAddress)
	f("carbon.pickle-listen-address", "Address of the listener for carbon's pickle protocol, which carbon-relay and carbon-aggregator send, such as :2004; empty: none.").Default(o.PickleAddress).StringVar(&o.PickleAddress)
	f("carbon.protobuf-listen-address", "Address of the listener for carbon's protobuf protocol; empty: none.").Default(o.ProtobufAddress).StringVar(&o.ProtobufAddress)
	f("carbon.max-frame-bytes", "Length of a frame of pickle or protobuf, at most 64MiB. A sender of a longer one is disconnected. While a frame of pickle is read, it may take up to 32 times its length of memory, on each core.").Default(flagvalue.SizeText(int64(o.FrameBytes))).SetValue((*flagvalue.IntSize)(&o.FrameBytes))
	f("carbon.whitelist", "File whitelist.conf of carbon: regular expressions, a line each. Points of names in which none is found are dropped and counted. It is read again when it changes; so are the next two.").Default(o.Whitelist).StringVar(&o.Whitelist)
	f("carbon.blacklist", "File blacklist.conf of carbon: points of names in which one of its regular expressions is found are dropped and counted.").Default(o.Blacklist).StringVar(&o.Blacklist)
	f("carbon.rewrite-rules", "File rewrite-rules.conf of carbon: what is replaced in names, in its sections [pre] and [post].").Default(o.Rewrites).StringVar(&o.Rewrites)
	a := &o.Aggregation
	f("carbon.aggregation-rules", "File aggregation-rules.conf of carbon: which metrics are computed of others, as carbon-aggregator does. It is read again when it changes. A line that is no rule refuses the start.").PlaceHolder("FILE").StringVar(&a.Rules)
	f("carbon.aggregation-forward-all", "Store the points themselves in addition to what is computed of them; carbon's FORWARD_ALL.").Default(strconv.FormatBool(a.ForwardAll)).BoolVar(&a.ForwardAll)
	f("carbon.aggregation-max-intervals", "Intervals before the present one whose aggregates late points still change; carbon's MAX_AGGREGATION_INTERVALS.").Default(text(a.MaxIntervals)).IntVar(&a.MaxIntervals)
	f("carbon.aggregation-write-back", "How often aggregates are stored, if the frequency of their rule is longer: whole seconds; 0: once in that. Carbon's WRITE_BACK_FREQUENCY.").Default(a.WriteBack.String()).DurationVar(&a.WriteBack)
	f("carbon.aggregation-max-bytes", "Memory for the values that aggregates are computed of. Points beyond it are missing in aggregates, and counted.").Default(flagvalue.SizeText(a.MaxBytes)).SetValue((*flagvalue.Size)(&a.MaxBytes))
	w := &o.Forward
	f("carbon.forward", "host:port of another carbon that the points of carbon's listeners are sent to, in addition to being stored. It may be given several times: each gets all points. What it does not take waits in a spool on the disk.").PlaceHolder("HOST:PORT").StringsVar(&w.Addresses)
	f("carbon.forward-points", "Which points are sent: received (as carbon-relay: those that the lists take, under the names that came) or stored (as carbon-aggregator: renamed, and with aggregates).").Default(w.Points).EnumVar(&w.Points, "received", "stored")
	f("carbon.forward-protocol", "How points are sent: pickle or line.").Default(w.Protocol).EnumVar(&w.Protocol, "pickle", "line")
	f("carbon.forward-path", "Directory of the spools; empty: forward in --storage.path.").StringVar(&w.Path)
	f("carbon.forward-max-bytes", "Size limit of each spool. What a full one does not take is dropped, and counted.").Default(flagvalue.SizeText(w.MaxBytes)).SetValue((*flagvalue.Size)(&w.MaxBytes))
	f("carbon.udp", "Listen on UDP in addition to TCP.").Default(strconv.FormatBool(o.UDP)).BoolVar(&o.UDP)
	f("carbon.max-connections", "TCP connections of each port at once. When there are more, the one that has been silent for longest is closed.").Default(text(o.MaxConnections)).IntVar(&o.MaxConnections)
	f("carbon.idle-timeout", "Time without a line after which a connection is closed; 0: never.").Default(o.IdleTimeout.String()).DurationVar(&o.IdleTimeout)
	f("carbon.keep-open", "Skip lines for which carbon closes the connection (over 16384 bytes, no UTF-8, an endless time), and items of frames likewise.").Default(strconv.FormatBool(o.KeepOpen)).BoolVar(&o.KeepOpen)
	f("carbon.max-future", "How far ahead of the clock a point of carbon may be; 0: any time.").Default(o.MaxFuture.String()).IsSetByUser(&p.carbonFuture).DurationVar(&o.MaxFuture)
}

func (p *parser) opentsdbFlags() {
	o, f := &p.options.OpenTSDB, p.app.Flag
	f("opentsdb.listen-address", "Address of the listener for OpenTSDB's put, telnet and HTTP on one port, such as :4242; empty: none.").Default(o.ListenAddress).StringVar(&o.ListenAddress)
	f("opentsdb.max-connections", "Connections at once. When there are more, the one that has been silent for longest is closed.").Default(text(o.MaxConnections)).IntVar(&o.MaxConnections)
	f("opentsdb.idle-timeout", "Time without a byte after which a connection is closed; 0: never.").Default(o.IdleTimeout.String()).DurationVar(&o.IdleTimeout)
	f("opentsdb.allow-special-chars", "Characters that names of OpenTSDB's series may have beside letters of Latin-1, digits and -_./ as they stand, such as :%. OpenTSDB's tsd.core.tag.allow_specialchars.").StringVar(&o.SpecialChars)
	f("opentsdb.max-tags", "Tags of a series that is put; OpenTSDB's tsd.storage.max_tags.").Default(text(o.MaxTags)).IntVar(&o.MaxTags)
	f("opentsdb.config", "A TSD's opentsdb.conf. Its keys that have a meaning here are settings that these flags and --config.file win over; those that have none are logged. Tables, widths and salt must not differ.").PlaceHolder("FILE").StringVar(&p.tsdConfig)
	f("opentsdb.mode", "rw, ro (no points are taken on this port, and nothing can be edited) or wo (no queries); OpenTSDB's tsd.mode.").Default(o.Mode).EnumVar(&o.Mode, "rw", "ro", "wo")
	f("opentsdb.auto-create-metrics", "Puts of a metric that has no UID give it one; otherwise they are refused. OpenTSDB's tsd.core.auto_create_metrics, which is off by default there.").Default("true").BoolVar(&o.AutoCreate.Metrics)
	f("opentsdb.auto-create-tagks", "The same for tag keys.").Default("true").BoolVar(&o.AutoCreate.TagKeys)
	f("opentsdb.auto-create-tagvs", "The same for tag values.").Default("true").BoolVar(&o.AutoCreate.TagValues)
	f("opentsdb.time-zone", "Time zone of dates in OpenTSDB queries that name none; OpenTSDB's tsd.core.timezone.").Default(o.TimeZone).StringVar(&o.TimeZone)
	f("opentsdb.max-points", "Points that one sub query of OpenTSDB's API may read; 0: --query.max-samples. OpenTSDB's tsd.query.limits.data_points.default.").Default(text(o.MaxPoints)).IntVar(&o.MaxPoints)
	f("opentsdb.limits", "File with limits of points by metric, OpenTSDB's tsd.query.limits.overrides.config. It is read again when it changes.").PlaceHolder("FILE").StringVar(&o.LimitsFile)
	f("opentsdb.histogram-codecs", "Codec of OpenTSDB's histograms with the id that it has in the tables: SimpleHistogramDecoder=0; empty: histograms are neither taken nor read. OpenTSDB's tsd.core.histograms.config.").PlaceHolder("CLASS=ID").StringVar(&o.HistogramCodecs)
	f("opentsdb.rollup-tag", "Tag key that says by which aggregation a value of a group of series was made; OpenTSDB's tsd.rollups.agg_tag_key.").Default(o.Rollup.TagKey).StringVar(&o.Rollup.TagKey)
	f("opentsdb.rollup-raw-tag", "Value of that tag for rolled up values of one series; empty: they do not get it. OpenTSDB's tsd.rollups.raw_agg_tag_value, with tag_raw.").StringVar(&o.Rollup.RawTag)
	f("opentsdb.rollup-split", "Let queries of a rollup table read the points of the newest intervals, as long as delaySla in --storage.rollups says that values may lack. OpenTSDB's tsd.rollups.split_query.enable.").BoolVar(&o.Rollup.Split)
	f("opentsdb.rollup-derived", "Rolled up averages and deviations may be stored; the opposite of OpenTSDB's tsd.rollups.block_derived.").BoolVar(&o.Rollup.AllowDerived)
	f("opentsdb.allow-edits", "Clients of OpenTSDB's API may assign UIDs, and change what else is not points.").BoolVar(&o.AllowEdits)
	f("opentsdb.allow-delete", "Queries of OpenTSDB's API may delete the points that they ask for; OpenTSDB's tsd.http.query.allow_delete.").BoolVar(&o.AllowDelete)
	f("opentsdb.open-puts", "HTTP puts need no password although the web configuration has some; telnet's never do.").BoolVar(&o.OpenPuts)
	f("opentsdb.cors-domains", "Origin of pages that may use OpenTSDB's API from a browser, such as https://grafana.example.org, or * (pages that are not named cannot edit); repeatable.").PlaceHolder("ORIGIN").StringsVar(&o.CORSDomains)
	f("opentsdb.cors-headers", "Headers that those pages may send.").Default(o.CORSHeaders).StringVar(&o.CORSHeaders)
	f("opentsdb.max-future", "How far ahead of the clock a point that is put may be; 0: any time.").Default(o.MaxFuture.String()).IsSetByUser(&p.opentsdbFuture).DurationVar(&o.MaxFuture)
}

func (p *parser) graphiteFlags() {
	o, f := &p.options.Graphite, p.app.Flag
	f("graphite.storage-schemas", "File storage-schemas.conf of carbon: the steps of series, by name. Without a rule a series has the step of its points.").StringVar(&o.Schemas)
	f("graphite.storage-aggregation", "File storage-aggregation.conf of carbon: how points are aggregated.").StringVar(&o.Aggregation)
	f("graphite.graph-templates", "File graphTemplates.conf of graphite-web: the looks of pictures, by name. Without it there are those that come with graphite-web.").StringVar(&o.GraphTemplates)
	f("graphite.default-tree", "Tree of tsdb-tree in which names without tags are found. It is created with the first one; empty: none.").Default(o.DefaultTree).StringVar(&o.DefaultTree)
	f("graphite.template", "How new dotted names become metric and tags, such as servers.{host}.{metric...}. The first that matches is used; repeatable.").PlaceHolder("TEMPLATE").StringsVar(&o.Templates)
	f("graphite.inverse-trees", "Trees by which new dotted names become metric and tags: all that have an inverse (all), none, or names separated by commas.").Default(o.InverseTrees).StringVar(&o.InverseTrees)
	f("graphite.tree-index", "Where paths are found: memory (all trees are loaded) or table (rows of tsdb-tree are read for each request).").Default(o.TreeIndex).EnumVar(&o.TreeIndex, "memory", "table")
	f("graphite.time-zone", "Time zone of requests that name none.").Default(o.TimeZone).StringVar(&o.TimeZone)
	f("graphite.utf8-metrics", "Accept letters beyond ASCII in unquoted targets; graphite-web's UTF8_METRICS.").Default(strconv.FormatBool(o.UTF8Metrics)).BoolVar(&o.UTF8Metrics)
	f("graphite.hide-after", "Age of the newest point from which find leaves a series out, such as 30d; it is kept, and found again when it sends. 0: none.").Default(flagvalue.AgeText(o.HideAfter)).SetValue((*flagvalue.Age)(&o.HideAfter))
}

// values returns all flags with their values, for the status page of the API. The values of secrets
// are not shown.
func (p *parser) values(secrets map[string]bool) map[string]string {
	all := map[string]string{}
	for _, f := range p.app.Model().Flags {
		switch {
		case f.Value == nil:
		case secrets[f.Name] && f.Value.String() != "":
			all[f.Name] = adapter.Hidden
		default:
			all[f.Name] = f.Value.String()
		}
	}
	return all
}

// several returns the values of flags that may be given several times, and the flags that are no keys of the
// configuration file.
func (p *parser) several() (several map[string][]string, notInFile []string) {
	several = map[string][]string{}
	for _, f := range p.app.Model().Flags {
		if !isSetting(f) {
			notInFile = append(notInFile, f.Name)
		}
		if values, ok := f.Value.(interface{ Get() any }); ok && cumulative(p.app.GetFlag(f.Name)) {
			if list, ok := values.Get().(*[]string); ok {
				several[f.Name] = slices.Clone(*list)
			}
		}
	}
	return several, notInFile
}

func text(n int) string { return strconv.Itoa(n) }
