package forest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/kv/kvtest"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/tree"
)

// listed is a catalog of some series, in the order of their TSUIDs.
type listed struct {
	series []NewSeries
	size   int // of a batch
}

// EachTSUID implements Catalog.
func (l listed) EachTSUID(ctx context.Context, c storage.SeriesScan, visit func([][]byte) error) error {
	var part [][]byte
	give := func() error {
		if err := ctx.Err(); err != nil || len(part) == 0 {
			return err
		}
		full := part
		part = nil
		return visit(full)
	}
	for _, s := range l.series {
		if bytes.Compare(s.TSUID, c.From) < 0 {
			continue
		}
		if part = append(part, s.TSUID); len(part) == l.size {
			if err := give(); err != nil {
				return err
			}
		}
	}
	return give()
}

// NameSeries implements Catalog. A series without a metric has a UID without a name.
func (l listed) NameSeries(_ context.Context, tsuids [][]byte) ([]NewSeries, error) {
	var named []NewSeries
	for _, tsuid := range tsuids {
		for _, s := range l.series {
			if bytes.Equal(s.TSUID, tsuid) && s.Metric != "" {
				named = append(named, s)
			}
		}
	}
	return named, nil
}

// syncSeries returns series with every outcome: three share a leaf with another, one has a single
// name, one has no name at all.
func syncSeries(n int) listed {
	l := listed{size: 7}
	for i := range n {
		l.series = append(l.series, numbered(i, fmt.Sprintf("cpu.n%d.user", i%(n-3))))
	}
	return listed{append(l.series, numbered(n, "alone"), numbered(n+1, "")), l.size}
}

func syncAll(t *testing.T, db kv.KV, c Catalog, change ...func(*SyncOptions)) (SyncReport, error) {
	t.Helper()
	o := DefaultSyncOptions()
	o.Every = 0
	for _, change := range change {
		change(&o)
	}
	return Sync(t.Context(), db, DefaultOptions(), c, o)
}

// one makes the outcome of a sync depend on its series alone: of several that share a leaf the
// first gets it.
func one(o *SyncOptions) { o.Parallel = 1 }

func TestSync(t *testing.T) {
	all := syncSeries(50)
	want := newTables(t)
	if err := newForest(t, want, false).Observe(t.Context(), all.series[:51]); err != nil {
		t.Fatal(err)
	}
	asked := map[int]int{}
	for _, maxCells := range []int{4_000_000, 5} { // remembers all, forgets all the time
		db := newTables(t)
		again := func(branches, leaves int64) {
			o, so := DefaultOptions(), DefaultSyncOptions()
			// as on a local engine; nothing is assumed before it is asked for
			o.Exclusive = true
			one(&so)
			so.MaxCells = maxCells
			counting := &asking{KV: db}
			report, err := Sync(t.Context(), counting, o, all, so)
			asked[maxCells] += counting.asked
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(cells(t, want), cells(t, db)); diff != "" {
				t.Errorf("rows of Observe and Sync (-want +got):\n%s", diff)
			}
			said := fmt.Sprintf("52 series, %d branches and %d leaves written, 1 series have UIDs without names\n"+
				"tree 1 (default): 47 with a leaf, 0 collided leaves, 3 with the path of another series, 1 of one name, 0 without a match, 0 refused by strict match, 0 failed\n", branches, leaves)
			if report.String() != said || !bytes.Equal(report.Position, all.series[51].TSUID) {
				t.Errorf("the report, at %X, is\n%swant\n%s", report.Position, report, said)
			}
		}
		again(1+1+47, 47)
		again(0, 0)
	}
	if asked[5] <= asked[4_000_000] {
		t.Errorf("the table is asked %d times by who remembers 5 cells, %d times by who remembers all", asked[5], asked[4_000_000])
	}
}

// asking counts check-and-puts.
type asking struct {
	kv.KV
	mu    sync.Mutex // guards asked
	asked int
}

func (a *asking) CheckAndPut(ctx context.Context, c kv.Column, expected, value []byte) (bool, error) {
	a.mu.Lock()
	a.asked++
	a.mu.Unlock()
	return a.KV.CheckAndPut(ctx, c, expected, value)
}

// Nothing is reported as done before an Apply made it durable: on a local engine, check-and-puts
// are not durable by themselves.
func TestSyncIsDurable(t *testing.T) {
	all := syncSeries(20)
	all.series = all.series[:17]             // none share a leaf, so that no collisions are applied
	for n, told := range []int{0, 1, 2, 3} { // after each of three batches, and at the end
		faulty := kvtest.New(newTables(t))
		faulty.Fail(kvtest.Apply, n+1, kvtest.Before)
		calls := 0
		_, err := syncAll(t, faulty, all, one, func(o *SyncOptions) { o.Progress = func(SyncReport) { calls++ } })
		if err == nil || calls != told {
			t.Errorf("the flush number %d fails: error %v after %d reports, want %d", n+1, err, calls, told)
		}
	}
}

