// Package migrate has the commands that move points into the store, out of it, and from one store to another: imports,
// exports and "copy". Each opens the tables, or asks the adapter that has them open.
package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/adapter/admin"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/cli/session"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
)

// ImportOptions are the flags of "import".
type ImportOptions struct {
	Files    []string      // arguments; none: the standard input
	URL      string        // --adapter-url: of the adapter that imports; empty: the tables are opened, or this machine's adapter imports
	Skip     bool          // --skip-errors
	Parallel int           // --parallel: files at once
	State    string        // --state: file that keeps what is durable
	Patience time.Duration // --patience: how long a failing store is asked again
	Every    time.Duration // --progress: between two lines; 0: on a terminal, each second

	Verify string // --verify: what is compared afterwards; empty: nothing

	block int // bytes of the longest line; 0: the default

	reporter *admin.Reporter // to the adapter that imports; nil: the tables are opened
	unit     string          // of the pieces that are reported; empty: files
}

// DefaultImportOptions returns the options without a flag.
func DefaultImportOptions() ImportOptions {
	d := pipeline.DefaultImportOptions()
	return ImportOptions{Parallel: d.Parallel, Patience: d.Patience, Verify: VerifyNone}
}

// Validate names the flag that cannot work.
func (i ImportOptions) Validate() error {
	switch {
	case i.Parallel < 1:
		return fmt.Errorf("--parallel=%d: must be above 0", i.Parallel)
	case i.Patience < 0:
		return fmt.Errorf("--patience=%v: must not be negative", i.Patience)
	case i.Every < 0:
		return fmt.Errorf("--progress=%v: must not be negative", i.Every)
	}
	return nil
}

// ImportOpenTSDB imports files of OpenTSDB's import text into the tables, or into the adapter that has
// them open.
func ImportOpenTSDB(ctx context.Context, o adapter.Options, i ImportOptions, console command.Console) error {
	if len(i.Files) == 0 {
		i.Files = []string{pipeline.Stdin}
	}
	if err := i.readable(i.Files); err != nil {
		return err
	}
	return session.Place{Options: o, URL: i.URL}.Write(ctx, func(ctx context.Context, t session.Tables) error {
		i.reporter = t.Reporter("import opentsdb")
		done, err := i.run(i.reporter.With(ctx), console, t.Text(), t.Name())
		i.reporter.End(ctx, importProgress(done), failure(err))
		return err
	})
}

// progress returns what handles the progress of an import, each second: it is printed and reported to the adapter, or neither.
func (i ImportOptions) progress(ctx context.Context, line *command.StatusLine) func(pipeline.Progress) {
	shown := line.Console.Terminal || i.Every > 0
	if !shown && i.reporter == nil {
		return nil
	}
	var printed time.Duration
	return func(p pipeline.Progress) {
		if shown && p.Took-printed >= i.Every {
			printed = p.Took
			line.Print(p.String())
		}
		i.reporter.Report(ctx, i.reported(p))
	}
}

// run imports the files by store.
func (i ImportOptions) run(ctx context.Context, console command.Console, store pipeline.Store, target string) (pipeline.Progress, error) {
	line := &command.StatusLine{Console: console}
	to := pipeline.DefaultImportOptions()
	to.Files, to.Stdin, to.Store, to.Skip, to.Parallel, to.State, to.Target = i.Files, console.In, store, i.Skip, i.Parallel, i.State, target
	to.Patience, to.BlockBytes = i.Patience, cmp.Or(i.block, to.BlockBytes)
	to.Bad = pipeline.Lines(line)
	to.Failed = waiting(line)
	to.Progress = i.progress(ctx, line)
	done, err := pipeline.Import(ctx, to)
	line.Close()
	took := done.Took.Round(time.Millisecond)
	if err != nil {
		fmt.Fprintf(console.Err, "%d points were imported in %v; %s\n", done.Points, took, pipeline.Hint(to))
		if ctx.Err() != nil {
			return done, errors.New("interrupted")
		}
		return done, err
	}
	fmt.Fprintf(console.Out, "%d points imported in %v, %.0f/s", done.Points, took, done.Rate())
	if done.Before > 0 {
		fmt.Fprintf(console.Out, "; %d before", done.Before)
	}
	fmt.Fprintln(console.Out)
	if done.Bad > 0 {
		return done, &command.ExitError{Code: command.ExitIncomplete, Err: fmt.Errorf("%d bad lines were skipped", done.Bad)}
	}
	return done, nil
}

// importOpenTSDB defines "import opentsdb".
func importOpenTSDB(s *command.Set, all *kingpin.CmdClause) {
	i := DefaultImportOptions()
	c := s.Add(all, "opentsdb", command.With(ImportOpenTSDB, &i), "Import OpenTSDB's text: lines of \"metric timestamp value tag=value ...\", as files, compressed with gzip or not, or from the standard input.")
	filesArgument(c, &i.Files)
	importFlags(c, &i, "Files that are imported at once. The lines of one file are stored in their order.")
	c.Flag("skip-errors", "Print bad lines and go on. Otherwise the first one ends the import.").BoolVar(&i.Skip)
	c.Action(func(*kingpin.ParseContext) error { return i.Validate() })
}
