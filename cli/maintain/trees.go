package maintain

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/cli/session"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/tree/forest"
)

// SyncOptions are the flags of "tree sync".
type SyncOptions struct {
	From     string        // --from: TSUID in hexadecimal
	Rows     bool          // --rows: row keys of the data table too
	Parallel int           // --parallel: batches at a time
	Every    time.Duration // --progress: between two lines
	URL      string        // --adapter-url: of the adapter that has the store open
}

// DefaultSyncOptions returns the options without a flag.
func DefaultSyncOptions() SyncOptions {
	d := forest.DefaultSyncOptions()
	return SyncOptions{Parallel: d.Parallel, Every: d.Every}
}

func (s SyncOptions) options(o adapter.Options, begin time.Time, out io.Writer) (forest.SyncOptions, error) {
	so := forest.DefaultSyncOptions()
	so.Rows, so.Parallel, so.Every, so.Now = s.Rows, s.Parallel, s.Every, o.Now
	var err error
	if so.From, err = hex.DecodeString(s.From); err != nil {
		return so, fmt.Errorf("--from=%s: %w", s.From, err)
	}
	if s.Parallel < 1 {
		return so, fmt.Errorf("--parallel=%d: must be above 0", s.Parallel)
	}
	so.Progress = func(r forest.SyncReport) {
		rate := float64(r.Series) / max(o.Now().Sub(begin).Seconds(), 0.001)
		fmt.Fprintf(out, "done up to %s: %d series, %.0f/s; %d branches and %d leaves written%s\n",
			schema.FormatTSUID(r.Position), r.Series, rate, r.WrittenBranches, r.WrittenLeaves, misses(r))
	}
	return so, nil
}

// misses returns how many series have no leaf, in all trees together.
func misses(r forest.SyncReport) string {
	collided, unmatched, failed := 0, 0, 0
	for _, t := range r.Trees {
		collided += t.Collided
		unmatched += t.NoMatch + t.Refused + t.OnRoot
		failed += t.Failed
	}
	return fmt.Sprintf(", %d collided, %d not matched, %d failed", collided, unmatched, failed)
}

// SyncTrees writes the trees of the configuration and appends the existing series to those that are
// enabled. When it is interrupted it prints how to continue. An adapter does it with its own configuration, and SyncTrees waits for it.
func SyncTrees(ctx context.Context, o adapter.Options, s SyncOptions, out io.Writer) error {
	so, err := s.options(o, o.Now(), out)
	if err != nil {
		return err
	}
	open := func(ctx context.Context, use func(context.Context, treeSyncer) error) error {
		return openTrees(o, func(t *adapter.OpenedTrees) error { return use(ctx, localTrees{t, o, so}) })
	}
	remote := func(base string) treeSyncer { return remoteTrees{base, s} }
	return session.LocalOrRemote(ctx, session.Place{Options: o, URL: s.URL}, open, remote, func(ctx context.Context, t treeSyncer) error { return t.sync(ctx, out) })
}

// A treeSyncer appends the existing series to trees.
type treeSyncer interface {
	sync(ctx context.Context, out io.Writer) error
}

// A treePrinter prints trees, and how they place series.
type treePrinter interface {
	show(ctx context.Context, nameOrID, path string, depth int, out io.Writer) error
	test(ctx context.Context, name string, trees []string, out io.Writer) error
}

// TestTree prints how a series is routed through trees (ids or names; none: all of them), rule by
// rule. The name is a Graphite name, dotted or tagged, a label set such as up{job="x"}, or a TSUID
// in hexadecimal. url is the URL of the adapter that answers; without one the tables are opened, or the adapter on this machine
// that has them open answers.
func TestTree(ctx context.Context, o adapter.Options, url, name string, names []string, out io.Writer) error {
	return withTrees(ctx, o, url, func(ctx context.Context, t treePrinter) error { return t.test(ctx, name, names, out) })
}

// ShowTree prints trees with their rules and counts: the one with a name or an id, or all of them
// for "". With a path, a pattern of Graphite, it prints the branches and leaves up to depth
// elements below it instead, or all for depth 0; "." is the root. url is as for TestTree.
func ShowTree(ctx context.Context, o adapter.Options, url, nameOrID, path string, depth int, out io.Writer) error {
	return withTrees(ctx, o, url, func(ctx context.Context, t treePrinter) error { return t.show(ctx, nameOrID, path, depth, out) })
}

