package store_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// annotate writes a note of a series at a second, and returns the error.
func annotate(t *testing.T, s *store.Store, ref storage.Ref, second int64) error {
	t.Helper()
	note := storage.Annotation{TSUID: schema.FormatTSUID(s.Catalog().TSUIDOf(ref)), Start: second, Notes: "n"}
	_, err := s.Annotations().Put(t.Context(), storage.MergeAnnotation, []storage.Annotation{note})
	return err
}

// annotated returns how many annotations a series has.
func annotated(t *testing.T, s *store.Store, ref storage.Ref) int {
	t.Helper()
	list, err := s.Annotations().List(t.Context(), storage.AnnotationRange{TSUID: schema.FormatTSUID(s.Catalog().TSUIDOf(ref)), To: storage.MaxTime}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// While a deletion is unfinished its rows take no annotation, which it would delete. After it, and
// after a start that finishes it, what was acknowledged stays.
func TestAnnotationsDuringADeletion(t *testing.T) {
	const second = deleteBegin/1000 + 45*60 + 1
	for _, killed := range []bool{false, true} {
		mem, disk := &failing{Local: kv.NewMem(storetest.Tables()...)}, logtest.New(5)
		mem.left.Store(math.MaxInt64)
		p := storetest.StartBuffered(t, mem, disk, func(o *store.Options) { o.Buffer.CheckInterval = time.Hour })
		refs, m := p.Resolve(deleteList), storetest.NewModel(len(deleteList))
		fill(t, p.Store, refs, m)
		for _, at := range []int64{second, second + 3600, second + 90*24*3600} { // the last one is far from all points
			if err := annotate(t, p.Store, refs[0], at); err != nil {
				t.Fatal(err)
			}
		}
		mem.left.Store(0)
		d := storage.Deletion{Refs: refs[:1], Start: deleteBegin + 30*60_000, End: deleteBegin + 50*60_000}
		if _, err := p.Delete(t.Context(), d); err == nil {
			t.Fatal("the deletion did not fail")
		}
		mem.left.Store(math.MaxInt64)
		if err := annotate(t, p.Store, refs[0], second+1); !errors.Is(err, storage.ErrNotReady) {
			t.Errorf("an annotation that would be deleted: %v", err)
		}
		for _, c := range []struct {
			ref    storage.Ref
			second int64
		}{{refs[0], second + 7200}, {refs[1], second}} {
			if err := annotate(t, p.Store, c.ref, c.second); err != nil {
				t.Errorf("an annotation that the deletion does not reach: %v", err)
			}
		}
		if killed {
			p.Stop()
			p = storetest.StartBuffered(t, mem, disk.Kill(3))
			refs = p.Resolve(deleteList)
		}
		if err := p.FinishDeletions(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := annotate(t, p.Store, refs[0], second+2); err != nil {
			t.Errorf("after the deletion: %v", err)
		}
		if err := p.FlushAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := annotated(t, p.Store, refs[0]); n != 4 { // next hour, the one after, far away, after the deletion
			t.Errorf("killed %v: %d annotations, want 4", killed, n)
		}
		if _, err := p.Delete(t.Context(), storage.Deletion{Refs: refs[:1], Start: 0, End: storage.MaxTime}); err != nil {
			t.Fatal(err)
		}
		if n, other := annotated(t, p.Store, refs[0]), annotated(t, p.Store, refs[1]); n != 0 || other != 1 {
			t.Errorf("killed %v: after a deletion of everything %d annotations, of the other series %d", killed, n, other)
		}
		p.End()
	}
}

// A compaction of closed rows keeps the annotations in them.
func TestAnnotationsOfClosedRows(t *testing.T) {
	w := newWorld(t, 1, 0)
	w.putSeconds(0, 5, 1.5)
	a := w.adapters[0]
	if err := annotate(t, a.Store, a.refs[0], 1356998403); err != nil {
		t.Fatal(err)
	}
	w.clock.Add(3600_000)
	w.beginClosed(w.keys[0], 1000)
	w.endClosed()
	rows, err := w.db.Get(t.Context(), "tsdb", "t", w.keys[:1])
	if err != nil || w.closed != 1 || len(rows[0].Cells) > 3 { // points, their ages, the annotation
		t.Errorf("%d compactions, then %v, %v", w.closed, rows, err)
	}
	if n := annotated(t, a.Store, a.refs[0]); n != 1 {
		t.Errorf("%d annotations", n)
	}
}

// noteCounter counts the annotations of the series of an answer.
type noteCounter struct {
	mu *sync.Mutex
	of map[storage.Ref]int
}

func (c *noteCounter) Take(_ context.Context, p storage.Part) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, points := range p.Points {
		c.of[points.Ref] += len(points.Annotations)
	}
	return nil
}

func (*noteCounter) Commit(context.Context) error { return nil }

// Queries for many series have the annotations of all, however their rows are read: by scans and by
// sweeps of shared tables too, of which a part is dropped and read again.
func TestAnnotationsOfManySeries(t *testing.T) {
	const many = 600
	for _, shared := range []bool{false, true} {
		var db kv.KV = kv.NewMem(storetest.Tables()...)
		if shared {
			db = kv.NewShared(storetest.Tables()...)
		}
		s := storetest.Open(t, db, func(o *store.Options) { o.Exclusive, o.SweepBytes = !shared, 1<<20 })
		var list []storage.Series
		for i := range many {
			list = append(list, storetest.Series("m", "host", fmt.Sprint(i)))
		}
		refs := storetest.Resolve(t, s, list...)
		var b storage.Batch
		var notes []storage.Annotation
		for i, ref := range refs {
			for h := range int64(20) {
				b.Add(ref, deleteBegin+h*3600_000, 1.5)
			}
			for n := range i % 3 {
				notes = append(notes, storage.Annotation{
					TSUID: schema.FormatTSUID(s.Catalog().TSUIDOf(ref)), Start: deleteBegin/1000 + 3600*int64(i%20) + int64(n), Notes: strings.Repeat("x", 10_000),
				})
			}
		}
		if err := s.Append(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Annotations().Put(t.Context(), storage.CreateAnnotation, notes); err != nil {
			t.Fatal(err)
		}
		q := storage.Query{Refs: refs, Start: deleteBegin, End: deleteBegin + 20*3600_000, Samples: true, Annotations: true}
		plans, err := s.Plan(q)
		if err != nil || shared == (plans[0].Kind == "rows") {
			t.Fatalf("shared %v: it is read by %+v, %v", shared, plans, err)
		}
		c := &noteCounter{mu: &sync.Mutex{}, of: map[storage.Ref]int{}}
		if err := s.SelectParts(t.Context(), q, func() storage.PartWorker { return c }); err != nil {
			t.Fatal(err)
		}
		for i, ref := range refs {
			if c.of[ref] != i%3 {
				t.Errorf("shared %v: series %d has %d annotations, want %d", shared, i, c.of[ref], i%3)
			}
		}
		if err := s.SelectParts(query.WithAccount(t.Context(), query.NewBudget(3<<20).Open()), q, func() storage.PartWorker { return c }); !errors.Is(err, query.ErrTooLarge) {
			t.Errorf("shared %v: 6 MB of annotations in 3 MiB: %v", shared, err)
		}
		q.Annotations = false
		c.of = map[storage.Ref]int{}
		if err := s.SelectParts(t.Context(), q, func() storage.PartWorker { return c }); err != nil || c.of[refs[2]] != 0 {
			t.Errorf("a query without annotations has %d, %v", c.of[refs[2]], err)
		}
	}
}

// The retention deletes the annotations of old hours, also global ones.
func TestAnnotationsGrowOld(t *testing.T) {
	now := time.Unix(1356998400, 0).Add(1000 * time.Hour)
	s := storetest.Open(t, kv.NewMem(storetest.Tables()...), func(o *store.Options) {
		o.Retention, o.Now = 24*time.Hour, func() time.Time { return now }
	})
	ref := storetest.Resolve(t, s, deleteList[:1]...)[0]
	for _, age := range []int64{25, 23} {
		second := now.Unix() - age*3600
		if err := annotate(t, s, ref, second+1); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Annotations().Put(t.Context(), storage.CreateAnnotation, []storage.Annotation{{Start: second + 1, Notes: "global"}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.DeleteOld(t.Context()); err != nil {
		t.Fatal(err)
	}
	global, err := s.Annotations().List(t.Context(), storage.AnnotationRange{To: storage.MaxTime}, 0)
	if n := annotated(t, s, ref); n != 1 || len(global) != 1 || err != nil {
		t.Errorf("%d annotations of the series and %d global ones are left, %v; want one of each", n, len(global), err)
	}
}

// An annotation of a series that was deleted registers it again: otherwise no deletion would find it.
func TestAnnotationOfADeletedSeries(t *testing.T) {
	p := storetest.StartBuffered(t, kv.NewMem(storetest.Tables()...), logtest.New(5))
	refs, m := p.Resolve(deleteList), storetest.NewModel(len(deleteList))
	fill(t, p.Store, refs, m)
	whole := storage.Deletion{Refs: refs[:1], Whole: true}
	if _, err := p.Delete(t.Context(), whole); err != nil {
		t.Fatal(err)
	}
	if err := annotate(t, p.Store, refs[0], deleteBegin/1000+45*60); err != nil {
		t.Fatal(err)
	}
	if n := annotated(t, p.Store, refs[0]); n != 1 {
		t.Errorf("%d annotations", n)
	}
	if got, err := p.Delete(t.Context(), whole); err != nil || got.Series != 1 || got.Rows != 1 {
		t.Errorf("deleted %+v, %v", got, err)
	}
	if n := annotated(t, p.Store, refs[0]); n != 0 {
		t.Errorf("%d annotations are left", n)
	}
	p.End()
}

// OpenTSDB puts an annotation at a whole thousand of seconds into the column of another second. A deletion goes by
// the time that it tells.
func TestDeleteAnnotationsByTheirStart(t *testing.T) {
	p := storetest.StartBuffered(t, kv.NewMem(storetest.Tables()...), logtest.New(5))
	refs, m := p.Resolve(deleteList), storetest.NewModel(len(deleteList))
	fill(t, p.Store, refs, m)
	second := int64(deleteBegin/1000/1000+1) * 1000
	if err := annotate(t, p.Store, refs[0], second); err != nil {
		t.Fatal(err)
	}
	for _, d := range []struct{ from, to, left int64 }{{-100, -1, 1}, {1, 100, 1}, {-1, 1, 0}} {
		if _, err := p.Delete(t.Context(), storage.Deletion{Refs: refs[:1], Start: (second + d.from) * 1000, End: (second + d.to) * 1000}); err != nil {
			t.Fatal(err)
		}
		if n := annotated(t, p.Store, refs[0]); int64(n) != d.left {
			t.Errorf("%d annotations are left after a deletion from %d to %d", n, d.from, d.to)
		}
	}
	p.End()
}
