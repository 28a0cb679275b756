// Package maintain has the commands that look after tables and mend them. Each opens the tables, or asks the adapter that has
// them open.
package maintain

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/adapter/admin"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/cli/session"
	"github.com/tsdbridge/tsdbridge/storage/fsck"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// FsckOptions are the flags of "fsck".
type FsckOptions struct {
	Tables     string        // --table: words of tables
	Fix        string        // --fix: kinds of findings that are mended
	Metrics    []string      // --metric
	Start, End string        // --start, --end: RFC 3339, or seconds since 1970
	Parallel   int           // --parallel: stretches at once
	State      string        // --state: file that keeps how far the check is
	URL        string        // --adapter-url: of the adapter that has the store open
	Every      time.Duration // --progress: between two lines; 0: on a terminal, each second
}

// DefaultFsckOptions returns the options without a flag.
func DefaultFsckOptions() FsckOptions { return FsckOptions{Parallel: 4} }

// query returns what is to be checked and mended.
func (f FsckOptions) query() (q fsck.Query, err error) {
	if q.Tables, err = fsck.ParseTables(f.Tables); err != nil {
		return q, fmt.Errorf("--table=%s: %w", f.Tables, err)
	}
	if q.Fix, err = fsck.ParseFix(f.Fix); err != nil {
		return q, fmt.Errorf("--fix=%s: %w", f.Fix, err)
	}
	q.Metrics = f.Metrics
	if q.From, err = baseOf(f.Start); err != nil {
		return q, fmt.Errorf("--start=%s: %w", f.Start, err)
	}
	last, err := baseOf(f.End)
	switch {
	case err != nil:
		return q, fmt.Errorf("--end=%s: %w", f.End, err)
	case f.End == "":
	case q.From > last:
		return q, fmt.Errorf("--start=%s is after --end=%s", f.Start, f.End)
	case last <= math.MaxUint32-schema.RowSeconds:
		q.Before = last + schema.RowSeconds
	}
	return q, nil
}

// baseOf returns the base time of the row of a time; 0 for "".
func baseOf(text string) (uint32, error) {
	if text == "" {
		return 0, nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return 0, errors.New("want a time such as 2013-01-01T00:00:00Z, or seconds since 1970")
		}
		seconds = at.Unix()
	}
	if seconds < 0 || seconds > math.MaxUint32 {
		return 0, errors.New("no row has this time")
	}
	return schema.Base(seconds * 1000), nil
}

// Validate names the flag that cannot work.
func (f FsckOptions) Validate() error {
	if f.Parallel < 1 || f.Parallel > fsck.MaxParallel {
		return fmt.Errorf("--parallel=%d: want 1 to %d", f.Parallel, fsck.MaxParallel)
	}
	if f.Every < 0 {
		return fmt.Errorf("--progress=%v: must not be negative", f.Every)
	}
	_, err := f.query()
	return err
}

// The exit codes of "fsck", which are those of fsck(8) and others of its kind.
const (
	exitFindings = 1 // something was found, mended or not
	exitFailed   = 2 // the check did not come to its end
)

// Fsck checks the rows of the OpenTSDB tables, and mends what it is told to. An adapter that has the
// embedded store open does it. Its exit codes are 0: nothing was found, 1: something was, 2: it did
// not come to its end.
func Fsck(ctx context.Context, o adapter.Options, f FsckOptions, console command.Console) error {
	report, err := f.run(ctx, o, console, nil)
	if err != nil {
		return f.failed(ctx, err)
	}
	fmt.Fprintf(console.Out, "%d rows and %d cells checked\n%s", report.Rows, report.Cells, report.Tally)
	if report.Tally.Errors() > 0 {
		return &command.ExitError{Code: exitFindings}
	}
	return nil
}

// failed returns the end of a command that did not come to its end.
func (f FsckOptions) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	if f.State != "" {
		err = fmt.Errorf("%w; the same command goes on where this one ended (--state=%s)", err, f.State)
	}
	return &command.ExitError{Code: exitFailed, Err: err}
}

// synced are the kinds of findings that "meta sync" makes rows and cells for.
func synced() []fsck.Kind { return []fsck.Kind{fsck.NoMeta, fsck.NoCounter, fsck.NoDocument} }

// SyncMeta prints which series that have data have no row of tsdb-meta, or no counter or document in
// it, and makes these if the options have a Fix. Its exit codes are those of Fsck, but for 0, which
// also means that all was made.
func SyncMeta(ctx context.Context, o adapter.Options, f FsckOptions, console command.Console) error {
	f.Tables = fsck.TableMeta
	if f.Fix != "" {
		kinds := make([]string, 0, len(synced()))
		for _, kind := range synced() {
			kinds = append(kinds, string(kind))
		}
		f.Fix = strings.Join(kinds, ",")
	}
	report, err := f.run(ctx, o, console, synced())
	if err != nil {
		return f.failed(ctx, err)
	}
	missing, made := int64(0), int64(0)
	for _, k := range synced() {
		if c := report.Tally[k]; c != nil {
			missing, made = missing+c.Found, made+c.Mended
		}
	}
	fmt.Fprintf(console.Out, "%d rows of tsdb-meta checked; of series %d rows or cells were missing, %d were made\n", report.Rows, missing, made)
	if missing > made {
		return &command.ExitError{Code: exitFindings}
	}
	return nil
}

