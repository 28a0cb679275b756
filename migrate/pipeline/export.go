package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/internal/retry"
)

// ExportOptions are what an export needs.
type ExportOptions struct {
	// Source returns what has the points from start to end (milliseconds, inclusive). It is named for the
	// state, by what selects its points.
	Source     func(start, end int64) (Source, error)
	Named      string
	Start, End int64
	// Files are the names of the files that are written, several at once; none: Stdout is written to.
	Files  []string
	Stdout io.Writer
	Gzip   bool
	// State is the file that keeps how far the export is; empty: nothing does.
	State string
	// Patience is how long a source that fails is asked again.
	Patience time.Duration
	Failed   func(error) // of the source, which is asked again
	Progress func(ExportProgress)
	Every    time.Duration
	Now      func() time.Time
}

// ExportProgress is how far an export is.
type ExportProgress struct {
	Points  int64 // of this run
	Before  int64 // of earlier runs with this state
	LeftOut int64 // that the format cannot hold, of all runs
	Reason  string
	At      Range // the range that was begun last
	First   int   // Nth of the first range of this run
	Took    time.Duration
}

// Rate returns points for each second.
func (p ExportProgress) Rate() float64 { return float64(p.Points) / max(p.Took.Seconds(), 0.001) }

// Left returns about how long the rest takes, if all names have about as many points; 0: unknown.
func (p ExportProgress) Left() time.Duration {
	done := p.At.Nth - p.First
	if p.At.Part != "" || done < 1 || p.At.Of < p.At.Nth {
		return 0
	}
	return time.Duration(float64(p.Took) / float64(done) * float64(p.At.Of-p.At.Nth)).Round(time.Second)
}

// String prints one line.
func (p ExportProgress) String() string {
	s := fmt.Sprintf("%d points, %.0f/s", p.Points, p.Rate())
	if p.At.Name != "" {
		s += ", at " + p.At.Name
		if p.At.Part != "" {
			s += ", " + p.At.Part
		}
		s += " from " + time.UnixMilli(p.At.From).UTC().Format("2006/01/02")
		if p.At.Of > 0 {
			s += fmt.Sprintf(" (%d of %d)", p.At.Nth+1, p.At.Of)
		}
	}
	if p.LeftOut > 0 {
		s += fmt.Sprintf(", %d left out", p.LeftOut)
	}
	return s
}

// Export writes all points of a source. When it returns without an error, all files are complete and
// durable. After an error the state says what is durable.
func Export(ctx context.Context, o ExportOptions) (ExportProgress, error) {
	kept, err := openExportState(o.State, exportDoc{Source: o.Named, Start: o.Start, End: o.End})
	if err != nil {
		return ExportProgress{}, fmt.Errorf("state: %w", err)
	}
	r := &exportRun{ExportOptions: o, state: kept, begun: o.Now()}
	if r.source, err = o.Source(kept.doc.Start, kept.doc.End); err == nil {
		err = r.all(ctx)
	}
	return r.progress(), err
}

// An exportRun is an export.
type exportRun struct {
	ExportOptions
	state  *exportState
	source Source
	begun  time.Time

	points, leftOut atomic.Int64
	before          int64

	mu     sync.Mutex // guards what follows; held while ranges are asked for
	ranges []Range    // that no file has yet
	ended  bool       // there are no others
	reason atomic.Pointer[string]
	last   atomic.Pointer[Range]
	first  atomic.Int64
}

func (r *exportRun) progress() ExportProgress {
	p := ExportProgress{Points: r.points.Load(), Before: r.before, LeftOut: r.leftOut.Load(), Took: r.Now().Sub(r.begun)}
	if reason := r.reason.Load(); reason != nil {
		p.Reason = *reason
	}
	if at := r.last.Load(); at != nil {
		p.At, p.First = *at, int(r.first.Load())
	}
	return p
}

