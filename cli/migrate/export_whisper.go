package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/prometheus/tsdb/fileutil"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/adapter/admin"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/cli/session"
	"github.com/tsdbridge/tsdbridge/migrate/graphitefiles"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
)

// ExportFilesOptions are the flags of exports of directories of files.
type ExportFilesOptions struct {
	graphitefiles.ExportQuery // --match, --retentions, --tagged-by-name

	Dir      string        // argument
	URL      string        // --adapter-url
	State    string        // --state: file that keeps how far the export is
	Patience time.Duration // --patience: how long a failing store is asked again
	Every    time.Duration // --progress

	reporter *admin.Reporter // to the adapter that exports; nil: the tables are opened
}

// DefaultExportFilesOptions returns the options without a flag.
func DefaultExportFilesOptions() ExportFilesOptions {
	return ExportFilesOptions{Patience: DefaultExportOptions().Patience}
}

// Validate names the flag that cannot work.
func (e ExportFilesOptions) Validate() error {
	if err := e.ExportQuery.Validate(); err != nil {
		return fmt.Errorf("--retentions=%s: %w", e.Retentions, err)
	}
	switch {
	case e.Patience < 0:
		return fmt.Errorf("--patience=%v: must not be negative", e.Patience)
	case e.Every < 0:
		return fmt.Errorf("--progress=%v: must not be negative", e.Every)
	}
	return nil
}

// ExportWhisper writes whisper files of the series of the tables, or of an adapter that has them open.
func ExportWhisper(ctx context.Context, o adapter.Options, e ExportFilesOptions, console command.Console) error {
	return session.Place{Options: o, URL: e.URL}.Read(ctx, func(ctx context.Context, t session.Tables) error {
		e.reporter = t.Reporter("export whisper")
		return e.run(e.reporter.With(ctx), console, t.WhisperFiles(), t.Name())
	})
}

// named names what is exported, for the state.
func (e ExportFilesOptions) named(target string) string {
	text := "all names"
	if len(e.Match) > 0 {
		text = strings.Join(e.Match, " ")
	}
	if e.Retentions != "" {
		text += ", retentions " + e.Retentions
	}
	if e.Named {
		text += ", tagged by name"
	}
	return text + " in " + target
}

// run writes the files of a source.
func (e ExportFilesOptions) run(ctx context.Context, console command.Console, source admin.FilesSource, target string) error {
	state, err := pipeline.OpenFilesState(e.State, e.named(target), e.Dir, time.Now)
	if err != nil {
		return fmt.Errorf("state: %w", err)
	}
	w := &filesWriter{ExportFilesOptions: e, console: console, line: &command.StatusLine{Console: console}, state: state, begun: time.Now()}
	var ended bool
	if w.After, w.before, ended = state.Before(); !ended {
		err = w.read(ctx, source)
		err = errors.Join(err, state.Close(err == nil))
	}
	w.line.Close()
	took := time.Since(w.begun)
	e.reporter.End(ctx, w.progress(took), err)
	if err != nil {
		fmt.Fprintf(console.Err, "%s were exported in %v; %s\n", w.sum(), took.Round(time.Millisecond), w.hint())
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		return err
	}
	return w.end(took)
}

// A filesWriter writes files of an export, and tells of it.
type filesWriter struct {
	ExportFilesOptions
	console      command.Console
	line         *command.StatusLine
	state        *pipeline.FilesState
	begun, told  time.Time
	toldAdapter  time.Time
	last         graphitefiles.Exported // without its data
	before, done pipeline.FilesDone     // by earlier runs, by this one
}

// read writes the files of a source. While it fails, it is asked again for those that are not written: the patience begins anew where
// some are.
func (w *filesWriter) read(ctx context.Context, source admin.FilesSource) error {
	ask := pipeline.Asking{Patience: w.Patience, Failed: waiting(w.line), Now: time.Now}
	for {
		goesOn := false
		err := ask.Again(ctx, func() error {
			var undone pipeline.FilesDone
			w.After, undone = w.state.Back()
			w.done.Remove(undone)
			err := admin.FinalExport(source(ctx, w.ExportQuery, func(f *graphitefiles.Exported) error {
				if err := w.write(ctx, f); err != nil {
					return pipeline.FinalError{Err: err}
				}
				return nil
			}))
			_, final := errors.AsType[pipeline.FinalError](err)
			at, _, _ := w.state.Before()
			if goesOn = err != nil && !final && ctx.Err() == nil && at != w.After; goesOn {
				return nil
			}
			return err
		})
		if !goesOn {
			return err
		}
	}
}

func (w *filesWriter) write(ctx context.Context, f *graphitefiles.Exported) error {
	one := pipeline.FilesDone{Files: 1, Points: f.Points}
	if f.Reason != "" {
		one = pipeline.FilesDone{LeftOut: 1}
		fmt.Fprintf(w.line, "%s: %s\n", f.Path, f.Reason)
	} else if err := writeWhole(filepath.Join(w.Dir, filepath.FromSlash(f.Path)), f.Data, w.state.Kept()); err != nil {
		return err
	}
	if err := w.state.Finish(f.At, one); err != nil {
		return fmt.Errorf("state: %w", err)
	}
	w.done.Add(one)
	w.tell(ctx, f)
	return nil
}

