package adapter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/tsdbridge/tsdbridge/prometheus/blocks"
	"github.com/tsdbridge/tsdbridge/prometheus/columns"
	"github.com/tsdbridge/tsdbridge/transfer"
)

// ExportBlocksOptions are the flags of "export prometheus".
type ExportBlocksOptions struct {
	SeriesChoice

	Dir    string        // argument
	Length time.Duration // --block-duration
	Starts bool          // --start-times
	URL    string        // --adapter-url
	State  string        // --state: file that keeps how far the export is
	Every  time.Duration // --progress
}

// DefaultExportBlocksOptions returns the options without a flag.
func DefaultExportBlocksOptions() ExportBlocksOptions {
	return ExportBlocksOptions{Length: 2 * time.Hour}
}

// Validate names the flag that cannot work.
func (e *ExportBlocksOptions) Validate(now time.Time) error {
	length := 2 * time.Hour
	for length < e.Length {
		length *= 3
	}
	switch {
	case e.Length != length || length > 31*24*time.Hour:
		return fmt.Errorf("--block-duration=%v: want 2h, 6h, 18h, 54h, 162h or 486h", e.Length)
	case e.Every < 0:
		return fmt.Errorf("--progress=%v: must not be negative", e.Every)
	}
	return e.SeriesChoice.Validate(now)
}

// ExportBlocks writes blocks of Prometheus of the tables, or of an adapter that has them open.
func ExportBlocks(ctx context.Context, o Options, e ExportBlocksOptions, console Console) error {
	return o.openColumns(ctx, e.URL, "export prometheus", func(ctx context.Context, s openedColumns) error {
		return e.run(ctx, console, s, o.Now)
	})
}

// run writes the blocks of a source.
func (e *ExportBlocksOptions) run(ctx context.Context, console Console, s openedColumns, now func() time.Time) error {
	named := fmt.Sprintf("%s, blocks of %v, in %s", e.what(), e.Length, s.name)
	if err := os.MkdirAll(e.Dir, 0o777); err != nil {
		return err
	}
	state, err := transfer.OpenFilesState(e.State, named, e.Dir, time.Now)
	if err != nil {
		return fmt.Errorf("state: %w", err)
	}
	x := &blocksExport{ExportBlocksOptions: *e, console: console, line: &statusLine{console: console}, source: s, named: named, now: now, state: state, begun: time.Now()}
	after, before, ended := state.Before()
	x.before = before
	if !ended {
		from := e.from
		if after.Name != "" {
			from = max(from, int64(after.Part)*minBlock+e.Length.Milliseconds())
		}
		err = x.all(ctx, from)
		err = errors.Join(err, state.Close(err == nil))
	}
	x.line.close()
	s.teller.end(ctx, x.progress(), err)
	if err != nil {
		fmt.Fprintf(console.Err, "%s were exported in %v; %s\n", x.sum(), x.took(), transfer.ExportHint(transfer.ExportOptions{State: e.State, Files: []string{e.Dir}}))
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		return err
	}
	return x.end()
}

// minBlock is the time of the shortest block, in milliseconds. All others begin at multiples of it.
const minBlock = int64(2 * time.Hour / time.Millisecond)

// A blocksExport is an export of blocks.
type blocksExport struct {
	ExportBlocksOptions
	console      Console
	line         *statusLine
	source       openedColumns
	named        string
	now          func() time.Time
	windows      timeWindows // for people; of length 0: not yet known
	at           int64       // begin of the last block
	state        *transfer.FilesState
	begun, told  time.Time
	toldAdapter  time.Time
	before, done transfer.FilesDone
	exemplars    int64 // that were left out in this run
	starts       int64
}

// all writes the blocks from a time on.
func (x *blocksExport) all(ctx context.Context, from int64) error {
	length := x.Length.Milliseconds()
	for {
		at, ok, err := x.source.next(ctx, from, x.to)
		if err != nil || !ok {
			return err
		}
		begin := at / length * length
		if err := x.reach(ctx, begin); err != nil {
			return err
		}
		written, err := x.block(ctx, begin)
		if err != nil {
			return fmt.Errorf("block of %s: %w", time.UnixMilli(begin).UTC().Format(time.RFC3339), err)
		}
		one := transfer.FilesDone{Points: written.Samples}
		if written.Name != "" {
			one.Files = 1
		}
		if err := x.state.Finish(transfer.FilePlace{Part: int(begin / minBlock), Name: "block"}, one); err != nil {
			return fmt.Errorf("state: %w", err)
		}
		x.done.Add(one)
		x.exemplars += written.Exemplars
		x.starts += written.Starts
		x.tell(ctx)
		if begin > math.MaxInt64-length {
			return nil
		}
		from = begin + length
	}
}

