package events_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/graphite/events"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

const second = 1741050100

// engines are one of each contract.
func engines() map[bool]kv.KV {
	return map[bool]kv.KV{true: kv.NewMem(storetest.Tables()...), false: kv.NewShared(storetest.Tables()...)}
}

func open(t *testing.T, db kv.KV, exclusive bool) *store.Store {
	t.Helper()
	return storetest.Open(t, db, func(o *store.Options) { o.Exclusive = exclusive })
}

// all returns all events.
func all(t *testing.T, v *events.Events) []events.Event {
	t.Helper()
	list, err := v.Find(t.Context(), events.Query{Until: storage.MaxTime * 1000})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestAtOnce: events of one second that several processes make at once are all kept, with ids and
// starts of their own.
func TestAtOnce(t *testing.T) {
	for exclusive, db := range engines() {
		store := open(t, db, exclusive)
		processes := []*events.Events{events.New(store.Annotations()), events.New(store.Annotations()), events.New(store.Annotations())}
		var group sync.WaitGroup
		const each = 30
		for _, v := range processes {
			for i := range each {
				group.Go(func() {
					if _, err := v.Create(t.Context(), events.Event{When: second * 1e6, What: fmt.Sprint(i)}); err != nil {
						t.Error(err)
					}
				})
			}
		}
		group.Wait()
		ids, counts := map[int64]bool{}, map[string]int{}
		for _, e := range all(t, processes[0]) {
			ids[e.ID] = true
			counts[e.What]++
			if e.When != second*1e6 {
				t.Errorf("exclusive %v: event %d is at %d", exclusive, e.ID, e.When)
			}
		}
		if len(ids) != len(processes)*each || len(counts) != each {
			t.Errorf("exclusive %v: %d ids, %v", exclusive, len(ids), counts)
		}
		notes, err := store.Annotations().List(t.Context(), storage.AnnotationRange{To: storage.MaxTime}, 0)
		seconds := slices.DeleteFunc(slices.Clone(notes), func(a storage.Annotation) bool { return a.Start != second })
		if err != nil || len(notes) != len(ids) || len(seconds) != 1 {
			t.Errorf("exclusive %v: %d annotations, %d at the second itself, %v", exclusive, len(notes), len(seconds), err)
		}
	}
}

// TestFullSecond: a second has a thousand events, in the first weeks of 1970 too.
func TestFullSecond(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes thousands of events")
	}
	for _, when := range []int64{second * 1e6, second*1e6 + 500_000, 1425716000 * 1e6, 7 * 1e6} {
		v := events.New(open(t, kv.NewMem(storetest.Tables()...), true).Annotations())
		n := 0
		for ; n < 1100; n++ {
			if _, err := v.Create(t.Context(), events.Event{When: when, What: "e"}); err != nil {
				if !errors.Is(err, storage.ErrLimit) {
					t.Fatal(err)
				}
				break
			}
		}
		list, err := v.Find(t.Context(), events.Query{From: when, Until: when})
		if n < 999 || n > 1000 || len(list) != n || err != nil {
			t.Errorf("%d: %d are taken, %d found, %v", when, n, len(list), err)
		}
		for i, e := range list {
			if e.ID != int64(i+1) || e.When != when {
				t.Errorf("event %d is %+v", i, e)
			}
		}
	}
}

// TestIDs: ids go on after a restart, and after annotations came by another way than this counter.
func TestIDs(t *testing.T) {
	for exclusive, db := range engines() {
		store := open(t, db, exclusive)
		create := func(v *events.Events, want int64) {
			t.Helper()
			if got, err := v.Create(t.Context(), events.Event{When: second * 1e6, What: "e"}); got.ID != want || err != nil {
				t.Errorf("exclusive %v: %+v, %v, want id %d", exclusive, got, err, want)
			}
		}
		v := events.New(store.Annotations())
		create(v, 1)
		create(v, 2)
		create(events.New(store.Annotations()), 3)
		imported := storage.Annotation{Start: second + 5, Description: "old", Custom: map[string]string{"id": "41", "when": fmt.Sprint(second + 5), "tags": ""}}
		if _, err := store.Annotations().Put(t.Context(), storage.CreateAnnotation, []storage.Annotation{imported}); err != nil {
			t.Fatal(err)
		}
		create(events.New(store.Annotations()), 42)
		if e, ok, err := v.Get(t.Context(), 41); !ok || e.What != "old" || err != nil {
			t.Errorf("exclusive %v: Get(41) = %+v, %v, %v", exclusive, e, ok, err)
		}
	}
}