// After an error, all series up to the position have their rows; a sync from there writes the rest.
func TestSyncResumes(t *testing.T) {
	all := syncSeries(40)
	want := newTables(t)
	if _, err := syncAll(t, want, all, one); err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 100; n += 3 {
		db := newTables(t)
		faulty := kvtest.New(db)
		faulty.Fail(kvtest.CheckAndPut, n, []kvtest.When{kvtest.Before, kvtest.After}[n%2])
		report, err := syncAll(t, faulty, all, one)
		if err == nil {
			if n <= 1+1+2*37 { // the root, a branch, a branch and a leaf each
				t.Errorf("check-and-put %d fails, and Sync does not", n)
			}
			continue
		}
		forest := newForest(t, db, false)
		for _, s := range all.series {
			if s.Metric == "" || s.Metric == "alone" || bytes.Compare(s.TSUID, report.Position) > 0 {
				continue
			}
			route := forest.Trees()[0].Route(tree.Subject{TSUID: s.TSUID, Series: s.Series})
			if forest.Index().Holder(1, route) == nil {
				t.Errorf("check-and-put %d fails: %v is not there, the position is %X", n, s, report.Position)
			}
		}
		if _, err := syncAll(t, db, all, one, func(o *SyncOptions) { o.From = report.Position }); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(cells(t, want), cells(t, db)); diff != "" {
			t.Errorf("check-and-put %d fails: rows after going on (-want +got):\n%s", n, diff)
		}
	}
}

// A cancelled sync ends with the position of the last progress or a later one.
func TestSyncIsCancelled(t *testing.T) {
	all, db := syncSeries(200), newTables(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := DefaultSyncOptions()
	o.Every = 0
	var told SyncReport
	o.Progress = func(r SyncReport) {
		told = r
		if r.Series >= 70 {
			cancel()
		}
	}
	report, err := Sync(ctx, db, DefaultOptions(), all, o)
	if !errors.Is(err, context.Canceled) || told.Series < 70 || bytes.Compare(report.Position, told.Position) < 0 || report.Series > 200 {
		t.Errorf("Sync ends with %v at %X, after %d series; it told of %X and %d", err, report.Position, report.Series, told.Position, told.Series)
	}
	o.From, o.Progress = report.Position, nil
	if _, err := Sync(t.Context(), db, DefaultOptions(), all, o); err != nil {
		t.Fatal(err)
	}
	if got := newForest(t, db, false).Index().Leaves(); got != 200 {
		t.Errorf("%d leaves after going on, want 200", got)
	}
}

// Several syncs and a live adapter at once leave the same rows as one sync.
func TestSyncWithOtherProcesses(t *testing.T) {
	all, db, want := syncSeries(150), newTables(t), newTables(t)
	all.series = all.series[:147] // none share a leaf
	if _, err := syncAll(t, want, all); err != nil {
		t.Fatal(err)
	}
	var others sync.WaitGroup
	live := newForest(t, db, false)
	for _, work := range []func() error{
		func() error { _, err := syncAll(t, db, all); return err },
		func() error { _, err := syncAll(t, db, all, one); return err },
		func() error {
			for i := range all.series {
				if err := live.Observe(t.Context(), all.series[len(all.series)-1-i:][:1]); err != nil {
					return err
				}
			}
			return nil
		},
	} {
		others.Go(func() {
			if err := work(); err != nil {
				t.Error(err)
			}
		})
	}
	others.Wait()
	if diff := cmp.Diff(cells(t, want), cells(t, db)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestSyncWithoutTrees(t *testing.T) {
	db := newTables(t)
	if err := NewDefinitions(db, "tsdb-tree").Edit(t.Context(), 1, func(d *schema.Tree) { d.Enabled = false }); err != nil {
		t.Fatal(err)
	}
	if _, err := syncAll(t, db, syncSeries(5)); err == nil || !strings.Contains(err.Error(), "no tree is enabled") {
		t.Errorf("Sync without an enabled tree ends with %v", err)
	}
	putCell(t, db, schema.TreeRow(2), "tree", `{"name":"odd"`)
	report, _ := syncAll(t, db, syncSeries(5))
	if len(report.Broken) != 1 || !strings.Contains(report.String(), "tree 2") {
		t.Errorf("the report does not name the broken tree: %v", report)
	}
}
