package adapter

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/adapter/trees"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/pebble"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/translate"
	"github.com/tsdbridge/tsdbridge/tree"
)

// treeTool is what the tree commands work with: the tables, without a running adapter.
type treeTool struct {
	trees.Printer
	o      Options
	engine io.Closer
	tables *storage.Store
}

// openTreeTool opens existing tables.
func openTreeTool(o Options) (*treeTool, error) {
	switch o.Engine {
	case EngineMemory:
		return nil, errors.New("--storage.engine=memory keeps nothing that another process could look at: " + askAdapter)
	case EngineEmbedded:
		if _, err := os.Stat(o.Path); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("--storage.path=%s: there is no store", o.Path)
		}
	}
	names, err := o.translator()
	if err != nil {
		return nil, err
	}
	db, engine, err := o.openEngine(prometheus.NewRegistry(), 0)
	if err != nil {
		return nil, err
	}
	so := o.storageOptions()
	// the log is the adapter's
	so.Mode, so.LogUnacknowledged, so.Buffer.Dir = storage.WriteThrough, false, ""
	// and so is what is too old
	so.Retention = 0
	tables, err := storage.New(db, so)
	if err == nil {
		err = tables.PinLayout(context.Background())
	}
	if err != nil {
		return nil, errors.Join(err, engine.Close())
	}
	t := &treeTool{Printer: o.treePrinter(tree.New(db, o.treeOptions(names)), tables, names, db), o: o, engine: engine, tables: tables}
	t.Alone = true
	return t, nil
}

// treePrinter explains and prints the trees of a forest.
func (o Options) treePrinter(forest *tree.Forest, store *storage.Store, names *translate.Translator, db kv.KV) trees.Printer {
	return trees.Printer{Explainer: trees.Explainer{Forest: forest, Store: store.Catalog(), Names: names}, DB: db, Table: o.TableTree}
}

// askAdapter adds to an error what to do when another process has the tables open.
const askAdapter = "a running adapter answers the same at /api/v1/status/trees and /api/v1/status/trees/test?name=NAME"

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
	d := tree.DefaultSyncOptions()
	return SyncOptions{Parallel: d.Parallel, Every: d.Every}
}

func (s SyncOptions) options(o Options, begin time.Time, out io.Writer) (tree.SyncOptions, error) {
	so := tree.DefaultSyncOptions()
	so.Rows, so.Parallel, so.Every, so.Now = s.Rows, s.Parallel, s.Every, o.Now
	var err error
	if so.From, err = hex.DecodeString(s.From); err != nil {
		return so, fmt.Errorf("--from=%s: %w", s.From, err)
	}
	if s.Parallel < 1 {
		return so, fmt.Errorf("--parallel=%d: must be above 0", s.Parallel)
	}
	so.Progress = func(r tree.SyncReport) {
		rate := float64(r.Series) / max(o.Now().Sub(begin).Seconds(), 0.001)
		fmt.Fprintf(out, "done up to %s: %d series, %.0f/s; %d branches and %d leaves written%s\n",
			schema.FormatTSUID(r.Position), r.Series, rate, r.WrittenBranches, r.WrittenLeaves, misses(r))
	}
	return so, nil
}

// misses returns how many series have no leaf, in all trees together.
func misses(r tree.SyncReport) string {
	collided, unmatched, failed := 0, 0, 0
	for _, t := range r.Trees {
		collided += t.Collided
		unmatched += t.NoMatch + t.Refused + t.OnRoot
		failed += t.Failed
	}
	return fmt.Sprintf(", %d collided, %d not matched, %d failed", collided, unmatched, failed)
}

// SyncTrees writes the trees of the configuration and appends the existing series to those that are
// enabled. When it is interrupted it prints how to continue. An adapter that has the store open
// does it with its own configuration, and SyncTrees waits for it.
func SyncTrees(ctx context.Context, o Options, s SyncOptions, out io.Writer) error {
	begin := o.Now()
	so, err := s.options(o, begin, out)
	if err != nil {
		return err
	}
	t, err := openTreeTool(o)
	switch {
	case errors.Is(err, pebble.ErrInUse):
		return o.askSync(ctx, s, out)
	case err != nil:
		return err
	}
	declared, err := o.Graphite.definitions()
	if err == nil {
		err = tree.Declare(ctx, t.DB, o.TableTree, declared)
	}
	if err != nil {
		return errors.Join(err, t.engine.Close())
	}
	report, err := tree.Sync(ctx, t.DB, o.treeOptions(t.Names), t.tables.Catalog(), so)
	err = errors.Join(err, t.engine.Close())
	if err != nil && len(report.Position) > 0 {
		err = fmt.Errorf("%w; to go on: tree sync --from=%s", err, schema.FormatTSUID(report.Position))
	}
	fmt.Fprintf(out, "%sin %v\n", report, o.Now().Sub(begin).Round(time.Millisecond))
	return err
}

// TestTree prints how a series is routed through trees (ids or names; none: all of them), rule by
// rule. The name is a Graphite name, dotted or tagged, a label set such as up{job="x"}, or a TSUID
// in hexadecimal. url is the URL of the adapter that has the store open; "" means the one on this
// machine.
func TestTree(ctx context.Context, o Options, url, name string, asked []string, out io.Writer) error {
	err := o.withTrees(ctx, func(t *treeTool) error {
		r, err := t.Explain(ctx, name, asked)
		if err != nil {
			return err
		}
		_, err = io.WriteString(out, r.String())
		return err
	})
	if errors.Is(err, pebble.ErrInUse) {
		return o.askTest(ctx, url, name, asked, out)
	}
	return err
}

// ShowTree prints trees with their rules and counts: the one with a name or an id, or all of them
// for "". With a path, a pattern of Graphite, it prints the branches and leaves up to depth
// elements below it instead, or all for depth 0; "." is the root. url is as for TestTree.
func ShowTree(ctx context.Context, o Options, url, nameOrID, path string, depth int, out io.Writer) error {
	err := o.withTrees(ctx, func(t *treeTool) error { return t.Print(ctx, nameOrID, path, depth, out) })
	if errors.Is(err, pebble.ErrInUse) {
		return o.askShow(ctx, url, nameOrID, path, depth, out)
	}
	return err
}

// withTrees opens the tables, reads the definitions and closes what was opened.
func (o Options) withTrees(ctx context.Context, use func(*treeTool) error) error {
	t, err := openTreeTool(o)
	if err != nil {
		return err
	}
	err = t.Forest.LoadTrees(ctx)
	if err == nil {
		err = use(t)
	}
	return errors.Join(err, t.engine.Close())
}

// treeOptions returns the options of a forest over the tables.
func (o Options) treeOptions(names *translate.Translator) tree.Options {
	t := tree.DefaultOptions()
	t.TreeTable, t.UIDTable, t.Exclusive = o.TableTree, o.TableUID, o.Engine != EngineHBase
	t.Shown, t.Plain, t.DefaultTree, t.Inverse = translate.Shown, names.Plain, o.Graphite.DefaultTree, o.Graphite.inverts
	t.Stored, t.Rest = names.FromShown, names.RestOf
	return t
}