// withTrees calls use with the trees of the tables, after their definitions were read.
func withTrees(ctx context.Context, o adapter.Options, url string, use func(context.Context, treePrinter) error) error {
	open := func(ctx context.Context, use func(context.Context, treePrinter) error) error {
		return openTrees(o, func(t *adapter.OpenedTrees) error {
			if err := t.Forest.LoadTrees(ctx); err != nil {
				return err
			}
			return use(ctx, localTrees{OpenedTrees: t})
		})
	}
	remote := func(base string) treePrinter { return remoteTrees{base: base} }
	return session.LocalOrRemote(ctx, session.Place{Options: o, URL: url}, open, remote, use)
}

// openTrees opens the tables, and closes them after use.
func openTrees(o adapter.Options, use func(*adapter.OpenedTrees) error) error {
	t, err := adapter.OpenTrees(o)
	if err != nil {
		return err
	}
	return errors.Join(use(t), t.Close())
}

// localTrees are those of tables that this process has open.
type localTrees struct {
	*adapter.OpenedTrees

	o       adapter.Options
	options forest.SyncOptions
}

func (t localTrees) show(ctx context.Context, nameOrID, path string, depth int, out io.Writer) error {
	return t.Print(ctx, nameOrID, path, depth, out)
}

func (t localTrees) test(ctx context.Context, name string, trees []string, out io.Writer) error {
	r, err := t.Explain(ctx, name, trees)
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, r.String())
	return err
}

func (t localTrees) sync(ctx context.Context, out io.Writer) error {
	begin := t.o.Now()
	if err := t.Declare(ctx); err != nil {
		return err
	}
	report, err := t.Sync(ctx, t.options)
	if err != nil && len(report.Position) > 0 {
		err = fmt.Errorf("%w; to go on: tree sync --from=%s", err, schema.FormatTSUID(report.Position))
	}
	fmt.Fprintf(out, "%sin %v\n", report, t.o.Now().Sub(begin).Round(time.Millisecond))
	return err
}

// TreeCommands adds the commands about trees to a command line.
func TreeCommands(s *command.Set) {
	t := s.Group("tree", "The trees in which Graphite's names are found.")
	flags := DefaultSyncOptions()
	treeSyncFlags(s.Add(t, "sync", printing(SyncTrees, &flags), "Add the existing series to all trees. It only adds."), &flags)
	showCommand(s, t)
	testCommand(s, t)
}

func showCommand(s *command.Set, t *kingpin.CmdClause) {
	var url, tree, path string
	var depth int
	run := func(ctx context.Context, o adapter.Options, console command.Console) error {
		return ShowTree(ctx, o, url, tree, path, depth, console.Out)
	}
	c := s.Add(t, "show", run, "List the trees with their rules, or the contents of one of them.")
	c.Arg("tree", "Name or number of a tree; none: all.").StringVar(&tree)
	c.Arg("path", "Dotted path or pattern whose contents are listed.").StringVar(&path)
	c.Flag("depth", "Levels below the path; 0: all.").Default("1").IntVar(&depth)
	c.Flag("adapter-url", command.AnsweringAdapter).PlaceHolder("URL").StringVar(&url)
}

func testCommand(s *command.Set, t *kingpin.CmdClause) {
	var url, name string
	var names []string
	run := func(ctx context.Context, o adapter.Options, console command.Console) error {
		return TestTree(ctx, o, url, name, names, console.Out)
	}
	c := s.Add(t, "test", run, "Explain, rule by rule, where the trees place a series.")
	c.Arg("series", "Graphite name (a.b.c or a.b;k=v), labels (a{k=\"v\"}) or TSUID in hexadecimal.").Required().StringVar(&name)
	c.Flag("adapter-url", command.AnsweringAdapter).PlaceHolder("URL").StringVar(&url)
	c.Flag("tree", "Name or number of a tree; repeatable. Default: all.").PlaceHolder("TREE").StringsVar(&names)
}

// treeSyncFlags are the flags of "tree sync".
func treeSyncFlags(sync *kingpin.CmdClause, s *SyncOptions) {
	sync.Flag("from", "Where to continue: the hexadecimal TSUID that an interrupted sync printed.").PlaceHolder("TSUID").StringVar(&s.From)
	sync.Flag("rows", "Also find series in the row keys of the data table, for tables that TSDs without meta tracking write. Slow.").BoolVar(&s.Rows)
	sync.Flag("parallel", "Batches of series that are processed at once.").Default(strconv.Itoa(s.Parallel)).IntVar(&s.Parallel)
	sync.Flag("adapter-url", command.RunningAdapter).PlaceHolder("URL").StringVar(&s.URL)
	sync.Flag("progress", "Time between two lines of progress.").Default(s.Every.String()).DurationVar(&s.Every)
}
