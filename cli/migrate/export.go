package migrate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/adapter/admin"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/cli/session"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
	"github.com/tsdbridge/tsdbridge/migrate/tsdtext"
	"github.com/tsdbridge/tsdbridge/opentsdb/query"
	"github.com/tsdbridge/tsdbridge/storage"
)

// ExportOptions are the flags of "export".
type ExportOptions struct {
	URL        string   // --adapter-url: of the adapter that exports; empty: the tables are opened, or this machine's adapter exports
	With       []string // --with: what is written in addition to points
	Match      []string // --match: series; none: all
	Start, End string   // --start, --end: in a TSD's grammar
	Output     string   // --output: file, or directory; empty: the standard output
	Gzip       bool     // --gzip
	Format     string   // --format: ExportText or ExportRaw
	Parallel   int      // --parallel: files at once
	State      string   // --state: file that keeps how far the export is
	Patience   time.Duration
	Every      time.Duration // --progress: between two lines; 0: on a terminal, each second

	start, end int64           // milliseconds, after Validate
	unit       string          // of the ranges that are reported; empty: metrics
	reporter   *admin.Reporter // to the adapter that exports; nil: the tables are opened
}

// What is exported: lines of points that an import takes, or rows of the table for people.
const (
	ExportText = "import"
	ExportRaw  = "raw"
)

// ExportExtras returns what can be written in addition to points.
func ExportExtras() []string {
	return []string{tsdtext.WithHistograms, tsdtext.WithAnnotations, tsdtext.WithRollups}
}

// DefaultExportOptions returns the options without a flag.
func DefaultExportOptions() ExportOptions {
	return ExportOptions{Parallel: 4, Format: ExportText, Patience: pipeline.DefaultImportOptions().Patience}
}

// maxExportFiles bounds --parallel.
const maxExportFiles = 256

// Validate names the flag that cannot work.
func (e *ExportOptions) Validate(now time.Time) (err error) {
	switch {
	case e.Parallel < 1 || e.Parallel > maxExportFiles:
		return fmt.Errorf("--parallel=%d: must be 1 to %d", e.Parallel, maxExportFiles)
	case e.Patience < 0:
		return fmt.Errorf("--patience=%v: must not be negative", e.Patience)
	case e.Every < 0:
		return fmt.Errorf("--progress=%v: must not be negative", e.Every)
	case e.Format == ExportRaw && len(e.With) > 0:
		return errors.New("--format=raw: it prints all cells, --with is for the other format")
	case e.Format == ExportRaw && (e.URL != "" || e.Output != "" || e.State != "" || e.Gzip):
		return errors.New("--format=raw: it reads tables that no adapter has open, and writes to the standard output")
	case e.State != "" && e.Output == "":
		return errors.New("--state: it needs --output, since what went to the standard output cannot be gone on with")
	}
	for _, match := range e.Match {
		if _, err := query.ParseMatch(match); err != nil {
			return fmt.Errorf("--match=%s: %w", match, err)
		}
	}
	e.start, e.end = 0, storage.MaxTime
	if e.Start != "" {
		if e.start, err = query.ParseTime(e.Start, time.UTC, now); err != nil {
			return fmt.Errorf("--start=%s: %w", e.Start, err)
		}
	}
	if e.End != "" {
		if e.end, err = query.ParseTime(e.End, time.UTC, now); err != nil {
			return fmt.Errorf("--end=%s: %w", e.End, err)
		}
	}
	if e.start > e.end {
		return fmt.Errorf("--end=%s: it is before --start=%s", e.End, e.Start)
	}
	return nil
}

// named names what is exported, for the state.
func (e *ExportOptions) named(target string) string {
	text := "all points"
	if len(e.Match) > 0 {
		text = strings.Join(e.Match, " ")
	}
	if len(e.With) > 0 {
		text += ", " + strings.Join(e.With, ", ")
	}
	if e.Start != "" {
		text += " from " + e.Start
	}
	if e.End != "" {
		text += " to " + e.End
	}
	return text + " in " + target
}

// files returns the names of the files, and makes their directory.
func (e *ExportOptions) files() ([]string, error) {
	info, err := os.Stat(e.Output)
	switch {
	case e.Output == "":
		return nil, nil
	case err == nil && info.IsDir():
	case strings.HasSuffix(e.Output, "/"):
		if err := os.MkdirAll(e.Output, 0o755); err != nil { //nolint:gosec // no secret is in it
			return nil, err
		}
	default:
		return []string{e.Output}, nil
	}
	var names []string
	for n := range e.Parallel {
		name := fmt.Sprintf("points-%04d.txt", n+1)
		if e.Gzip {
			name += ".gz"
		}
		names = append(names, filepath.Join(e.Output, name))
	}
	return names, nil
}

