package forest

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/kv/kvtest"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Run tries until it has loaded, finds what other processes add, logs once what is broken, and
// notices within an hour what others deleted.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := newTables(t)
		db.SetClock(func() int64 { return time.Now().UnixMilli() })
		putCell(t, db, schema.TreeRow(2), "tree", `{"name":"bad","enabled":true}`)
		putCell(t, db, schema.TreeRow(2), "tree_rule:0:0", `{"type":"METRIC","regex":"(","level":0,"order":0,"treeId":2}`)
		faulty := kvtest.New(db)
		faulty.Fail(kvtest.Scan, 1, kvtest.Before)
		var log bytes.Buffer
		f := New(faulty, DefaultOptions())
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- f.Run(ctx, time.Minute, slog.New(slog.NewTextHandler(&log, nil))) }()

		synctest.Wait()
		if s := f.Status(); s.Loaded || s.Err == nil {
			t.Errorf("after a scan that failed: loaded %v, %v", s.Loaded, s.Err)
		}
		time.Sleep(10 * time.Second)
		s := f.Status()
		if !s.Loaded || s.Err != nil || len(s.Trees) != 2 || s.Trees[0].Err != nil || s.Trees[1].Err == nil {
			t.Errorf("ten seconds later: %+v", s)
		}
		other := newForest(t, db, false)
		if err := other.Observe(ctx, []NewSeries{numbered(1, "a.b")}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		if s := f.Status(); s.Leaves != 1 {
			t.Errorf("%d leaves after another process wrote one", s.Leaves)
		}
		gone := []kv.Mutation{{Key: schema.BranchRow(1, "a"), DeleteRow: true}}
		if err := db.Apply(ctx, "tsdb-tree", schema.FamilyData, gone); err != nil {
			t.Fatal(err)
		}
		faulty.Fail(kvtest.Scan, 1, kvtest.Before)
		time.Sleep(time.Minute)
		if s := f.Status(); !s.Loaded || s.Err == nil {
			t.Errorf("after a refresh that failed: loaded %v, %v", s.Loaded, s.Err)
		}
		time.Sleep(2 * time.Hour)
		if s := f.Status(); s.Leaves != 0 || s.Err != nil {
			t.Errorf("%d leaves, %v, two hours after all were deleted", s.Leaves, s.Err)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		for text, want := range map[string]int{"tree cannot be used": 1, "the trees cannot be read": 2} {
			if got := strings.Count(log.String(), text); got != want {
				t.Errorf("%q is logged %d times, want %d:\n%s", text, got, want, log.String())
			}
		}
	})
}
