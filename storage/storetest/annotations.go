package storetest

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// RunAnnotations compares the annotations of a store with a plain map: while points are written into
// the same rows, flushed and deleted, and through all ends of the process. Annotations of
// the map that a deletion of points reaches are gone.
func RunAnnotations(t *testing.T, c Config) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			for seed := range c.Seeds {
				t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
					t.Parallel()
					a := annotated{notes: map[noteKey]storage.Annotation{}}
					a.run = run{Config: c, t: t, rng: rand.New(rand.NewPCG(seed, 11)), engine: c.New(t), disk: logtest.New(seed), flags: way.flags, take: way.take}
					a.history()
				})
			}
		})
	}
}

// annotated is one run with annotations.
type annotated struct {
	run
	notes   map[noteKey]storage.Annotation
	deleted [3]bool // series that are deleted have no annotations until they have points again
}

// noteKey is where an annotation is. Series -1 has the global ones.
type noteKey struct {
	series int
	at     int64 // milliseconds
}

// edits are how many annotations a run writes.
const edits = 40

func (a *annotated) history() {
	a.start(Ended)
	a.append()
	for range edits {
		switch n := a.rng.IntN(13); {
		case n < 6:
			a.put()
		case n < 8:
			a.append()
		case n == 8:
			a.remove()
		case n == 9:
			a.removeRange()
		case n == 10:
			a.deletePoints()
		default:
			a.meet(End(a.rng.IntN(3)))
		}
	}
	a.check()
	a.process.End()
	a.start(Ended)
	a.check()
}

// moment returns a time of one of few rows. One of them has no points. No second is a multiple of 1000,
// which is the second of another cell (schema.AnnotationCell).
func (a *annotated) moment() int64 {
	hours := []int64{0, 1, 2, 24 * 9}[a.rng.IntN(4)]
	return begin + hours*3600_000 + a.rng.Int64N(6)*600_000 + 7000 + []int64{0, 500}[a.rng.IntN(2)]
}

// append writes points into some rows, of all series.
func (a *annotated) append() {
	a.t.Helper()
	var b storage.Batch
	for _, ref := range a.refs {
		b.Add(ref, begin+a.rng.Int64N(3)*3600_000+a.rng.Int64N(3600)*1000, a.rng.Float64())
	}
	if err := a.take(a.rng, a.process.Store).Append(a.t.Context(), &b); err != nil {
		a.t.Fatal(err)
	}
	a.deleted = [3]bool{}
}

func (a *annotated) tsuid(series int) string {
	if series < 0 {
		return ""
	}
	return schema.FormatTSUID(a.process.Catalog().TSUIDOf(a.refs[series]))
}

// put writes some annotations: of a series, or global ones.
func (a *annotated) put() {
	a.t.Helper()
	series := a.rng.IntN(len(a.refs)+1) - 1
	if series >= 0 && a.deleted[series] {
		return
	}
	mode := []storage.AnnotationMode{storage.MergeAnnotation, storage.ReplaceAnnotation}[a.rng.IntN(2)]
	var list []storage.Annotation
	for range 1 + a.rng.IntN(3) {
		at := a.moment()
		note := storage.Annotation{TSUID: a.tsuid(series), Start: at}
		if at%1000 == 0 {
			note.Start /= 1000
		}
		switch a.rng.IntN(4) {
		case 0:
			note.Description = fmt.Sprint(a.rng.IntN(100))
		case 1:
			note.Notes = fmt.Sprint(a.rng.IntN(100))
		case 2:
			note.Custom = map[string]string{"k": fmt.Sprint(a.rng.IntN(100))}
		default:
			note.End = note.Start + 5
		}
		list = append(list, note)
		key := noteKey{series, at}
		a.notes[key] = after(a.notes[key], note, mode)
	}
	if _, err := a.process.Annotations().Put(a.t.Context(), mode, list); err != nil {
		a.t.Fatal(err)
	}
}

// after returns what becomes of an annotation.
func after(was, note storage.Annotation, mode storage.AnnotationMode) storage.Annotation {
	if mode == storage.ReplaceAnnotation || was.Start == 0 {
		return note
	}
	if was.TSUID = note.TSUID; note.End != 0 {
		was.End = note.End
	}
	if note.Description != "" {
		was.Description = note.Description
	}
	if note.Notes != "" {
		was.Notes = note.Notes
	}
	if note.Custom != nil {
		was.Custom = note.Custom
	}
	return was
}

