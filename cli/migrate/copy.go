package migrate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/adapter/admin"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/cli/session"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
	"github.com/tsdbridge/tsdbridge/migrate/tablecopy"
	"github.com/tsdbridge/tsdbridge/opentsdb/query"
	"github.com/tsdbridge/tsdbridge/storage"
)

// A CopySide is one of the two stores of "copy".
type CopySide struct {
	// Given is the value of --from or --to: the URL of an adapter, or the name of a configuration file; empty: the flags of the
	// command itself name the store.
	Given string
	// Options are those of the configuration file, or of the command itself.
	Options adapter.Options
}

// url returns the URL of the adapter; empty: the tables are opened.
func (s CopySide) url() string {
	if IsURL(s.Given) {
		return s.Given
	}
	return ""
}

// IsURL reports whether the value of --from or --to is the URL of an adapter.
func IsURL(given string) bool {
	return strings.HasPrefix(given, "http://") || strings.HasPrefix(given, "https://")
}

// name names the store, for the state.
func (s CopySide) name() string {
	if url := s.url(); url != "" {
		return strings.TrimSuffix(url, "/")
	}
	return session.NameOf(s.Options)
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
	Verify     string        // --verify: VerifyNone, VerifySample or VerifyAll
	Follow     bool          // --follow: copy what changes, until a signal
	Pause      time.Duration // --follow-every: between two rounds
	Delete     bool          // --delete: points of the target that the source has no longer

	start, end int64 // milliseconds, after Validate
}

// What is compared after a copy.
const (
	VerifyNone   = "none"
	VerifySample = "sample"
	VerifyAll    = "all"
)

// sampled is the share of the ranges that VerifySample compares.
const sampled = 0.05

