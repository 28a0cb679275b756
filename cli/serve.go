package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/activation"
	"go.opentelemetry.io/otel"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/cli/settings"
	"github.com/tsdbridge/tsdbridge/internal/netserver"
	"github.com/tsdbridge/tsdbridge/internal/systemd"
	"github.com/tsdbridge/tsdbridge/internal/tracing"
)

// serve runs the adapter. Its error is in its log. A signal ends it well.
func (p *parser) serve(ctx context.Context, o adapter.Options, _ command.Console) error {
	err := serve(ctx, p.args, o)
	if err == nil || errors.Is(err, context.Canceled) {
		return nil
	}
	o.Logger.Error("exiting: fix the error and restart", "err", err)
	return &command.ExitError{Code: 1}
}

func serve(ctx context.Context, args []string, o adapter.Options) error {
	reloads := make(chan os.Signal, 1)
	signal.Notify(reloads, syscall.SIGHUP)
	defer signal.Stop(reloads)
	o.Reloads = reloads
	o.Configure = func() (adapter.Options, error) {
		from := settings.Source{Environment: settings.Variables(os.Environ()), Reload: true}
		c, err := parseCommandIn(from, args, io.Discard, io.Discard)
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
