// Package settings has the server's flags, and reads what sets them in other ways than the command line: environment
// variables, the configuration file and a TSD's. It runs nothing.
package settings

import (
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/tsdbridge/tsdbridge/adapter"
)

// Flags are the server's flags of a command line, with their values. Each is also a key of the configuration file.
type Flags struct {
	app     *kingpin.Application
	options adapter.Options

	logLevel, logFormat                  string
	future, carbonFuture, opentsdbFuture bool // the flag was given
}

// define adds a flag to a command line.
type define = func(name, help string) *kingpin.FlagClause

// Define adds the server's flags to a command line.
func Define(app *kingpin.Application) *Flags {
	f := &Flags{app: app, options: adapter.DefaultOptions()}
	o := &f.options
	f.general(app.Flag)
	storageFlags(app.Flag, o)
	webFlags(app.Flag, o)
	writeFlags(app.Flag, o, &f.future)
	queryFlags(app.Flag, o)
	ruleFlags(app.Flag, o)
	remoteWriteFlags(app.Flag, o)
	carbonFlags(app.Flag, &o.Carbon, &f.carbonFuture)
	graphiteFlags(app.Flag, &o.Graphite)
	opentsdbFlags(app.Flag, &o.OpenTSDB, &f.opentsdbFuture)
	return f
}

// general adds the flags of the configuration file, the log and traces.
func (f *Flags) general(add define) {
	add("config.file", "YAML file whose keys are the names of these flags, flat or nested at the dots. The command line wins over it.").String()
	add("log.level", "Lowest level that is logged: debug, info, warn, error.").Default("info").StringVar(&f.logLevel)
	t := &f.options.Tracing
	add("tracing.endpoint", "Where spans of requests are sent: host:port of an OpenTelemetry collector for OTLP over gRPC, or a URL such as http://localhost:4318/v1/traces for OTLP over HTTP; empty: nowhere.").StringVar(&t.Endpoint)
	add("tracing.sampling-fraction", "Fraction of requests that are traced, between 0 and 1. A request with a traceparent has its client's decision, see --tracing.client-traces-per-second.").Default("0.01").Float64Var(&t.Fraction)
	add("tracing.client-traces-per-second", "How many requests in a second are traced because of their client's traceparent; of the others the fraction. 0: none.").Default("10").Float64Var(&t.ClientTraces)
	add("tracing.insecure", "Send spans over gRPC without TLS.").BoolVar(&t.Insecure)
	add("tracing.tls-ca-file", "File with the certificates that sign the collector's; empty: the system's.").PlaceHolder("FILE").StringVar(&t.CAFile)
	add(tracingHeaderFlag, "NAME=VALUE of a header for the collector, such as Authorization=Bearer TOKEN; repeatable. It is a secret.").PlaceHolder("NAME=VALUE").StringsVar(&t.Headers)
	add("log.format", "Format of the log: logfmt or json.").Default("logfmt").StringVar(&f.logFormat)
}

func text(n int) string { return strconv.Itoa(n) }

// Options returns what the flags were parsed to, with what the files have in addition. It logs to w.
func (f *Flags) Options(v *Values, w io.Writer) (adapter.Options, error) {
	o := f.options
	lists := v.file.lists
	o.Graphite.Trees, o.RetentionRules, o.FillRules = lists.Trees, lists.Retention, lists.Fill
	o.PromConfig, o.Lists = lists.Prom, v.file.shown
	if f.future && !f.carbonFuture {
		o.Carbon.MaxFuture = o.Prometheus.Write.Future
	}
	if f.future && !f.opentsdbFuture {
		o.OpenTSDB.MaxFuture = o.Prometheus.Write.Future
	}
	if err := f.setLogger(&o, w); err != nil {
		return o, v.InFile(err)
	}
	v.log(o.Logger, o.OpenTSDB.AllowEdits)
	o.Flags, o.Settings = f.values(v.secrets()), f.values(nil)
	o.Several, o.NotInFile = f.several()
	return o, nil
}

// setLogger sets what writes structured lines in logfmt or JSON, and its level.
func (f *Flags) setLogger(o *adapter.Options, w io.Writer) error {
	if err := o.LogLevel.UnmarshalText([]byte(f.logLevel)); err != nil {
		return fmt.Errorf("--log.level=%s: want debug, info, warn or error", f.logLevel)
	}
	o.Level = &slog.LevelVar{}
	o.Level.Set(o.LogLevel)
	level := &slog.HandlerOptions{Level: o.Level}
	switch f.logFormat {
	case "logfmt":
		o.Logger = slog.New(slog.NewTextHandler(w, level))
	case "json":
		o.Logger = slog.New(slog.NewJSONHandler(w, level))
	default:
		return fmt.Errorf("--log.format=%s: want logfmt or json", f.logFormat)
	}
	return nil
}

// values returns all flags with their values, for the status page of the API. The values of secrets
// are not shown.
func (f *Flags) values(secrets map[string]bool) map[string]string {
	all := map[string]string{}
	for _, flag := range f.app.Model().Flags {
		switch {
		case flag.Value == nil:
		case secrets[flag.Name] && flag.Value.String() != "":
			all[flag.Name] = adapter.Hidden
		default:
			all[flag.Name] = flag.Value.String()
		}
	}
	return all
}

// several returns the values of flags that may be given several times, and the flags that are no keys of the
// configuration file.
func (f *Flags) several() (several map[string][]string, notInFile []string) {
	several = map[string][]string{}
	for _, flag := range f.app.Model().Flags {
		if !IsSetting(flag) {
			notInFile = append(notInFile, flag.Name)
		}
		if values, ok := flag.Value.(interface{ Get() any }); ok && Cumulative(f.app.GetFlag(flag.Name)) {
			if list, ok := values.Get().(*[]string); ok {
				several[flag.Name] = slices.Clone(*list)
			}
		}
	}
	return several, notInFile
}

// names returns the names of the flags.
func (f *Flags) names() []string {
	var names []string
	for _, flag := range f.app.Model().Flags {
		names = append(names, flag.Name)
	}
	return names
}

// PlainBools writes --flag=true and --flag=false, as a configuration file has them, as --flag and --no-flag.
func PlainBools(app *kingpin.Application, args []string) ([]string, error) {
	args = slices.Clone(args)
	for i, arg := range args {
		name, value, ok := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		flag := app.GetFlag(name)
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
