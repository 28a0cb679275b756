// Package cli is the command line: its flags, the configuration file and the environment that set
// them, help, completion and the manual page, and what each command does.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/activation"
	"go.opentelemetry.io/otel"
	"golang.org/x/term"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/cli/ask"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/cli/maintain"
	"github.com/tsdbridge/tsdbridge/cli/migrate"
	"github.com/tsdbridge/tsdbridge/cli/rules"
	"github.com/tsdbridge/tsdbridge/internal/netserver"
	"github.com/tsdbridge/tsdbridge/internal/systemd"
	"github.com/tsdbridge/tsdbridge/internal/tracing"
)

// Run executes the program and returns its exit code: 0 for success, 1 for an error while running,
// 2 for an invalid command line or configuration. Some commands have more; see docs/flags.md.
func Run(args []string, stdout, stderr io.Writer) int {
	c, err := parseCommand(args, stdout, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "tsdbridge:", err)
		return 2
	}
	if c.name == "" { // help was printed, or that there is no help of something
		return c.exit
	}
	ctx, stop := untilSignal(context.Background())
	defer stop()
	switch c.name {
	case commandVersion:
		fmt.Fprintln(stdout, "tsdbridge", adapter.Version())
		return 0
	case commandCompletion:
		err = printCompletion(stdout, c.shell)
	case commandMan:
		err = manPage(stdout, newParser(io.Discard).app.Model())
	case commandHealth:
		if err = ask.Health(ctx, c.options, c.health, stdout); err != nil {
			fmt.Fprintln(stderr, "tsdbridge health:", err)
			return 1
		}
		return 0
	case commandTablesCreate:
		err = adapter.CreateTables(ctx, c.options, c.tables, stdout)
	case commandTablesPack:
		err = maintain.CompactTables(ctx, c.options, c.store, stdout)
	case commandBackup:
		err = maintain.Backup(ctx, c.options, c.store, stdout)
	case commandVerify:
		err = maintain.VerifyBackup(ctx, c.options, c.store, stdout)
	case commandCheck:
		err = adapter.CheckStore(ctx, c.options, c.fixStore, stdout)
	case commandRestore:
		err = maintain.Restore(ctx, c.options, c.store, stdout)
	case commandTreeSync, commandUIDTreeSync:
		err = maintain.SyncTrees(ctx, c.options, c.trees.sync, stdout)
	case commandTreeShow:
		err = maintain.ShowTree(ctx, c.options, c.trees.sync.URL, c.trees.tree, c.trees.path, c.trees.depth, stdout)
	case commandTreeTest:
		err = maintain.TestTree(ctx, c.options, c.trees.sync.URL, c.trees.name, c.trees.names, stdout)
	case commandImportOpenTSDB:
		err = migrate.ImportOpenTSDB(ctx, c.options, c.imports, console(stdout, stderr))
	case commandImportWhisper, commandImportCeres:
		err = migrate.ImportFiles(ctx, c.options, c.importFiles, console(stdout, stderr))
	case commandImportBlocks:
		err = migrate.ImportBlocks(ctx, c.options, c.importBlocks, console(stdout, stderr))
	case commandImportText:
		err = migrate.ImportText(ctx, c.options, c.importText, console(stdout, stderr))
	case commandImportLines:
		err = migrate.ImportLines(ctx, c.options, c.importLines, console(stdout, stderr))
	case commandImportNative:
		err = migrate.ImportNative(ctx, c.options, c.importNative, console(stdout, stderr))
	case commandImportFetch:
		err = migrate.ImportFetch(ctx, c.options, c.importFetch, console(stdout, stderr))
	case commandExportLines:
		err = migrate.ExportLines(ctx, c.options, c.exportLines, console(stdout, stderr))
	case commandExportText:
		err = migrate.ExportOpenMetrics(ctx, c.options, c.exportText, console(stdout, stderr))
	case commandExportBlocks:
		err = migrate.ExportBlocks(ctx, c.options, c.exportBlocks, console(stdout, stderr))
	case commandExportParquet:
		err = migrate.ExportParquet(ctx, c.options, c.exportParquet, console(stdout, stderr))
	case commandExportOpenTSDB:
		err = migrate.ExportOpenTSDB(ctx, c.options, c.exports, console(stdout, stderr))
	case commandExportWhisper:
		err = migrate.ExportWhisper(ctx, c.options, c.exportFiles, console(stdout, stderr))
	case commandCopy:
		err = copyStores(ctx, c, console(stdout, stderr))
	case commandFsck:
		err = maintain.Fsck(ctx, c.options, c.fsck, console(stdout, stderr))
	case commandMetaSync, commandUIDMetaSync:
		err = maintain.SyncMeta(ctx, c.options, c.metaSync, console(stdout, stderr))
	case commandQuery:
		err = ask.Query(ctx, c.options, c.ask, console(stdout, stderr))
	case commandSearchLookup:
		err = ask.Lookup(ctx, c.options, c.ask, console(stdout, stderr))
	case commandRulesBackfill:
		err = rules.Fill(ctx, c.options, c.backfill, console(stdout, stderr))
	case commandCheckRules:
		return checkRules(c, stdout, stderr)
	case commandTestRules:
		err = rules.Test(ctx, c.options, c.ruleTests, console(stdout, stderr))
	case commandCheckConfig:
		return checkConfig(c.checked, args, stdout, stderr)
	case commandCheckWebConfig:
		return checkWebConfig(c.checked, stdout, stderr)
	case commandCheckTSD:
		err = ask.CheckTSD(ctx, c.checks, console(stdout, stderr))
	default:
		if c.uid.Command != "" {
			err = maintain.UIDs(ctx, c.options, c.uid, console(stdout, stderr))
		} else {
			err = serve(ctx, args, c.options)
		}
	}
	return exitCode(&c, err, stderr)
}