func (r *exportRun) all(ctx context.Context) error {
	files, err := r.files()
	if err != nil {
		return err
	}
	if r.state.doc.Done {
		return nil
	}
	if err := r.state.save(); err != nil { // that it can be written shows before anything is exported
		return errors.Join(fmt.Errorf("state: %w", err), leaveAll(files))
	}
	watch, stop := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { r.watch(watch) })
	group, ctx := errgroup.WithContext(ctx)
	for _, f := range files {
		group.Go(func() error { return f.run(ctx) })
	}
	err = group.Wait()
	stop()
	watching.Wait()
	if err = errors.Join(err, r.state.save()); err != nil { // before the files get their names
		return errors.Join(err, leaveAll(files))
	}
	for _, f := range files {
		if err := f.to.finish(); err != nil {
			return err
		}
		r.state.change(func(*exportDoc) {
			f.kept.Done = true
			delete(r.state.open, f.kept.Name)
		})
	}
	r.state.change(func(doc *exportDoc) { doc.Done = true })
	return r.state.save()
}

func leaveAll(files []*exporting) error {
	var errs []error
	for _, f := range files {
		errs = append(errs, f.to.leave())
	}
	return errors.Join(errs...)
}

// files opens the files that are not complete, those of the state and those that are asked for.
func (r *exportRun) files() (files []*exporting, err error) {
	if len(r.Files) == 0 {
		kept, _ := r.state.of("-")
		return []*exporting{{exportRun: r, kept: kept, to: newStream(r.Stdout, r.Gzip)}}, nil
	}
	var names []string
	for _, f := range r.state.doc.Files {
		names = append(names, f.Name)
	}
	for _, name := range r.Files {
		if name, err = filepath.Abs(name); err != nil {
			return nil, err
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		kept, known := r.state.of(name)
		r.before += kept.Points
		r.leftOut.Add(kept.LeftOut)
		if kept.Done || r.state.doc.Done {
			continue
		}
		f := &exporting{exportRun: r, kept: kept}
		if known {
			f.to, err = openOutput(name, kept.Bytes, r.Gzip)
		} else {
			f.to, err = newOutput(name, r.Gzip)
		}
		if err != nil {
			return nil, errors.Join(err, leaveAll(files))
		}
		files = append(files, f)
	}
	return files, nil
}

// exportSaveEvery is how often the state is written, after a sync of the files, while something changes.
const exportSaveEvery = 500 * time.Millisecond

// watch writes the state, and tells of the progress, until ctx ends.
func (r *exportRun) watch(ctx context.Context) {
	told := r.begun
	for retry.Sleep(ctx, exportSaveEvery) {
		_ = r.state.saveChanged() // the end of the export tells of an error that stays
		if r.Progress != nil && r.Now().Sub(told) >= r.Every {
			told = r.Now()
			r.Progress(r.progress())
		}
	}
}

// take gives the next range to a file.
func (r *exportRun) take(ctx context.Context, to *exportFile) (next Range, ok bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.ranges) == 0 && !r.ended {
		if r.ranges, err = r.source.Ranges(ctx, r.state.doc.After); err != nil {
			return next, false, err
		}
		r.ended = len(r.ranges) == 0
	}
	if r.ended {
		return next, false, nil
	}
	next, r.ranges = r.ranges[0], r.ranges[1:]
	r.state.change(func(doc *exportDoc) {
		doc.After = next
		to.Ranges = append(to.Ranges, next)
	})
	if r.last.Swap(&next) == nil {
		r.first.Store(int64(next.Nth))
	}
	return next, true, nil
}

// exporting is a file that is being written.
type exporting struct {
	*exportRun
	kept *exportFile
	to   *output
	todo []Range // that are not read yet; the first one is being read

	// since the bytes that are kept
	points, leftOut, text int64
	kepts                 time.Time // when these were written
	failing               time.Time // since when the source fails; zero: it does not
}