// DefaultCopyOptions returns the options without a flag.
func DefaultCopyOptions() CopyOptions {
	return CopyOptions{Parallel: runtime.GOMAXPROCS(0), Patience: pipeline.DefaultImportOptions().Patience, Verify: VerifyNone, Pause: 10 * time.Second}
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
	case c.Pause <= 0:
		return fmt.Errorf("--follow-every=%v: must be above 0", c.Pause)
	case c.Every < 0:
		return fmt.Errorf("--progress=%v: must not be negative", c.Every)
	}
	if _, err := admin.CopyMatches(c.Match); err != nil {
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

// what names what is copied, for the state.
func (c *CopyOptions) what() string { return whatIsChosen(c.Match, c.Start, c.End) }

// Copy copies what a store holds into another one.
func Copy(ctx context.Context, c CopyOptions, console command.Console) error {
	if c.From.Given == "" && c.To.Given == "" {
		return &command.ExitError{Code: command.ExitUsage, Err: errors.New("--from, --to: one of them at least must name a store; the other is that of the flags of this command")}
	}
	if c.From.name() == c.To.name() {
		return &command.ExitError{Code: command.ExitUsage, Err: fmt.Errorf("--from and --to are the same store, %s", c.From.name())}
	}
	return c.From.place().Read(ctx, func(ctx context.Context, from session.Tables) error {
		return c.To.place().Write(ctx, func(ctx context.Context, to session.Tables) error {
			if from.AdapterURL() != "" && from.AdapterURL() == to.AdapterURL() {
				return &command.ExitError{Code: command.ExitUsage, Err: errors.New("--from and --to are the same store: one adapter has it open")}
			}
			return c.run(ctx, from, to, console)
		})
	})
}

// place returns where the store is.
func (s CopySide) place() session.Place {
	o := s.Options
	o.ActiveSeries, o.NewSeries = -1, 0 // nothing may be left out
	return session.Place{Options: o, URL: s.url()}
}

// run copies from one open store into another.
func (c *CopyOptions) run(ctx context.Context, fromTables, toTables session.Tables, console command.Console) error {
	from, to := fromTables.Copy(), toTables.Copy()
	if local, ok := from.(*admin.LocalCopy); ok && c.Follow && !local.Shared() {
		return &command.ExitError{Code: command.ExitUsage, Err: errors.New("--follow: nothing changes in a store that this command alone has open: run the adapter with --web.enable-admin-api, and name its URL by --from")}
	}
	if c.Delete && !c.Follow {
		return &command.ExitError{Code: command.ExitUsage, Err: errors.New("--delete: it needs --follow")}
	}
	source, err := from.Source(c.query())
	if err != nil {
		return err
	}
	target, err := to.Source(c.query())
	if err != nil {
		return err
	}
	line, reporters := &command.StatusLine{Console: console}, reportersOf(fromTables, toTables)
	ctx = reporters.with(ctx)
	o := c.options(ctx, source, to, line, reporters)
	var done tablecopy.Progress
	if c.Follow {
		done, err = tablecopy.Follow(ctx, c.following(ctx, o, from, to, target, line, reporters))
	} else {
		done, err = tablecopy.Run(ctx, o)
	}
	line.Close()
	told := c.tell(ctx, done, err, console)
	if err == nil && c.Verify != VerifyNone {
		told = c.verify(context.WithoutCancel(ctx), done, source, target, console, reporters)
	}
	reporters.end(ctx, copyProgress(done), failure(told))
	return told
}

func (c *CopyOptions) query() admin.CopyQuery {
	return admin.CopyQuery{Match: c.Match, Start: c.start, End: c.end}
}

// options returns what a copy needs.
func (c *CopyOptions) options(ctx context.Context, from tablecopy.Source, to tablecopy.Target, line *command.StatusLine, reporters copyReporters) tablecopy.Options {
	o := tablecopy.Options{
		From: from, To: to, FromName: c.From.name(), ToName: c.To.name(), What: c.what(), State: c.State,
		Parallel: c.Parallel, Rate: c.Rate, Patience: c.Patience, Every: time.Second, Now: time.Now,
		Failed: func(err error) { fmt.Fprintf(line, "waiting for a store: %v\n", err) },
		Lost:   func(l tablecopy.Loss) { fmt.Fprintf(line, "not copied: %s: %s\n", l.What, l.Reason) },
	}
	var printed time.Duration
	o.Progress = func(p tablecopy.Progress) {
		if (line.Console.Terminal || c.Every > 0) && p.Took-printed >= c.Every {
			printed = p.Took
			line.Print(p.String())
		}
		reporters.report(ctx, copyProgress(p))
	}
	return o
}

// restEvery is how often a copy that follows copies all but the points again.
const restEvery = time.Hour

// following returns what a copy that follows needs in addition.
func (c *CopyOptions) following(ctx context.Context, o tablecopy.Options, from, to session.Copy, target tablecopy.Source, line *command.StatusLine, reporters copyReporters) tablecopy.FollowOptions {
	var points int64 // of all rounds
	f := tablecopy.FollowOptions{
		Options: o, Changes: from, Target: target, Start: c.start, End: c.end, Pause: c.Pause, Rest: restEvery,
		Since: c.since(from), TargetSince: c.since(to),
		Round: func(r tablecopy.Round) {
			c.tellRound(r, line)
			points += r.Points
			reporters.report(ctx, admin.Progress{Points: points, At: fmt.Sprintf("following: %v behind", r.Behind.Round(time.Millisecond))})
		},
	}
	if c.Delete {
		f.Deleter = to
	}
	return f
}

// since returns a function that returns the Source of what is copied, from a time on.
func (c *CopyOptions) since(side session.Copy) func(int64) (tablecopy.Source, error) {
	return func(start int64) (tablecopy.Source, error) {
		q := c.query()
		q.Start = start
		return side.Source(q)
	}
}

// tellRound prints what a round has copied.
func (c *CopyOptions) tellRound(r tablecopy.Round, line *command.StatusLine) {
	text := fmt.Sprintf("following: %v behind, %d points in this round", r.Behind.Round(time.Millisecond), r.Points)
	if r.Pruned > 0 {
		text += fmt.Sprintf(", %d deleted", r.Pruned)
	}
	if r.Last {
		text += "; this was the last one"
	}
	line.Print(text)
}

// verify compares the stores after a copy.
func (c *CopyOptions) verify(ctx context.Context, done tablecopy.Progress, source, target tablecopy.Source, console command.Console, reporters copyReporters) error {
	line := &command.StatusLine{Console: console}
	o := tablecopy.VerifyOptions{From: source, To: target, Parallel: c.Parallel, Sample: 1, Differs: differs(line)}
	o.Asking = pipeline.Asking{Patience: c.Patience, Failed: waiting(line), Now: time.Now}
	if c.Verify == VerifySample {
		o.Sample = sampled
	}
	told, last := copyProgress(done), time.Now()
	o.Progress = func(v tablecopy.Verified) {
		told.At = fmt.Sprintf("comparing: %d ranges, %d points", v.Ranges, v.Points)
		if console.Terminal {
			line.Print(told.At)
		}
		if time.Since(last) >= time.Second {
			last = time.Now()
			reporters.report(ctx, told)
		}
	}
	v, err := tablecopy.Verify(ctx, o)
	line.Close()
	if err != nil {
		return fmt.Errorf("compare the stores: %w", err)
	}
	fmt.Fprintf(console.Out, "compared: %d series, %d points of %d ranges; %s\n", v.Series, v.Points, v.Ranges, found(v))
	switch {
	case v.Differ > 0:
		return &command.ExitError{Code: command.ExitIncomplete, Err: fmt.Errorf("%d series differ", v.Differ)}
	case done.LostN > 0:
		return &command.ExitError{Code: command.ExitIncomplete, Err: fmt.Errorf("%d things were not copied", done.LostN)}
	}
	return nil
}

// differs prints series that differ.
func differs(line *command.StatusLine) func(tablecopy.Difference) {
	return func(d tablecopy.Difference) { fmt.Fprintln(line, strings.ToValidUTF8("differs: "+d.String(), "?")) }
}

// found returns what a comparison has found.
func found(v tablecopy.Verified) string {
	return fmt.Sprintf("%d series differ, %d points are missing, %d are others", v.Differ, v.Missing, v.Other)
}

// tell prints what was copied.
func (c *CopyOptions) tell(ctx context.Context, done tablecopy.Progress, err error, console command.Console) error {
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
		return &command.ExitError{Code: command.ExitIncomplete, Err: fmt.Errorf("%d things were not copied", done.LostN)}
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

// Load returns the options of the store that a configuration file names.
type Load func(file string, stderr io.Writer) (adapter.Options, error)

// copyWith copies one store into another. A side that no flag names is that of the command's own flags.
func copyWith(load Load) func(context.Context, adapter.Options, CopyOptions, command.Console) error {
	return func(ctx context.Context, o adapter.Options, c CopyOptions, console command.Console) error {
		for flag, side := range map[string]*CopySide{"from": &c.From, "to": &c.To} {
			side.Options = o
			if side.Given == "" || side.url() != "" {
				continue
			}
			read, err := load(side.Given, console.Err)
			if err != nil {
				return &command.ExitError{Code: command.ExitUsage, Err: fmt.Errorf("--%s=%s: %w", flag, side.Given, err)}
			}
			side.Options = read
			side.Options.Logger = o.Logger
		}
		return Copy(ctx, c, console)
	}
}

// copyCommand defines "copy".
func copyCommand(s *command.Set, load Load) {
	o := DefaultCopyOptions()
	c := s.Add(s.App, "copy", command.With(copyWith(load), &o), "Copy all that a store holds into another one, whatever engines, UID widths and salts they have: points, histograms, exemplars, annotations, metadata, trees, archives and rolled up values. What the other store has in addition stays.")
	const side = "a configuration file of tsdbridge that names it, or the URL of an adapter that has it open (it needs --web.enable-admin-api). Default: the store of the flags of this command."
	c.Flag("from", "Store that is read: "+side).PlaceHolder("FILE|URL").StringVar(&o.From.Given)
	c.Flag("to", "Store that is written: "+side).PlaceHolder("FILE|URL").StringVar(&o.To.Given)
	c.Flag("match", "Series: metric{tag=filter,...} as in m= of a query; * is any metric. It may be repeated. Default: all series, and what belongs to none.").PlaceHolder("SERIES").StringsVar(&o.Match)
	c.Flag("from-time", "Time of the first points, as in a query of OpenTSDB: 2026/01/31-12:00:00 (UTC), 1356998400, 30d-ago.").PlaceHolder("TIME").StringVar(&o.Start)
	c.Flag("to-time", "Time of the last points.").PlaceHolder("TIME").StringVar(&o.End)
	c.Flag("state", "File that keeps how far the copy is. The same command goes on there after an interruption.").PlaceHolder("FILE").StringVar(&o.State)
	c.Flag("verify", "What is compared afterwards: none, sample (all series, and the points of a twentieth of the ranges, at random), all.").Default(o.Verify).EnumVar(&o.Verify, VerifyNone, VerifySample, VerifyAll)
	c.Flag("follow", "After the copy, copy what changes in the source, until a signal; then once more.").BoolVar(&o.Follow)
	c.Flag("follow-every", "Time between two rounds of --follow.").Default(o.Pause.String()).DurationVar(&o.Pause)
	c.Flag("delete", "With --follow: delete points of the copied series in the target where the source has deleted some.").BoolVar(&o.Delete)
	c.Flag("rate", "Points that are copied in a second at most; 0: no limit.").Default("0").IntVar(&o.Rate)
	c.Flag("parallel", "Ranges that are copied at once. Default: the number of cores.").PlaceHolder("N").IntVar(&o.Parallel)
	c.Flag("patience", "How long requests to a store that fails are repeated before the copy ends.").Default(o.Patience.String()).DurationVar(&o.Patience)
	c.Flag("progress", "Time between two lines of progress on the standard error. Default: each second on a terminal, otherwise none.").Default("0s").DurationVar(&o.Every)
	c.Action(func(*kingpin.ParseContext) error { return o.Validate(time.Now()) })
}
