package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/adapter/admin"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
	"github.com/tsdbridge/tsdbridge/prometheus/columns"
)

// ExportWindowsOptions are the flags of exports that write a file or a directory for each window of time.
type ExportWindowsOptions struct {
	SeriesChoice

	Dir      string        // argument
	Length   time.Duration // of a window
	URL      string        // --adapter-url
	State    string        // --state: file that keeps how far the export is
	Patience time.Duration // --patience: how long a failing store is asked again
	Every    time.Duration // --progress
}

// windowsOf returns the options without a flag.
func windowsOf(length time.Duration) ExportWindowsOptions {
	return ExportWindowsOptions{Length: length, Patience: DefaultExportOptions().Patience}
}

// Validate names the flag that cannot work.
func (e *ExportWindowsOptions) Validate(now time.Time) error {
	switch {
	case e.Patience < 0:
		return fmt.Errorf("--patience=%v: must not be negative", e.Patience)
	case e.Every < 0:
		return fmt.Errorf("--progress=%v: must not be negative", e.Every)
	}
	return e.SeriesChoice.Validate(now)
}

// A windowWriter writes the samples of a window of time as a file or a directory.
type windowWriter interface {
	Add(b *columns.Batch) error
	Abandon() error
	// end completes what is written. left is what it has no place for.
	end(ctx context.Context) (name string, samples int64, left pipeline.LeftObjects, err error)
}

// A windowFormat is what samples are exported as, a window of time after the other.
type windowFormat struct {
	unit string // of what is written: blocks
	// open begins the window from begin to before end, milliseconds. named is what is exported.
	open func(named string, begin, end int64) (windowWriter, error)
	// told returns what people are told of what was left out, "" for nothing.
	told func(left pipeline.LeftObjects) string
}

// export writes the windows of the tables, or of an adapter that has them open.
func (e *ExportWindowsOptions) export(ctx context.Context, o adapter.Options, kind string, format windowFormat, console command.Console) error {
	return openColumns(ctx, o, e.URL, kind, func(ctx context.Context, s openedColumns) error {
		return e.run(ctx, console, s, format, o.Now)
	})
}

// run writes the windows of a source.
func (e *ExportWindowsOptions) run(ctx context.Context, console command.Console, s openedColumns, format windowFormat, now func() time.Time) error {
	named := fmt.Sprintf("%s, %s of %v, in %s", e.what(), format.unit, e.Length, s.name)
	if err := os.MkdirAll(e.Dir, 0o777); err != nil {
		return err
	}
	state, err := pipeline.OpenFilesState(e.State, named, e.Dir, time.Now)
	if err != nil {
		return fmt.Errorf("state: %w", err)
	}
	x := &windowsExport{ExportWindowsOptions: *e, console: console, line: &command.StatusLine{Console: console}, source: s, named: named, format: format, now: now, state: state, begun: time.Now()}
	after, before, ended := state.Before()
	x.before = before
	if !ended {
		from := e.from
		if after.Name != "" {
			from = max(from, int64(after.Part)*minWindow+e.Length.Milliseconds())
		}
		err = x.all(ctx, from)
		err = errors.Join(err, state.Close(err == nil))
	}
	x.line.Close()
	s.reporter.End(ctx, x.progress(), err)
	if err != nil {
		fmt.Fprintf(console.Err, "%s were exported in %v; %s\n", x.sum(), x.took(), pipeline.ExportHint(pipeline.ExportOptions{State: e.State, Files: []string{e.Dir}}))
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		return err
	}
	return x.end()
}

// minWindow is the time of the shortest window, in milliseconds. All others begin at multiples of it.
const minWindow = int64(2 * time.Hour / time.Millisecond)

// A windowsExport is an export of windows.
type windowsExport struct {
	ExportWindowsOptions
	console      command.Console
	line         *command.StatusLine
	source       openedColumns
	named        string // what is exported
	format       windowFormat
	now          func() time.Time
	windows      timeWindows // for people; of length 0: not yet known
	at           int64       // begin of the last window
	state        *pipeline.FilesState
	begun, told  time.Time
	toldAdapter  time.Time
	before, done pipeline.FilesDone
}

// all writes the windows from a time on.
func (x *windowsExport) all(ctx context.Context, from int64) error {
	length := x.Length.Milliseconds()
	for {
		at, ok, err := x.next(ctx, from)
		if err != nil || !ok {
			return err
		}
		begin := at / length * length
		if err := x.reach(ctx, begin); err != nil {
			return err
		}
		var name string
		var samples int64
		var left pipeline.LeftObjects
		err = x.again(ctx, func() (err error) {
			name, samples, left, err = x.window(ctx, begin)
			return err
		})
		if err != nil {
			return fmt.Errorf("%s of %s: %w", strings.TrimSuffix(x.format.unit, "s"), time.UnixMilli(begin).UTC().Format(time.RFC3339), err)
		}
		one := pipeline.FilesDone{Points: samples, LeftObjects: left}
		if name != "" {
			one.Files = 1
		}
		if err := x.state.Finish(pipeline.FilePlace{Part: int(begin / minWindow), Name: "block"}, one); err != nil {
			return fmt.Errorf("state: %w", err)
		}
		x.done.Add(one)
		x.tell(ctx)
		if begin > math.MaxInt64-length {
			return nil
		}
		from = begin + length
	}
}

