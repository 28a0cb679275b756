package adapter

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/copying"
	"github.com/tsdbridge/tsdbridge/opentsdb/query"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/pebble"
	"github.com/tsdbridge/tsdbridge/transfer"
)

// A CopySide is one of the two stores of "copy".
type CopySide struct {
	// Given is what --from or --to says: the URL of an adapter, or the name of a configuration file; empty: the flags of the
	// command itself name the store.
	Given string
	// Options are those of the configuration file, or of the command itself.
	Options Options
}

// url returns the URL of the adapter that is asked; empty: the tables are opened.
func (s CopySide) url() string {
	if IsURL(s.Given) {
		return s.Given
	}
	return ""
}

// IsURL reports whether what --from or --to says is the URL of an adapter.
func IsURL(given string) bool {
	return strings.HasPrefix(given, "http://") || strings.HasPrefix(given, "https://")
}

// name names the store, for the state.
func (s CopySide) name() string {
	if url := s.url(); url != "" {
		return strings.TrimSuffix(url, "/")
	}
	return s.Options.target()
}

// CopyOptions are the flags of "copy".
type CopyOptions struct {
	From, To   CopySide
	Match      []string // --match: series; none: all
	Start, End string   // --from-time, --to-time: in a TSD's grammar
	State      string   // --state: file that keeps how far the copy is
	Parallel   int      // --parallel: ranges at once
	Rate       int      // --rate: points in a second; 0: no limit
	Patience   time.Duration
	Every      time.Duration // --progress: between two lines; 0: on a terminal, each second

	start, end int64 // milliseconds, after Validate
}

// DefaultCopyOptions returns the options without a flag.
func DefaultCopyOptions() CopyOptions {
	return CopyOptions{Parallel: runtime.GOMAXPROCS(0), Patience: transfer.DefaultImportOptions().Patience}
}

// maxCopies bounds --parallel.
const maxCopies = 256

// Validate names the flag that cannot work.
func (c *CopyOptions) Validate(now time.Time) (err error) {
	switch {
	case c.Parallel < 1 || c.Parallel > maxCopies:
		return fmt.Errorf("--parallel=%d: must be 1 to %d", c.Parallel, maxCopies)
	case c.Rate < 0:
		return fmt.Errorf("--rate=%d: must not be negative", c.Rate)
	case c.Patience < 0:
		return fmt.Errorf("--patience=%v: must not be negative", c.Patience)
	case c.Every < 0:
		return fmt.Errorf("--progress=%v: must not be negative", c.Every)
	}
	if _, err := matchesOf(c.Match); err != nil {
		return fmt.Errorf("--match=%w", err)
	}
	c.start, c.end = 0, storage.MaxTime
	if c.Start != "" {
		if c.start, err = query.ParseTime(c.Start, time.UTC, now); err != nil {
			return fmt.Errorf("--from-time=%s: %w", c.Start, err)
		}
	}
	if c.End != "" {
		if c.end, err = query.ParseTime(c.End, time.UTC, now); err != nil {
			return fmt.Errorf("--to-time=%s: %w", c.End, err)
		}
	}
	if c.start > c.end {
		return fmt.Errorf("--to-time=%s: it is before --from-time=%s", c.End, c.Start)
	}
	return nil
}

