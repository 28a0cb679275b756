package migrate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/adapter/admin"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/cli/session"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
)

// A columnsTarget is where labelled samples go.
type columnsTarget struct {
	name  string // for the state
	store columnsStore
	read  admin.Samples // what is stored
}

// intoColumns calls use with the target of an import: the tables, or the adapter that has them open.
func intoColumns(ctx context.Context, o adapter.Options, i *ImportOptions, kind string, use func(ctx context.Context, t columnsTarget) error) error {
	return session.Place{Options: o, URL: i.URL}.Write(ctx, func(ctx context.Context, t session.Tables) error {
		i.reporter = t.Reporter(kind)
		return use(i.reporter.With(ctx), columnsTarget{t.Name(), t.Columns(), t.Samples()})
	})
}

// An importResult is how an import of pieces ended.
type importResult struct {
	done    pipeline.Progress
	err     error
	damaged int // parts that could not be read at all
	storing *storing
}

// end prints how an import ended, and compares if that is wanted.
func (i *ImportOptions) end(ctx context.Context, console command.Console, x importResult, t columnsTarget, again *reread) error {
	return i.compare(ctx, console, x.done, i.printEnd(ctx, console, x), t, again)
}

// printEnd prints how an import ended, and returns what was left out.
func (i *ImportOptions) printEnd(ctx context.Context, console command.Console, x importResult) error {
	took := x.done.Took.Round(time.Millisecond)
	if x.err != nil {
		fmt.Fprintf(console.Err, "%d samples were imported in %v; %s\n", x.done.Points, took, pipeline.Hint(pipeline.ImportOptions{State: i.State}))
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		return x.err
	}
	fmt.Fprintf(console.Out, "%d samples imported in %v, %.0f/s", x.done.Points, took, x.done.Rate())
	if x.done.Before > 0 {
		fmt.Fprintf(console.Out, "; %d before", x.done.Before)
	}
	fmt.Fprintln(console.Out)
	var left []string
	if n := x.damaged + int(x.done.Skipped); n > 0 {
		left = append(left, fmt.Sprintf("%d parts could not be read, or not whole", n))
	}
	if n := x.storing.refusedSeries.Load(); n > 0 {
		left = append(left, fmt.Sprintf("%d series with %d samples were refused", n, x.storing.refusedSamples.Load()))
	}
	return incomplete(left...)
}

// incomplete is the error of a command that came to its end but left something out; nil: nothing.
func incomplete(left ...string) error {
	if len(left) == 0 {
		return nil
	}
	return &command.ExitError{Code: command.ExitIncomplete, Err: errors.New(strings.Join(left, "; "))}
}

// failure is the error of a command that did not come to its end; nil: it did.
func failure(err error) error {
	if exit, ok := errors.AsType[*command.ExitError](err); ok && exit.Code == command.ExitIncomplete {
		return nil
	}
	return err
}