// remove deletes an annotation.
func (a *annotated) remove() {
	a.t.Helper()
	for _, key := range a.keys() {
		if a.rng.IntN(3) == 0 {
			if err := a.process.Annotations().Delete(a.t.Context(), a.tsuid(key.series), a.notes[key].Start); err != nil {
				a.t.Fatal(err)
			}
			delete(a.notes, key)
			return
		}
	}
}

func (a *annotated) keys() []noteKey {
	return slices.SortedFunc(maps.Keys(a.notes), func(x, y noteKey) int {
		if x.series != y.series {
			return x.series - y.series
		}
		return int(x.at - y.at)
	})
}

// reach returns a range, and forgets the annotations of a series in it.
func (a *annotated) reach(series int) (from, to int64, gone int) {
	from = a.moment()
	to = from + a.rng.Int64N(8)*1800_000
	return from, to, a.forget(series, from, to)
}

func (a *annotated) forget(series int, from, to int64) (gone int) {
	for key := range a.notes {
		if key.series == series && key.at >= from && key.at <= to {
			delete(a.notes, key)
			gone++
		}
	}
	return gone
}

func (a *annotated) removeRange() {
	a.t.Helper()
	series := a.rng.IntN(len(a.refs)+1) - 1
	from, to, want := a.reach(series)
	n, err := a.process.Annotations().DeleteRange(a.t.Context(), storage.AnnotationRange{TSUID: a.tsuid(series), From: from, To: to})
	if err != nil || n != want {
		a.t.Fatalf("deleted %d annotations, %v, want %d", n, err, want)
	}
}

// deletePoints deletes points of a series, or the series.
func (a *annotated) deletePoints() {
	a.t.Helper()
	series := a.rng.IntN(len(a.refs))
	d := storage.Deletion{Refs: a.refs[series : series+1]}
	if d.Whole = a.rng.IntN(3) == 0; d.Whole {
		a.forget(series, 0, storage.MaxTime)
		a.deleted[series] = true
	} else {
		d.Start, d.End, _ = a.reach(series)
	}
	if _, err := a.process.Delete(a.t.Context(), d); err != nil {
		a.t.Fatal(err)
	}
}

// check compares what is listed, and what queries of points are given.
func (a *annotated) check() {
	a.t.Helper()
	for series := -1; series < len(a.refs); series++ {
		want := map[int64]storage.Annotation{}
		for key, note := range a.notes {
			if key.series == series {
				want[note.Start] = note
			}
		}
		list, err := a.process.Annotations().List(a.t.Context(), storage.AnnotationRange{TSUID: a.tsuid(series), To: storage.MaxTime}, 0)
		if err != nil {
			a.t.Fatal(err)
		}
		a.compare("listed", series, want, list)
		if series < 0 {
			continue
		}
		a.compare("of a query", series, want, a.query(series))
		for _, note := range want {
			if got, ok, err := a.process.Annotations().Get(a.t.Context(), note.TSUID, note.Start); err != nil || !ok || cmp.Diff(note, got) != "" {
				a.t.Fatalf("Get(%s, %d) = %+v, %v, %v, want %+v", note.TSUID, note.Start, got, ok, err, note)
			}
		}
	}
}

func (a *annotated) compare(what string, series int, want map[int64]storage.Annotation, list []storage.Annotation) {
	a.t.Helper()
	got := map[int64]storage.Annotation{}
	for _, note := range list {
		got[note.Start] = note
	}
	if diff := cmp.Diff(want, got); diff != "" || len(list) != len(got) {
		a.t.Fatalf("annotations %s of series %d, %d of them: (-want +got)\n%s", what, series, len(list), diff)
	}
}

// query returns the annotations in the answer to a query for points of a series.
func (a *annotated) query(series int) (list []storage.Annotation) {
	a.t.Helper()
	q := storage.Query{Refs: a.refs[series : series+1], Start: begin, End: begin + 10*24*3600_000, Samples: true, Annotations: true}
	w := &noteWorker{}
	if err := a.process.SelectParts(a.t.Context(), q, func() storage.PartWorker { return w }); err != nil {
		a.t.Fatal(err)
	}
	for _, document := range w.documents {
		note, err := schema.ParseAnnotation([]byte(document))
		if err != nil {
			a.t.Fatal(err)
		}
		list = append(list, note)
	}
	return list
}

// noteWorker keeps the annotations of a query for one series, which is one part.
type noteWorker struct{ documents []string }

// Take implements storage.PartWorker.
func (w *noteWorker) Take(_ context.Context, p storage.Part) error {
	for _, points := range p.Points {
		for _, document := range points.Annotations {
			w.documents = append(w.documents, string(document))
		}
	}
	return nil
}

// Commit implements storage.PartWorker.
func (*noteWorker) Commit(context.Context) error { return nil }