// matchesOf reads what --match says.
func matchesOf(texts []string) (matches []copying.Match, err error) {
	for _, text := range texts {
		m, err := query.ParseMatch(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		matches = append(matches, m)
	}
	return matches, nil
}

// what names what is copied, for the state.
func (c *CopyOptions) what() string {
	text := "all series"
	if len(c.Match) > 0 {
		text = strings.Join(c.Match, " ")
	}
	if c.Start != "" {
		text += " from " + c.Start
	}
	if c.End != "" {
		text += " to " + c.End
	}
	return text
}

// Copy copies what a store holds into another one.
func Copy(ctx context.Context, c CopyOptions, console Console) error {
	if c.From.Given == "" && c.To.Given == "" {
		return &ExitError{ExitUsage, errors.New("--from, --to: one of them at least must name a store; the other is that of the flags of this command")}
	}
	if c.From.name() == c.To.name() {
		return &ExitError{ExitUsage, fmt.Errorf("--from and --to are the same store, %s", c.From.name())}
	}
	return c.From.use(ctx, func(ctx context.Context, from copySide) error {
		return c.To.use(ctx, func(ctx context.Context, to copySide) error {
			return c.run(ctx, from, to, console)
		})
	})
}

// A copySide is an open store.
type copySide interface {
	copying.Target
	source(q copyQuery) (copying.Source, error)
}

// A copyQuery is what is copied, as a request tells it.
type copyQuery struct {
	Match []string `json:"match,omitempty"`
	Start int64    `json:"start"`
	End   int64    `json:"end"`
}

// use calls what uses the store: by the adapter of a URL, by this process, which opens the tables, or by the adapter on this
// machine that has them open.
func (s CopySide) use(ctx context.Context, use func(ctx context.Context, side copySide) error) error {
	if url := s.url(); url != "" {
		return use(ctx, remoteCopy{url})
	}
	o := s.Options
	o.ActiveSeries, o.NewSeries = -1, 0 // nothing may be left out
	opened := false
	err := o.runAlone(ctx, func(ctx context.Context, a *Adapter) error {
		opened = true
		return use(ctx, a.copySide())
	})
	if opened || !errors.Is(err, pebble.ErrInUse) {
		return err
	}
	base, err := o.adminURL("")
	if err != nil {
		return err
	}
	return use(ctx, remoteCopy{base})
}

// localCopy is a store of this process.
type localCopy struct {
	*copying.Writer
	store copying.Store
}

// copySide returns the adapter's store.
func (a *Adapter) copySide() *localCopy {
	s := copying.Store{Store: a.store, Trees: a.trees.Editor(), Budget: a.budget, Shared: a.o.Engine == EngineHBase}
	return &localCopy{copying.NewWriter(s), s}
}

func (l *localCopy) source(q copyQuery) (copying.Source, error) {
	matches, err := matchesOf(q.Match)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", storage.ErrInvalid, err)
	}
	return copying.NewReader(l.store, copying.Query{Matches: matches, Start: q.Start, End: q.End}), nil
}

// run copies from one open store into another.
func (c *CopyOptions) run(ctx context.Context, from, to copySide, console Console) error {
	source, err := from.source(copyQuery{Match: c.Match, Start: c.start, End: c.end})
	if err != nil {
		return err
	}
	line := &statusLine{console: console}
	o := copying.Options{
		From: source, To: to, FromName: c.From.name(), ToName: c.To.name(), What: c.what(), State: c.State,
		Parallel: c.Parallel, Rate: c.Rate, Patience: c.Patience, Every: time.Second, Now: time.Now,
		Failed: func(err error) { fmt.Fprintf(line, "waiting for a store: %v\n", err) },
		Lost:   func(l copying.Loss) { fmt.Fprintf(line, "not copied: %s: %s\n", l.What, l.Reason) },
	}
	if console.Terminal || c.Every > 0 {
		o.Progress = func(p copying.Progress) { line.print(p.String()) }
	}
	if c.Every > 0 {
		o.Every = c.Every
	}
	done, err := copying.Run(ctx, o)
	line.close()
	return c.tell(ctx, done, err, console)
}

// tell prints what was copied.
func (c *CopyOptions) tell(ctx context.Context, done copying.Progress, err error, console Console) error {
	took := done.Took.Round(time.Millisecond)
	if err != nil {
		fmt.Fprintf(console.Err, "%d points were copied in %v; %s\n", done.Points-done.Before.Points, took, c.hint())
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		return err
	}
	fmt.Fprintf(console.Out, "%d series and %d points copied in %v, %.0f/s", done.Series-done.Before.Series, done.Points-done.Before.Points, took, done.Rate())
	if done.Before.Points > 0 {
		fmt.Fprintf(console.Out, "; %d points before", done.Before.Points)
	}
	fmt.Fprintln(console.Out)
	if done.LostN > 0 {
		return &ExitError{ExitIncomplete, fmt.Errorf("%d things were not copied", done.LostN)}
	}
	return nil
}

// hint is what to do about a copy that ended early.
func (c *CopyOptions) hint() string {
	if c.State != "" {
		return "the same command goes on where this one ended (--state=" + c.State + ")"
	}
	return "the same command copies all again, which changes nothing that is there; with --state=FILE it goes on where it was interrupted"
}
