package session

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/adapter/admin"
	"github.com/tsdbridge/tsdbridge/adapter/tables"
	"github.com/tsdbridge/tsdbridge/migrate/graphitefiles"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
	"github.com/tsdbridge/tsdbridge/migrate/tsdtext"
	"github.com/tsdbridge/tsdbridge/opentsdb/client"
	"github.com/tsdbridge/tsdbridge/prometheus/columns"
)

// local are tables that this process has open.
type local struct {
	adapter *adapter.Adapter
	name    string
}

func (l local) Name() string                    { return l.name }
func (l local) AdapterURL() string              { return "" }
func (l local) Reporter(string) *admin.Reporter { return nil }
func (l local) Text() pipeline.Store            { return l.adapter.Importer().Store }

func (l local) Columns() func(context.Context, *columns.Batch) error {
	return l.adapter.Appendable().Store
}

func (l local) Parts() func(context.Context, *graphitefiles.Part) error {
	return l.adapter.FileImporter().Store
}
func (l local) Samples() admin.Samples          { return l.adapter.Samples() }
func (l local) WhisperFiles() admin.FilesSource { return l.adapter.WhisperFiles }

func (l local) Copy() Copy { return l.adapter.LocalCopy() }

func (l local) Export(q tsdtext.ExportQuery) (Export, error) {
	x, err := tsdtext.NewExporter(l.adapter.ExportOptions(), q)
	return finalSource{x}, err
}

func (l local) UIDs(ctx context.Context, u admin.UIDRequest, printLine func(string) error) (int, error) {
	return l.adapter.UIDs().Run(ctx, u, printLine)
}

func (l local) OpenTSDB() client.Client {
	return client.Client{URL: "http://tables", HTTP: &http.Client{Transport: client.HandlerTransport{Handler: l.adapter.OpenTSDB()}}}
}

// finalSource marks errors that a retry does not help against.
type finalSource struct{ Export }

// Ranges implements pipeline.Source.
func (f finalSource) Ranges(ctx context.Context, after pipeline.Range) ([]pipeline.Range, error) {
	ranges, err := f.Export.Ranges(ctx, after)
	return ranges, admin.FinalExport(err)
}

// Read implements pipeline.Source.
func (f finalSource) Read(ctx context.Context, r pipeline.Range, give func(pipeline.Block) error) error {
	return admin.FinalExport(f.Export.Read(ctx, r, give))
}

// ReadLocal opens tables that exist, calls use when they can be read, and closes them. An embedded store
// that another process has open is a pebble.ErrInUse.
func ReadLocal(ctx context.Context, o adapter.Options, use func(context.Context, *adapter.Adapter) error) error {
	if o.Engine == tables.EngineEmbedded {
		if err := o.WantStore(); err != nil {
			return err
		}
	}
	return WriteLocal(ctx, o, use)
}

// WriteLocal is ReadLocal of commands that bring points: it makes an embedded store that does not exist.
func WriteLocal(ctx context.Context, o adapter.Options, use func(context.Context, *adapter.Adapter) error) error {
	if o.Engine == tables.EngineMemory {
		return errors.New("--storage.engine=memory keeps nothing that another process could open: give the --adapter-url of the one that runs")
	}
	a, err := adapter.New(forCommand(o))
	if err != nil {
		return err
	}
	return Run(ctx, a, use)
}

// Run runs an adapter, calls use when the tables can be read, and closes them.
func Run(ctx context.Context, a *adapter.Adapter, use func(context.Context, *adapter.Adapter) error) error {
	runCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	useCtx, abandon := context.WithCancelCause(ctx)
	defer abandon(nil)
	ended := make(chan error, 1)
	go func() {
		err := a.Run(runCtx)
		if err != nil {
			abandon(err)
		}
		ended <- err
	}()
	err := awaitReady(useCtx, a)
	if err == nil {
		err = use(useCtx, a)
	}
	stop()
	if runErr := <-ended; runErr != nil {
		return runErr
	}
	return err
}

// awaitReady returns when the tables can be read.
func awaitReady(ctx context.Context, a *adapter.Adapter) error {
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		if err := a.Ready(ctx); err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		select {
		case <-look.C:
		case <-ctx.Done():
		}
	}
}

// commandGrace is how long a command may take to put into the tables what it has in memory. What it
// does not put there stays in the log.
const commandGrace = time.Hour

// forCommand returns the options of a command that opens the tables itself: no ports, nothing that
// passes over the tables in the background, and a log of what is wrong only.
func forCommand(o adapter.Options) adapter.Options {
	o.Command = true
	o.ListenAddress, o.OTLPGRPCAddress, o.OpenTSDB.ListenAddress, o.WebConfigFile = "", "", "", ""
	o.Carbon.Forward.Addresses = nil
	o.Carbon.ListenAddress, o.Carbon.PickleAddress, o.Carbon.ProtobufAddress = "", "", ""
	o.Retention, o.RetentionRules, o.HBaseCompactAfter = 0, nil, 0
	o.ShutdownGrace = commandGrace
	o.Logger = slog.New(warnings{o.Logger.Handler()})
	return o
}

// warnings passes on warnings and errors.
type warnings struct{ slog.Handler }

// Enabled implements slog.Handler.
func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && w.Handler.Enabled(ctx, level)
}
