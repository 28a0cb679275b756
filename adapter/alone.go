package adapter

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// aloneGrace is how long a command may take to put into the tables what it has in memory. What it
// does not put there stays in the log.
const aloneGrace = time.Hour

// alone returns the options for a command that has the tables open itself: no ports, nothing that
// passes over the tables in the background, and a log of what is wrong only.
func (o Options) alone() Options {
	o.Command = true
	o.ListenAddress, o.OTLPGRPCAddress, o.OpenTSDB.ListenAddress, o.WebConfigFile = "", "", "", ""
	o.Carbon.Forward.Addresses = nil
	o.Carbon.ListenAddress, o.Carbon.PickleAddress, o.Carbon.ProtobufAddress = "", "", ""
	o.Retention, o.RetentionRules, o.HBaseCompactAfter = 0, nil, 0
	o.ShutdownGrace = aloneGrace
	o.Logger = slog.New(warnings{o.Logger.Handler()})
	return o
}

// warnings hands on what is worth a warning.
type warnings struct{ slog.Handler }

// Enabled implements slog.Handler.
func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && w.Handler.Enabled(ctx, level)
}

// RunAlone opens tables that exist, calls use when they can be read, and closes them. An embedded store
// that another process has open is a pebble.ErrInUse.
func (o Options) RunAlone(ctx context.Context, use func(ctx context.Context, a *Adapter) error) error {
	if o.Engine == EngineEmbedded {
		if err := o.WantStore(); err != nil {
			return err
		}
	}
	return o.RunAloneOrNew(ctx, use)
}

// RunAloneOrNew is RunAlone of commands that bring points: it makes an embedded store that does not exist.
func (o Options) RunAloneOrNew(ctx context.Context, use func(ctx context.Context, a *Adapter) error) error {
	if o.Engine == EngineMemory {
		return errors.New("--storage.engine=memory keeps nothing that another process could open: give the --adapter-url of the one that runs")
	}
	a, err := New(o.alone())
	if err != nil {
		return err
	}
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
	if err = a.awaitReady(useCtx); err == nil {
		err = use(useCtx, a)
	}
	stop()
	if runErr := <-ended; runErr != nil {
		return runErr
	}
	return err
}

// awaitReady returns when the tables can be read.
func (a *Adapter) awaitReady(ctx context.Context) error {
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