// run checks, and prints findings of some kinds; nil: of all.
func (f FsckOptions) run(ctx context.Context, o adapter.Options, console command.Console, kinds []fsck.Kind) (report fsck.Report, err error) {
	q, err := f.query()
	if err != nil {
		return report, err
	}
	check := func(ctx context.Context, source fsck.Source) (err error) {
		report, err = f.check(ctx, o, console, q, source, kinds)
		return err
	}
	open := func(ctx context.Context, use func(context.Context, fsck.Source) error) error {
		return adapter.CheckTables(ctx, o, use)
	}
	if slices.Contains(q.Fix, fsck.NoMeta) && q.Checks(fsck.TableMeta) { // series are registered by a whole process
		open = func(ctx context.Context, use func(context.Context, fsck.Source) error) error {
			return session.ReadLocal(ctx, o, func(ctx context.Context, a *adapter.Adapter) error { return use(ctx, a.Checker(true)) })
		}
	}
	remote := func(base string) fsck.Source { return admin.RemoteChecker{Base: base} }
	err = session.LocalOrRemote(ctx, session.Place{Options: o, URL: f.URL}, open, remote, check)
	return report, err
}

// check runs the check and prints what it finds.
func (f FsckOptions) check(ctx context.Context, o adapter.Options, console command.Console, q fsck.Query, source fsck.Source, kinds []fsck.Kind) (fsck.Report, error) {
	line := &command.StatusLine{Console: console}
	defer line.Close()
	run := fsck.RunOptions{
		Query: q, Parallel: f.Parallel, State: f.State, Target: session.NameOf(o), Every: time.Second, Now: o.Now,
		Found: func(found fsck.Finding) {
			if kinds == nil || slices.Contains(kinds, found.Kind) {
				line.PrintAbove(console.Out, found.String())
			}
		},
	}
	if console.Terminal || f.Every > 0 {
		run.Progress = func(p fsck.Progress) { line.Print(p.String()) }
	}
	if f.Every > 0 {
		run.Every = f.Every
	}
	return fsck.Run(ctx, source, run)
}

// FsckCommand adds "fsck" to a command line.
func FsckCommand(s *command.Set) {
	f := DefaultFsckOptions()
	c := s.Add(s.App, "fsck", command.With(Fsck, &f), "Check the rows of the OpenTSDB tables, on every engine, and print what is wrong with them. The exit code is 0 if nothing is, 1 if something is, 2 if the check did not come to its end.")
	c.Flag("table", "Tables that are checked, separated by commas: data (tsdb), meta (tsdb-meta), tree (tsdb-tree). Default: all.").PlaceHolder("TABLE,...").StringVar(&f.Tables)
	c.Flag("fix", "Kinds of findings that are repaired, separated by commas; lossless: all whose repair loses nothing; all: all that can be repaired. Default: nothing is changed.").PlaceHolder("KIND,...").StringVar(&f.Fix)
	checkFlags(c, &f)
}

// MetaCommand adds "meta sync" to a command line.
func MetaCommand(s *command.Set) {
	f := DefaultFsckOptions()
	c := s.Add(s.Group("meta", "The rows of tsdb-meta."), "sync", command.With(SyncMeta, &f), "List the series that have data and no row of tsdb-meta, or no counter or document in it. The exit code is 0 if nothing is missing, 1 if something is, 2 if the command did not come to its end.")
	fix := c.Flag("fix", "Make what is missing, as a TSD's uid metasync does.").Bool()
	c.Action(func(*kingpin.ParseContext) error {
		if *fix {
			f.Fix = "no-meta"
		}
		return nil
	})
	checkFlags(c, &f)
}

// checkFlags are the flags of checks.
func checkFlags(c *kingpin.CmdClause, f *FsckOptions) {
	c.Flag("metric", "Check the rows of this metric; repeatable. Default: all rows.").PlaceHolder("METRIC").StringsVar(&f.Metrics)
	c.Flag("start", "Check the hours from this one on, such as 2013-01-01T00:00:00Z, or seconds since 1970.").PlaceHolder("TIME").StringVar(&f.Start)
	c.Flag("end", "Check the hours up to this one.").PlaceHolder("TIME").StringVar(&f.End)
	c.Flag("parallel", "Stretches of rows that are checked at once.").Default(strconv.Itoa(f.Parallel)).IntVar(&f.Parallel)
	c.Flag("state", "File that keeps how far the check is. The same command goes on there after an interruption.").PlaceHolder("FILE").StringVar(&f.State)
	c.Flag("adapter-url", command.RunningAdapter).PlaceHolder("URL").StringVar(&f.URL)
	c.Flag("progress", "Time between two lines of progress on the standard error. Default: each second on a terminal, otherwise none.").Default("0s").DurationVar(&f.Every)
	c.Action(func(*kingpin.ParseContext) error { return f.Validate() })
}