// ExportOpenTSDB writes points of the tables as OpenTSDB's import text.
func ExportOpenTSDB(ctx context.Context, o adapter.Options, e ExportOptions, console command.Console) error {
	if e.Format == ExportRaw {
		return e.raw(ctx, o, console.Out)
	}
	return session.Place{Options: o, URL: e.URL}.Read(ctx, func(ctx context.Context, t session.Tables) error {
		e.reporter = t.Reporter("export opentsdb")
		return e.run(e.reporter.With(ctx), console, func(start, end int64) (session.Export, error) {
			return t.Export(tsdtext.ExportQuery{Match: e.Match, With: e.With, Start: start, End: end})
		}, t.Name())
	})
}

// progress returns what is done with the progress of an export, each second: it is printed if it is shown, and reported to the adapter.
func (e *ExportOptions) progress(ctx context.Context, line *command.StatusLine, shown bool) func(pipeline.ExportProgress) {
	var printed time.Duration
	return func(p pipeline.ExportProgress) {
		if shown && p.Took-printed >= e.Every {
			printed = p.Took
			line.Print(p.String())
		}
		e.reporter.Report(ctx, e.reported(p))
	}
}

// run exports the points of a source.
func (e *ExportOptions) run(ctx context.Context, console command.Console, source func(start, end int64) (session.Export, error), target string) error {
	files, err := e.files()
	if err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	line := &command.StatusLine{Console: console}
	var from session.Export
	open := func(start, end int64) (_ pipeline.Source, err error) {
		from, err = source(start, end)
		return from, err
	}
	x := pipeline.ExportOptions{
		Source: open, Named: e.named(target), Start: e.start, End: e.end, Files: files, Stdout: console.Out, State: e.State,
		Gzip: e.Gzip || strings.HasSuffix(e.Output, ".gz"), Patience: e.Patience, Every: time.Second, Now: time.Now,
		Failed: waiting(line),
	}
	x.Progress = e.progress(ctx, line, console.Terminal && len(files) > 0 || e.Every > 0)
	done, err := pipeline.Export(ctx, x)
	e.reporter.End(ctx, e.reported(done), err)
	line.Close()
	took := done.Took.Round(time.Millisecond)
	if err != nil {
		fmt.Fprintf(console.Err, "%d points were exported in %v; %s\n", done.Points, took, pipeline.ExportHint(x))
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		return err
	}
	if len(files) > 0 {
		fmt.Fprintf(console.Out, "%d points exported in %v, %.0f/s", done.Points, took, done.Rate())
		if done.Before > 0 {
			fmt.Fprintf(console.Out, "; %d before", done.Before)
		}
		fmt.Fprintln(console.Out)
	}
	switch behind, err := from.Behind(ctx); {
	case err != nil:
		fmt.Fprintf(console.Err, "whether rolled up values were left behind is not known: %v\n", err)
	case behind != "":
		fmt.Fprintln(console.Err, behind)
	}
	if done.LeftOut > 0 {
		reason := ""
		if done.Reason != "" {
			reason = "; the first reason: " + done.Reason
		}
		return &command.ExitError{Code: command.ExitIncomplete, Err: fmt.Errorf("%d points were left out%s", done.LeftOut, reason)}
	}
	return nil
}

// exportOpenTSDB defines "export opentsdb".
func exportOpenTSDB(s *command.Set, all *kingpin.CmdClause) {
	e := DefaultExportOptions()
	c := s.Add(all, "opentsdb", command.With(ExportOpenTSDB, &e), "Write OpenTSDB's import text: lines of \"metric timestamp value tag=value ...\".")
	c.Flag("format", "What is written: import (text), or raw: the cells of the rows, as \"tsdb scan\" prints them.").Default(e.Format).EnumVar(&e.Format, ExportText, ExportRaw)
	c.Flag("match", "Series: metric{tag=filter,...} as in m= of a query; * is any metric. It may be repeated. Default: all series.").PlaceHolder("SERIES").StringsVar(&e.Match)
	c.Flag("with", "What is written in addition to points: histograms, annotations (the global ones too, without --match), rollups (the values of --storage.rollups). A TSD's import does not take these lines. It may be repeated.").EnumsVar(&e.With, ExportExtras()...)
	c.Flag("start", "Time of the first points, as in a query of OpenTSDB: 2026/01/31-12:00:00 (UTC), 1356998400, 30d-ago.").PlaceHolder("TIME").StringVar(&e.Start)
	c.Flag("end", "Time of the last points.").PlaceHolder("TIME").StringVar(&e.End)
	c.Flag("output", "File, or a directory that gets a numbered file for each of --parallel: one that exists, or a name with a slash at its end. Default: the standard output.").PlaceHolder("PATH").StringVar(&e.Output)
	c.Flag("gzip", "Compress with gzip, as if the name of the file ended with .gz.").BoolVar(&e.Gzip)
	c.Flag("parallel", "Files that are written at once into a directory.").Default(strconv.Itoa(e.Parallel)).IntVar(&e.Parallel)
	exportFlags(c, &e.URL, &e.State, &e.Patience, &e.Every)
	c.Action(func(*kingpin.ParseContext) error { return e.Validate(time.Now()) })
}