// block writes one block.
func (x *blocksExport) block(ctx context.Context, begin int64) (blocks.Written, error) {
	end := begin + x.Length.Milliseconds()
	w, err := blocks.NewWriter(blocks.WriteOptions{Dir: x.Dir, Source: x.named, From: begin, To: end, Starts: x.Starts})
	if err != nil {
		return blocks.Written{}, err
	}
	q := columnsQuery{Match: x.Match, From: max(begin, x.from), To: min(end-1, x.to), Exemplars: true}
	add := w.Add
	if !x.labels.IsEmpty() {
		add = func(b *columns.Batch) error {
			b.With(x.labels)
			return w.Add(b)
		}
	}
	if err := x.source.read(ctx, q, add); err != nil {
		return blocks.Written{}, errors.Join(err, w.Abandon())
	}
	return w.Close(ctx)
}

func (x *blocksExport) took() time.Duration { return time.Since(x.begun).Round(time.Millisecond) }

func (x *blocksExport) rate() float64 {
	return float64(x.done.Points) / max(time.Since(x.begun).Seconds(), 0.001)
}

func (x *blocksExport) sum() string {
	return fmt.Sprintf("%d samples in %d blocks", x.done.Points, x.done.Files)
}

// reach notes the begin of a block.
func (x *blocksExport) reach(ctx context.Context, begin int64) error {
	x.at = begin
	if x.windows.length > 0 {
		return nil
	}
	first, _, err := x.source.next(ctx, x.from, x.to)
	x.windows = newTimeWindows(first, x.to, x.Length.Milliseconds(), x.now())
	return err
}

// progress is what is told of the export.
func (x *blocksExport) progress() toldTransfer {
	told := toldTransfer{Unit: "blocks", Points: x.done.Points, Before: x.before.Points, Seconds: time.Since(x.begun).Seconds()}
	if x.windows.length > 0 {
		nth, of := x.windows.place(x.at)
		told.Done, told.Total, told.At = int64(nth)+1, int64(of), time.UnixMilli(x.at).UTC().Format(time.RFC3339)
		told.Left = told.Seconds / float64(told.Done) * float64(told.Total-told.Done)
	}
	return told
}

// tell prints the progress, and tells the adapter of it, if it is time.
func (x *blocksExport) tell(ctx context.Context) {
	if now := time.Now(); now.Sub(x.toldAdapter) >= time.Second {
		x.toldAdapter = now
		x.source.teller.tell(ctx, x.progress())
	}
	every := cmp.Or(x.Every, time.Second)
	if now := time.Now(); (x.console.Terminal || x.Every > 0) && now.Sub(x.told) >= every {
		x.told = now
		x.line.print(fmt.Sprintf("%s, %.0f/s, at %s", x.sum(), x.rate(), time.UnixMilli(x.at).UTC().Format(time.RFC3339)))
	}
}

// end tells of an export that is complete.
func (x *blocksExport) end() error {
	fmt.Fprintf(x.console.Out, "%s exported in %v, %.0f/s", x.sum(), x.took(), x.rate())
	if x.before.Files > 0 {
		fmt.Fprintf(x.console.Out, "; %d samples in %d blocks before", x.before.Points, x.before.Files)
	}
	fmt.Fprintln(x.console.Out)
	switch {
	case x.before.Files+x.done.Files == 0:
		return errors.New("no series was found")
	case x.exemplars > 0 && x.starts > 0:
		return &ExitError{ExitIncomplete, fmt.Errorf("%d exemplars were left out, which blocks cannot hold, and %d start times (--start-times)", x.exemplars, x.starts)}
	case x.exemplars > 0:
		return &ExitError{ExitIncomplete, fmt.Errorf("%d exemplars were left out, which blocks cannot hold", x.exemplars)}
	case x.starts > 0:
		return &ExitError{ExitIncomplete, fmt.Errorf("%d start times were left out (--start-times)", x.starts)}
	}
	return nil
}