// exitCode returns the exit code for how a command ended, and tells the error: the adapter in its log, other commands
// to who called them. A signal ends the adapter well, and other commands before they are done.
func exitCode(c *commandLine, err error, stderr io.Writer) int {
	if exit, ok := errors.AsType[*command.ExitError](err); ok {
		if exit.Err != nil {
			fmt.Fprintln(stderr, "tsdbridge:", exit.Err)
		}
		return exit.Code
	}
	switch {
	case err == nil || c.name == commandServe && errors.Is(err, context.Canceled):
		return 0
	case c.name == commandServe:
		c.options.Logger.Error("tsdbridge ends; mend what err names, and start it again", "err", err)
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(stderr, "tsdbridge: interrupted")
	default:
		fmt.Fprintln(stderr, "tsdbridge:", err)
	}
	return 1
}

// console returns what a command reads and prints.
func console(stdout, stderr io.Writer) command.Console {
	f, ok := stderr.(*os.File)
	return command.Console{In: os.Stdin, Out: stdout, Err: stderr, Terminal: ok && term.IsTerminal(int(f.Fd()))}
}

func serve(ctx context.Context, args []string, o adapter.Options) error {
	reloads := make(chan os.Signal, 1)
	signal.Notify(reloads, syscall.SIGHUP)
	defer signal.Stop(reloads)
	o.Reloads = reloads
	o.Configure = func() (adapter.Options, error) {
		c, err := parseCommand(args, io.Discard, io.Discard)
		return c.options, err
	}
	tracer, err := startTracing(ctx, &o)
	if err != nil {
		return err
	}
	defer endTracing(ctx, tracer)
	manager, err := systemd.New()
	if err != nil {
		return err
	}
	if o.Sockets, err = netserver.NewSockets(activation.Files(true)); err != nil {
		return err
	}
	a, err := adapter.New(o)
	if err != nil {
		return errors.Join(err, o.Sockets.Close())
	}
	o.Logger.Info("tsdbridge starts", "version", adapter.Version(), "engine", o.Engine)
	defer manager.Watch(ctx, systemd.Process{Starting: a.Starting, StopTime: a.StopTime(), Logger: o.Logger})()
	return a.Run(ctx)
}

// traceGrace is how long the last spans may take when the process ends.
const traceGrace = 3 * time.Second

// startTracing makes the tracer of o, which is also that of Prometheus' engine: it traces the steps
// of each query.
func startTracing(ctx context.Context, o *adapter.Options) (*tracing.Tracer, error) {
	o.Tracing.Version, o.Tracing.Logger = adapter.Version(), o.Logger
	tracer, err := tracing.New(ctx, o.Tracing)
	if err != nil {
		return nil, err
	}
	o.Tracer = tracer
	otel.SetTracerProvider(tracer.Provider())
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {})) // the tracer logs what fails
	return tracer, nil
}

// endTracing sends the last spans.
func endTracing(ctx context.Context, t *tracing.Tracer) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), traceGrace)
	defer cancel()
	_ = t.Close(ctx) // failures are logged where they happen
}

// setLogger sets what writes structured lines in logfmt or JSON, and its level.
func (c *commandLine) setLogger(w io.Writer, level, format string) error {
	if err := c.options.LogLevel.UnmarshalText([]byte(level)); err != nil {
		return fmt.Errorf("--log.level=%s: want debug, info, warn or error", level)
	}
	c.options.Level = &slog.LevelVar{}
	c.options.Level.Set(c.options.LogLevel)
	o := &slog.HandlerOptions{Level: c.options.Level}
	switch format {
	case "logfmt":
		c.options.Logger = slog.New(slog.NewTextHandler(w, o))
	case "json":
		c.options.Logger = slog.New(slog.NewJSONHandler(w, o))
	default:
		return fmt.Errorf("--log.format=%s: want logfmt or json", format)
	}
	return nil
}