// again tries something again while the store fails.
func (x *windowsExport) again(ctx context.Context, try func() error) error {
	a := pipeline.Asking{Patience: x.Patience, Failed: waiting(x.line), Now: time.Now}
	return a.Again(ctx, func() error { return admin.FinalExport(try()) })
}

// next returns the first time from one on at which there may be samples.
func (x *windowsExport) next(ctx context.Context, from int64) (at int64, ok bool, err error) {
	err = x.again(ctx, func() (err error) { at, ok, err = x.source.Next(ctx, from, x.to); return err })
	return at, ok, err
}

// window writes one window. What cannot be written is not tried again.
func (x *windowsExport) window(ctx context.Context, begin int64) (name string, samples int64, left pipeline.LeftObjects, err error) {
	end := begin + x.Length.Milliseconds()
	w, err := x.format.open(x.named, begin, end)
	if err != nil {
		return "", 0, left, pipeline.FinalError{Err: err}
	}
	q := admin.SamplesQuery{Match: x.Match, From: max(begin, x.from), To: min(end-1, x.to), Exemplars: true}
	err = x.source.Read(ctx, q, func(b *columns.Batch) error {
		b.With(x.labels)
		if err := w.Add(b); err != nil {
			return pipeline.FinalError{Err: err}
		}
		return nil
	})
	if err != nil {
		return "", 0, left, errors.Join(err, w.Abandon())
	}
	if name, samples, left, err = w.end(ctx); err != nil {
		err = pipeline.FinalError{Err: err}
	}
	return name, samples, left, err
}

func (x *windowsExport) took() time.Duration { return time.Since(x.begun).Round(time.Millisecond) }

func (x *windowsExport) rate() float64 {
	return float64(x.done.Points) / max(time.Since(x.begun).Seconds(), 0.001)
}

func (x *windowsExport) sum() string {
	return fmt.Sprintf("%d samples in %d %s", x.done.Points, x.done.Files, x.format.unit)
}

// reach notes the begin of a window.
func (x *windowsExport) reach(ctx context.Context, begin int64) error {
	x.at = begin
	if x.windows.length > 0 {
		return nil
	}
	first, _, err := x.next(ctx, x.from)
	x.windows = newTimeWindows(first, x.to, x.Length.Milliseconds(), x.now())
	return err
}

// progress is what is told of the export.
func (x *windowsExport) progress() admin.Progress {
	told := admin.Progress{Unit: x.format.unit, Points: x.done.Points, Before: x.before.Points, Seconds: time.Since(x.begun).Seconds()}
	if x.windows.length > 0 {
		nth, of := x.windows.place(x.at)
		told.Done, told.Total, told.At = int64(nth)+1, int64(of), time.UnixMilli(x.at).UTC().Format(time.RFC3339)
		told.Left = told.Seconds / float64(told.Done) * float64(told.Total-told.Done)
	}
	return told
}

// tell prints the progress, and tells the adapter of it, if it is time.
func (x *windowsExport) tell(ctx context.Context) {
	if now := time.Now(); now.Sub(x.toldAdapter) >= time.Second {
		x.toldAdapter = now
		x.source.reporter.Report(ctx, x.progress())
	}
	every := cmp.Or(x.Every, time.Second)
	if now := time.Now(); (x.console.Terminal || x.Every > 0) && now.Sub(x.told) >= every {
		x.told = now
		x.line.Print(fmt.Sprintf("%s, %.0f/s, at %s", x.sum(), x.rate(), time.UnixMilli(x.at).UTC().Format(time.RFC3339)))
	}
}

// end tells of an export that is complete.
func (x *windowsExport) end() error {
	fmt.Fprintf(x.console.Out, "%s exported in %v, %.0f/s", x.sum(), x.took(), x.rate())
	if x.before.Files > 0 {
		fmt.Fprintf(x.console.Out, "; %d samples in %d %s before", x.before.Points, x.before.Files, x.format.unit)
	}
	fmt.Fprintln(x.console.Out)
	all := x.before
	all.Add(x.done)
	if told := x.format.told(all.LeftObjects); told != "" {
		return incomplete(told)
	}
	if all.Files == 0 {
		return errors.New("no series was found")
	}
	return nil
}