// tell prints the progress, and tells the adapter of it, if it is time.
func (w *filesWriter) tell(ctx context.Context, f *graphitefiles.Exported) {
	w.last = *f
	w.last.Data = nil
	if now := time.Now(); now.Sub(w.toldAdapter) >= time.Second {
		w.toldAdapter = now
		w.reporter.Report(ctx, w.progress(now.Sub(w.begun)))
	}
	every := cmp.Or(w.Every, time.Second)
	if now := time.Now(); (w.console.Terminal || w.Every > 0) && now.Sub(w.told) >= every {
		w.told = now
		w.line.Print(fmt.Sprintf("%s, %.0f/s, at %s", w.sum(), w.rate(now.Sub(w.begun)), strings.ToValidUTF8(f.At.Name, "?")))
	}
}

// progress is what is told of the export.
func (w *filesWriter) progress(took time.Duration) admin.Progress {
	x := admin.Progress{
		Unit: "series", Points: w.done.Points, Before: w.before.Points, Skipped: w.done.LeftOut, At: w.last.At.Name, Seconds: took.Seconds(),
	}
	if w.last.Of == 0 {
		return x
	}
	x.Total, x.Done = int64(w.last.Of), int64(w.last.Nth+1)
	if w.last.Parts > 1 {
		x.Unit = fmt.Sprintf("series of part %d of %d", w.last.At.Part+1, w.last.Parts)
	}
	if w.last.Parts == 1 {
		x.Left = x.Seconds / float64(x.Done) * float64(x.Total-x.Done)
	}
	return x
}

func (w *filesWriter) sum() string {
	return fmt.Sprintf("%d points of %d files", w.done.Points, w.done.Files)
}

func (w *filesWriter) rate(took time.Duration) float64 {
	return float64(w.done.Points) / max(took.Seconds(), 0.001)
}

// hint is what to do about an export that ended early.
func (w *filesWriter) hint() string {
	return pipeline.ExportHint(pipeline.ExportOptions{State: w.State, Files: []string{w.Dir}})
}

// end tells of an export that is complete.
func (w *filesWriter) end(took time.Duration) error {
	fmt.Fprintf(w.console.Out, "%s exported in %v, %.0f/s", w.sum(), took.Round(time.Millisecond), w.rate(took))
	if w.before.Files > 0 {
		fmt.Fprintf(w.console.Out, "; %d points of %d files before", w.before.Points, w.before.Files)
	}
	fmt.Fprintln(w.console.Out)
	all := w.before
	all.Add(w.done)
	switch {
	case all.LeftOut > 0:
		return &command.ExitError{Code: command.ExitIncomplete, Err: fmt.Errorf("%d series were left out", all.LeftOut)}
	case all.Files == 0:
		return errors.New("no series was found")
	}
	return nil
}

// writeWhole writes a file, which is never there in part. Durable means that it is there after a crash too.
func writeWhole(name string, data []byte, durable bool) error {
	if err := makeDir(filepath.Dir(name), durable); err != nil {
		return err
	}
	part := name + ".part"
	f, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if durable && err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if durable {
		return fileutil.Rename(part, name) // it syncs the directory
	}
	return os.Rename(part, name)
}

// makeDir makes a directory, and those that it is in. Durable means that they are there after a crash too.
func makeDir(dir string, durable bool) error {
	if !durable {
		return os.MkdirAll(dir, 0o777)
	}
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	above := filepath.Dir(dir)
	if err := makeDir(above, durable); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	d, err := fileutil.OpenDir(above)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// exportWhisper defines "export whisper".
func exportWhisper(s *command.Set, all *kingpin.CmdClause) {
	e := DefaultExportFilesOptions()
	c := s.Add(all, "whisper", command.With(ExportWhisper, &e), "Write whisper files, as carbon has them, of the names that Graphite shows. Archives are those of imported files, else of --graphite.storage-schemas.")
	c.Arg("dir", "Directory. Files that are there are replaced.").Required().StringVar(&e.Dir)
	c.Flag("match", "Names, with the wildcards of targets: servers.*.cpu. It may be repeated. Default: all.").PlaceHolder("PATTERN").StringsVar(&e.Match)
	c.Flag("retentions", "Archives of series for which nothing else defines them, as in storage-schemas.conf: 10s:6h,1m:7d. Default: their own step for a year.").PlaceHolder("LIST").StringVar(&e.Retentions)
	c.Flag("tagged-by-name", "Name the files of series with tags by their names, as carbon does with TAG_HASH_FILENAMES = False. Otherwise they are named by hashes.").BoolVar(&e.Named)
	exportFlags(c, &e.URL, &e.State, &e.Patience, &e.Every)
	c.Action(func(*kingpin.ParseContext) error { return e.Validate() })
}