// run writes ranges to the file until there are no more.
func (e *exporting) run(ctx context.Context) error {
	e.todo, e.kepts = slices.Clone(e.kept.Ranges), e.Now()
	for pause := firstPause; ; {
		more, err := e.next(ctx)
		if err == nil && !more {
			return e.keep(nil)
		}
		if err == nil {
			pause = firstPause
			continue
		}
		if err := e.again(ctx, err, pause); err != nil {
			return err
		}
		pause = min(2*pause, lastPause)
	}
}

// next writes one range.
func (e *exporting) next(ctx context.Context) (more bool, err error) {
	if len(e.todo) == 0 {
		r, ok, err := e.take(ctx, e.kept)
		if err != nil || !ok {
			return false, err
		}
		e.todo = append(e.todo, r)
	}
	if err := e.source.Read(ctx, e.todo[0], e.give); err != nil {
		return false, err
	}
	e.todo = e.todo[1:]
	return true, nil
}

// again goes back to what is kept, and waits before that is tried again.
func (e *exporting) again(ctx context.Context, err error, pause time.Duration) error {
	_, final := errors.AsType[FinalError](err)
	if e.failing.IsZero() {
		e.failing = e.Now()
	}
	if final || ctx.Err() != nil || e.Now().Sub(e.failing)+pause > e.Patience {
		return err
	}
	if back := e.to.back(e.kept.Bytes); back != nil {
		if errors.Is(back, errStream) {
			return err
		}
		return errors.Join(err, back)
	}
	e.exportRun.points.Add(-e.points)
	e.exportRun.leftOut.Add(-e.leftOut)
	e.points, e.leftOut, e.text = 0, 0, 0
	e.todo = slices.Clone(e.kept.Ranges)
	if e.Failed != nil && pause == lastPause/2 {
		e.Failed(err)
	}
	if !retry.Sleep(ctx, pause) {
		return ctx.Err()
	}
	return nil
}

// What is written is kept when there is so much of it, in bytes of text, ranges or time. gzip begins anew
// there.
const (
	keptText   = 8 << 20
	keptRanges = 256
	keptTime   = 2 * time.Second
)

// give writes a block. It is a function for Source.Read.
func (e *exporting) give(b Block) error {
	if err := e.to.write(b.Text); err != nil {
		return FinalError{err}
	}
	e.points += b.Points
	e.leftOut += b.LeftOut
	e.text += int64(len(b.Text))
	e.exportRun.points.Add(b.Points)
	e.exportRun.leftOut.Add(b.LeftOut)
	if b.LeftOut > 0 {
		e.reason.CompareAndSwap(nil, &b.Reason)
	}
	if b.Until == 0 || e.failing.IsZero() && e.text < keptText && len(e.kept.Ranges) < keptRanges && e.Now().Sub(e.kepts) < keptTime {
		return nil
	}
	rest := slices.Clone(e.todo)
	if rest[0].From = b.Until; rest[0].From > rest[0].To {
		rest = rest[1:]
	}
	if err := e.keep(rest); err != nil {
		return FinalError{err}
	}
	return nil
}

// keep notes what was written, and which ranges follow.
func (e *exporting) keep(rest []Range) error {
	bytes, err := e.to.whole()
	if err != nil {
		return err
	}
	e.state.change(func(*exportDoc) {
		e.kept.Bytes, e.kept.Ranges = bytes, rest
		if e.to.file != nil {
			e.state.open[e.kept.Name] = e.to.file
		}
		e.kept.Points += e.points
		e.kept.LeftOut += e.leftOut
	})
	e.points, e.leftOut, e.text, e.kepts, e.failing = 0, 0, 0, e.Now(), time.Time{}
	return nil
}

// ExportHint is what to do about an export that ended early.
func ExportHint(o ExportOptions) string {
	switch {
	case o.State != "":
		return "the same command goes on where this one ended (--state=" + o.State + ")"
	case len(o.Files) > 0:
		return "files whose names end with " + partSuffix + " are not complete; with --state=FILE a repeated export goes on where it was interrupted"
	}
	return "what was written is not complete"
}