// TestForeign: annotations of a TSD are events, whatever their custom fields are; they are not deleted here.
func TestForeign(t *testing.T) {
	store := open(t, kv.NewMem(storetest.Tables()...), true)
	v := events.New(store.Annotations())
	for _, note := range []storage.Annotation{
		{Start: second, Description: "d", Notes: "n"},
		{Start: second*1000 + 500, Custom: map[string]string{"tags": "a b", "id": "x"}},
		{Start: second + 1, Custom: map[string]string{"id": "7"}},
		{Start: second + 2, Custom: map[string]string{"id": "-7", "when": "5"}},
		{TSUID: "000001000001000001", Start: second, Description: "of a series"},
	} {
		if _, err := store.Annotations().Put(t.Context(), storage.CreateAnnotation, []storage.Annotation{note}); err != nil {
			t.Fatal(err)
		}
	}
	want := []events.Event{
		{ID: second, When: second * 1e6, What: "d", Data: "n", Foreign: true},
		{ID: second*1000 + 500, When: second*1e6 + 5e5, Tags: "a b", Foreign: true},
		{ID: second + 1, When: (second + 1) * 1e6, Foreign: true},
		{ID: second + 2, When: (second + 2) * 1e6, Foreign: true},
	}
	if diff := cmp.Diff(want, all(t, v)); diff != "" {
		t.Error(diff)
	}
	if _, _, err := v.Delete(t.Context(), second); !errors.Is(err, events.ErrForeign) {
		t.Errorf("Delete: %v", err)
	}
	if got := all(t, v); len(got) != len(want) {
		t.Errorf("deleted: %v", got)
	}
}

// TestLimit: more events than are allowed are an error.
func TestLimit(t *testing.T) {
	v := events.New(open(t, kv.NewMem(storetest.Tables()...), true).Annotations())
	for range 3 {
		if _, err := v.Create(t.Context(), events.Event{When: second * 1e6, What: "e"}); err != nil {
			t.Fatal(err)
		}
	}
	for limit, want := range map[int]error{2: storage.ErrLimit, 3: nil, 0: nil} {
		if _, err := v.Find(t.Context(), events.Query{Until: second * 1e6, Limit: limit}); !errors.Is(err, want) {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
}

// failing are notes that do not tell ids.
type failing struct{ events.Notes }

var errFails = errors.New("the store is away")

func (failing) Each(context.Context, storage.AnnotationRange, func(storage.Annotation) error) error {
	return errFails
}

// TestFailing: without knowing the ids that are there, none is given.
func TestFailing(t *testing.T) {
	v := events.New(failing{})
	if _, err := v.Create(t.Context(), events.Event{When: second * 1e6}); !errors.Is(err, errFails) {
		t.Errorf("Create: %v", err)
	}
	if _, _, err := v.Get(t.Context(), 1); !errors.Is(err, errFails) {
		t.Errorf("Get: %v", err)
	}
}

// TestParse: the members that events have.
func TestParse(t *testing.T) {
	const now = 1_000_000_500_000
	for body, want := range map[string]events.Event{
		`{"what":"w"}`: {When: now, What: "w"},
		`{"what":"","tags":[],"when":0.0000005,"data":"d","more":1}`:   {Data: "d"},
		`{"what":"w","tags":["a","b c"],"when":1.9999996}`:             {When: 2_000_000, What: "w", Tags: "a b c"},
		`{"what":[1, "a"],"tags":" a ","when":1e3,"data":{"x" : 1.5}}`: {When: 1e9, What: `[1,"a"]`, Tags: " a ", Data: `{"x":1.5}`},
		`{"what":"\ud800","when":5}`:                                   {When: 5e6, What: "\ufffd"},
	} {
		if got, err := events.Parse([]byte(body), now); err != nil || cmp.Diff(want, got) != "" {
			t.Errorf("%s is %+v, %v", body, got, err)
		}
	}
	for body, want := range map[string]string{
		``: "JSON", `null`: "null", `[]`: "JSON", `{`: "JSON", `{}`: "what", `{"what":null}`: "what",
		`{"what":"w","tags":{}}`: "tags", `{"what":"w","tags":["a",null]}`: "tags", `{"what":"w","tags":[["a"]]}`: "tags",
		`{"what":"w","when":"1"}`: "when", `{"what":"w","when":-0.1}`: "when", `{"what":"w","when":1e999}`: "when", `{"what":"w","data":null}`: "data",
	} {
		if got, err := events.Parse([]byte(body), now); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is %+v, %v", body, got, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"what":"w","tags":["a"],"when":1.5,"data":"d"}`, `{"what":5,"tags":"\"a b\" c,d","when":true}`, `{"what":{},"data":[]}`, `null`} {
		f.Add([]byte(s))
	}
	store := map[int64]storage.Annotation{}
	f.Fuzz(func(t *testing.T, body []byte) {
		e, err := events.Parse(body, second)
		if err != nil {
			return
		}
		v := events.New(&noted{notes: store})
		made, err := v.Create(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		e.ID = made.ID
		if got, ok, err := v.Get(t.Context(), made.ID); !ok || err != nil || cmp.Diff(e, got) != "" {
			t.Errorf("%+v becomes %+v, %v, %v", e, got, ok, err)
		}
		clear(store)
	})
}

// noted are notes in a map, by their starts.
type noted struct {
	events.Notes
	notes map[int64]storage.Annotation
}

func (n *noted) Put(_ context.Context, _ storage.AnnotationMode, list []storage.Annotation) ([]storage.Annotation, error) {
	n.notes[list[0].Start] = list[0]
	return list, nil
}

func (n *noted) Each(_ context.Context, _ storage.AnnotationRange, see func(storage.Annotation) error) error {
	for _, note := range n.notes {
		if err := see(note); err != nil {
			return err
		}
	}
	return nil
}

func (n *noted) Number(_ context.Context, above int64) (int64, error) { return above + 1, nil }
