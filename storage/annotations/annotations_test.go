package annotations_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/annotations"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/kv/kvtest"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

const series = "000001000001000001"

// open returns the annotations of a store whose only writer it is, or of shared tables.
func open(t *testing.T, db kv.KV, exclusive bool) *annotations.Annotations {
	t.Helper()
	return storetest.Open(t, db, func(o *store.Options) { o.Exclusive = exclusive }).Annotations()
}

// engines are one of each contract.
func engines() map[bool]kv.KV {
	return map[bool]kv.KV{true: kv.NewMem(storetest.Tables()...), false: kv.NewShared(storetest.Tables()...)}
}

// cells returns the cells of the data table.
func cells(t *testing.T, db kv.KV) map[string]string {
	t.Helper()
	out := map[string]string{}
	for row, err := range db.Scan(t.Context(), kv.Scan{Table: "tsdb", Family: schema.FamilyData}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range row.Cells {
			out[fmt.Sprintf("%X %X", row.Key, c.Qualifier)] = string(c.Value)
		}
	}
	return out
}

// A step writes an annotation.
type step struct {
	mode storage.AnnotationMode
	note storage.Annotation
	want string // as it is shown then; "exists": it is refused
}

// TestPut: what a TSD 2.4.1 answered to the same edits, and the bytes that it stored.
func TestPut(t *testing.T) {
	custom := map[string]string{"z": "1", "a": "2"}
	steps := []step{
		{storage.MergeAnnotation, storage.Annotation{TSUID: series, Start: 1356998460, Description: "d", Notes: "n", Custom: custom}, `{"tsuid":"000001000001000001","description":"d","notes":"n","custom":{"a":"2","z":"1"},"startTime":1356998460,"endTime":0}`},
		{storage.MergeAnnotation, storage.Annotation{TSUID: series, Start: 1356998460, Description: "d2"}, `{"tsuid":"000001000001000001","description":"d2","notes":"n","custom":{"a":"2","z":"1"},"startTime":1356998460,"endTime":0}`},
		{storage.MergeAnnotation, storage.Annotation{TSUID: series, Start: 1356998460000, End: 1356998470}, `{"tsuid":"000001000001000001","description":"d2","notes":"n","custom":{"a":"2","z":"1"},"startTime":1356998460,"endTime":1356998470}`},
		{storage.CreateAnnotation, storage.Annotation{TSUID: series, Start: 1356998460, Notes: "new"}, "exists"},
		{storage.ReplaceAnnotation, storage.Annotation{TSUID: series, Start: 1356998460, Notes: "only"}, `{"tsuid":"000001000001000001","description":"","notes":"only","startTime":1356998460,"endTime":0}`},
		{storage.CreateAnnotation, storage.Annotation{TSUID: series, Start: 1356998460500, Notes: "ms"}, `{"tsuid":"000001000001000001","description":"","notes":"ms","startTime":1356998460500,"endTime":0}`},
		{storage.MergeAnnotation, storage.Annotation{Start: 1356998410, Description: "g", Custom: map[string]string{}}, `{"tsuid":"","description":"g","notes":"","custom":{},"startTime":1356998410,"endTime":0}`},
	}
	want := map[string]string{
		"00000150E22700000001000001 01003C":     `{"tsuid":"000001000001000001","startTime":1356998460,"endTime":0,"description":"","notes":"only","custom":null}`,
		"00000150E22700000001000001 010000EC54": `{"tsuid":"000001000001000001","startTime":1356998460500,"endTime":0,"description":"","notes":"ms","custom":null}`,
		"00000050E22700 01000A":                 `{"startTime":1356998410,"endTime":0,"description":"g","notes":"","custom":{}}`,
	}
	for exclusive, db := range engines() {
		a := open(t, db, exclusive)
		for _, s := range steps {
			got, err := a.Put(t.Context(), s.mode, []storage.Annotation{s.note})
			switch {
			case s.want == "exists" && !errors.Is(err, storage.ErrAnnotationExists):
				t.Errorf("creating what is there: %v", err)
			case s.want != "exists" && (err != nil || string(schema.AppendShownAnnotation(nil, got[0])) != s.want):
				t.Errorf("exclusive %v: %+v becomes %+v, %v, want %s", exclusive, s.note, got, err, s.want)
			}
		}
		if diff := cmp.Diff(want, cells(t, db)); diff != "" {
			t.Errorf("exclusive %v: %s", exclusive, diff)
		}
	}
}

// TestPutMany: several edits of one annotation in one call are made in their order.
func TestPutMany(t *testing.T) {
	for exclusive, db := range engines() {
		a := open(t, db, exclusive)
		var list []storage.Annotation
		for i := range int64(300) { // of 100 hours
			list = append(list, storage.Annotation{TSUID: series, Start: 1356998460 + i%100*3600, Description: fmt.Sprint(i)})
			list = append(list, storage.Annotation{Start: 1356998460 + i%100*3600, Notes: fmt.Sprint(i)})
		}
		got, err := a.Put(t.Context(), storage.MergeAnnotation, list)
		if diff := cmp.Diff(list, got); err != nil || diff != "" {
			t.Errorf("exclusive %v: %v %s", exclusive, err, diff)
		}
		for i := range int64(100) {
			global, _, err := a.Get(t.Context(), "", 1356998460+i*3600)
			own, _, err2 := a.Get(t.Context(), strings.ToLower(series), 1356998460+i*3600)
			if global.Notes != fmt.Sprint(i+200) || own.Description != fmt.Sprint(i+200) || err != nil || err2 != nil {
				t.Errorf("exclusive %v: %+v and %+v, %v, %v", exclusive, global, own, err, err2)
			}
		}
		if list, err := a.Put(t.Context(), storage.MergeAnnotation, nil); len(list) != 0 || err != nil {
			t.Errorf("Put of nothing = %v, %v", list, err)
		}
	}
}

// TestRefused: nothing is written if one of several is refused.
func TestRefused(t *testing.T) {
	long := strings.Repeat("x", annotations.MaxBytes)
	for exclusive, db := range engines() {
		a := open(t, db, exclusive)
		for _, c := range []struct {
			tsuid       string
			start       int64
			description string
			limit       bool
		}{
			{"zz", 1, "", false},
			{"0", 1, "", false},
			{"00", 1, "", false},
			{"000001", 1, "", false},
			{"000001000001", 1, "", false},
			{"000000000001000001", 1, "", false},
			{"000001000000000001", 1, "", false},
			{"000001000001000000", 1, "", false},
			{"000000", 1, "", false},
			{strings.Repeat("000001", 10_920), 1, "", false},
			{strings.Repeat("000001", 1_000_000), 1, "", false},
			{series, 0, "", false},
			{series, -1, "", false},
			{"", storage.MaxTime + 1, "", false},
			{"", 1<<63 - 1, "", false},
			{"", 1, long, true},
			{series, 1, strings.Repeat("\"", annotations.MaxBytes/2), true},
		} {
			bad := storage.Annotation{TSUID: c.tsuid, Start: c.start, Description: c.description}
			_, err := a.Put(t.Context(), storage.MergeAnnotation, []storage.Annotation{{Start: 5, Notes: "good"}, bad})
			if want := map[bool]error{true: storage.ErrLimit, false: storage.ErrInvalid}[c.limit]; !errors.Is(err, want) {
				t.Errorf("Put of %.40s at %d: %v, want %v", c.tsuid, c.start, err, want)
			}
			if c.limit {
				continue
			}
			if _, _, err := a.Get(t.Context(), c.tsuid, c.start); !errors.Is(err, storage.ErrInvalid) {
				t.Errorf("Get of %.40s at %d: %v", c.tsuid, c.start, err)
			}
			if err := a.Delete(t.Context(), c.tsuid, c.start); !errors.Is(err, storage.ErrInvalid) {
				t.Errorf("Delete of %.40s at %d: %v", c.tsuid, c.start, err)
			}
		}
		if _, err := a.List(t.Context(), storage.AnnotationRange{TSUID: "zz", To: 1}, 0); !errors.Is(err, storage.ErrInvalid) {
			t.Errorf("List: %v", err)
		}
		if _, err := a.DeleteRange(t.Context(), storage.AnnotationRange{TSUID: "000001", To: 1}); !errors.Is(err, storage.ErrInvalid) {
			t.Errorf("DeleteRange: %v", err)
		}
		if got := cells(t, db); len(got) > 0 {
			t.Errorf("written %v", got)
		}
	}
}

// TestFullRow: what is in an hour already counts.
func TestFullRow(t *testing.T) {
	for exclusive, db := range engines() {
		a := open(t, db, exclusive)
		put := func(from, n int64) error {
			var list []storage.Annotation
			for i := range n {
				list = append(list, storage.Annotation{Start: 1356998400 + from + i, Description: strings.Repeat("x", annotations.MaxBytes-200)})
			}
			_, err := a.Put(t.Context(), storage.MergeAnnotation, list)
			return err
		}
		if err := put(0, 300); !errors.Is(err, storage.ErrLimit) || len(cells(t, db)) > 0 {
			t.Errorf("exclusive %v: an hour takes %d annotations at once, %v", exclusive, len(cells(t, db)), err)
		}
		if err := put(0, 250); err != nil {
			t.Error(err)
		}
		if err := put(250, 10); !errors.Is(err, storage.ErrLimit) || len(cells(t, db)) != 250 {
			t.Errorf("exclusive %v: an hour has %d annotations, then %v", exclusive, len(cells(t, db)), err)
		}
		if err := put(3600, 1); err != nil {
			t.Errorf("the next hour: %v", err)
		}
	}
}

// TestRanges lists and deletes.
func TestRanges(t *testing.T) {
	const hours = 1200 // more than one change of a deletion
	for exclusive, db := range engines() {
		a := open(t, db, exclusive)
		var list []storage.Annotation
		for h := range int64(hours) {
			for _, tsuid := range []string{"", series, "000001000001000002"} {
				list = append(list, storage.Annotation{TSUID: tsuid, Start: 1356998401 + h*3600, Notes: "s"}, storage.Annotation{TSUID: tsuid, Start: (1356998401+h*3600)*1000 + 5, Notes: "ms"})
			}
		}
		if _, err := a.Put(t.Context(), storage.CreateAnnotation, list); err != nil {
			t.Fatal(err)
		}
		count := func(tsuid string, from, to int64) int {
			list, err := a.List(t.Context(), storage.AnnotationRange{TSUID: tsuid, From: from, To: to}, 0)
			if err != nil {
				t.Error(err)
			}
			for _, note := range list {
				if at := schema.MillisOf(note.Start); note.TSUID != tsuid || at < from || at > to {
					t.Errorf("List(%q, %d, %d) has %+v", tsuid, from, to, note)
				}
			}
			return len(list)
		}
		const begin = int64(1356998401_000)
		for _, tsuid := range []string{"", series} {
			for _, c := range []struct {
				from, to int64
				want     int
			}{
				{begin, begin, 1},
				{begin + 1, begin + 5, 1},
				{begin + 6, begin + 3600_000, 1},
				{begin, begin + 5, 2},
				{begin - 1, begin - 1, 0},
				{begin + 5, begin, 0},
				{-5, 1 << 62, 2 * hours},
				{0, begin + 3600_000*9, 19},
			} {
				if got := count(tsuid, c.from, c.to); got != c.want {
					t.Errorf("exclusive %v: %d from %d to %d, want %d", exclusive, got, c.from-begin, c.to-begin, c.want)
				}
			}
			all := storage.AnnotationRange{TSUID: tsuid, To: storage.MaxTime}
			if list, err := a.List(t.Context(), all, 2*hours); err != nil || len(list) != 2*hours {
				t.Errorf("List of as many as there are: %d, %v", len(list), err)
			}
			if _, err := a.List(t.Context(), all, 2*hours-1); !errors.Is(err, storage.ErrLimit) {
				t.Errorf("List of fewer than there are: %v", err)
			}
			if _, err := a.List(query.WithAccount(t.Context(), query.NewBudget(100_000).Open()), all, 0); !errors.Is(err, query.ErrTooLarge) {
				t.Errorf("List in little memory: %v", err)
			}
			for want, r := range map[int]storage.AnnotationRange{19: {TSUID: tsuid, From: begin + 3, To: begin + 3600_000*9 + 5}, 0: {TSUID: tsuid, From: begin + 7, To: begin + 3}} {
				if n, err := a.DeleteRange(t.Context(), r); n != want || err != nil {
					t.Errorf("DeleteRange(%+v) = %d, %v, want %d", r, n, err, want)
				}
			}
			if n, err := a.DeleteRange(t.Context(), all); n != 2*hours-19 || err != nil {
				t.Errorf("DeleteRange of all = %d, %v", n, err)
			}
			if got := count(tsuid, 0, storage.MaxTime); got != 0 {
				t.Errorf("%d are left", got)
			}
		}
		if got := count("000001000001000002", 0, storage.MaxTime); got != 2*hours {
			t.Errorf("another series has %d", got)
		}
	}
}

// TestUnreadable: what cannot be read fails a list of its time and no other, as in a TSD, and is not in
// the way of an edit.
func TestUnreadable(t *testing.T) {
	for exclusive, db := range engines() {
		a := open(t, db, exclusive)
		key := schema.DefaultLayout().AppendAnnotationKey(nil, nil, 1356998400)
		m := kv.Mutation{Key: key, Puts: []kv.Put{{Qualifier: []byte{1, 0, 5}, Value: []byte("no JSON")}, {Qualifier: []byte{1, 0, 6}, Value: []byte("{}")}, {Qualifier: []byte{0, 0}, Value: []byte{1}}}}
		odd := kv.Mutation{Key: append(slices.Clip(key), 1), Puts: m.Puts}
		if err := db.Apply(t.Context(), "tsdb", schema.FamilyData, []kv.Mutation{m, odd}); err != nil {
			t.Fatal(err)
		}
		const named = "row 00000050e22700 of tsdb: the annotation in cell 010005 cannot be read"
		if list, err := a.List(t.Context(), storage.AnnotationRange{To: storage.MaxTime}, 0); !errors.Is(err, storage.ErrUnreadable) || !strings.HasPrefix(err.Error(), named) {
			t.Errorf("List = %+v, %v", list, err)
		}
		if list, err := a.List(t.Context(), storage.AnnotationRange{From: 1356998406_000, To: storage.MaxTime}, 0); err != nil {
			t.Errorf("List of another time = %+v, %v", list, err)
		}
		if _, ok, err := a.Get(t.Context(), "", 1356998405); ok || !errors.Is(err, storage.ErrUnreadable) {
			t.Errorf("Get = %v, %v", ok, err)
		}
		if _, err := a.Put(t.Context(), storage.MergeAnnotation, []storage.Annotation{{Start: 1356998405, Notes: "n"}}); err != nil {
			t.Error(err)
		}
		if got, ok, err := a.Get(t.Context(), "", 1356998405); !ok || err != nil || got.Notes != "n" {
			t.Errorf("Get = %+v, %v, %v", got, ok, err)
		}
	}
}

// TestRaces: edits of several processes at once lose nothing of each other, nor does a deletion bring
// anything back.
func TestRaces(t *testing.T) {
	for exclusive, db := range engines() {
		writers := []*annotations.Annotations{open(t, db, exclusive)}
		writers = append(writers, writers[0])
		if !exclusive {
			writers[1] = open(t, db, exclusive)
		}
		var wait sync.WaitGroup
		note := func(i int) storage.Annotation {
			n := storage.Annotation{TSUID: series, Start: 1356998460}
			switch i % 4 {
			case 0:
				n.Description = "d"
			case 1:
				n.Notes = "n"
			case 2:
				n.End = 5
			default:
				n.Custom = map[string]string{"k": "v"}
			}
			return n
		}
		for i := range 8 {
			wait.Go(func() {
				if _, err := writers[i%2].Put(t.Context(), storage.MergeAnnotation, []storage.Annotation{note(i), {Start: int64(1356998400 + i), Notes: "other"}}); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		want := storage.Annotation{TSUID: series, Start: 1356998460, End: 5, Description: "d", Notes: "n", Custom: map[string]string{"k": "v"}}
		if got, _, err := writers[0].Get(t.Context(), series, 1356998460); err != nil || cmp.Diff(want, got) != "" {
			t.Errorf("exclusive %v: %v %s", exclusive, err, cmp.Diff(want, got))
		}
		if list, err := writers[1].List(t.Context(), storage.AnnotationRange{To: storage.MaxTime}, 0); len(list) != 8 || err != nil {
			t.Errorf("%d global ones, %v", len(list), err)
		}
		created := make([]error, 8)
		for i := range created {
			wait.Go(func() {
				_, created[i] = writers[i%2].Put(t.Context(), storage.CreateAnnotation, []storage.Annotation{{Start: 7, Notes: fmt.Sprint(i)}})
			})
		}
		wait.Wait()
		won := 0
		for _, err := range created {
			if err == nil {
				won++
			} else if !errors.Is(err, storage.ErrAnnotationExists) {
				t.Error(err)
			}
		}
		if won != 1 {
			t.Errorf("exclusive %v: %d of 8 have created it", exclusive, won)
		}
	}
}

// TestFaults: a failure is an error, or the edit is there; a lost answer loses nothing.
func TestFaults(t *testing.T) {
	for _, method := range []kvtest.Method{kvtest.Get, kvtest.CheckAndPut, kvtest.Apply, kvtest.Scan} {
		for _, when := range []kvtest.When{kvtest.Before, kvtest.After} {
			shared := kv.NewShared(storetest.Tables()...)
			db := kvtest.NewVersioned(shared)
			a := open(t, db, false)
			put := func(mode storage.AnnotationMode) error {
				_, err := a.Put(t.Context(), mode, []storage.Annotation{{Start: 5, Notes: "n"}})
				return err
			}
			db.Fail(method, 1, when)
			first := put(storage.CreateAnnotation)
			_, listed := a.List(t.Context(), storage.AnnotationRange{To: storage.MaxTime}, 0)
			if first == nil && listed == nil {
				first = a.Delete(t.Context(), "", 5)
			}
			for _, err := range []error{first, listed} {
				if err != nil && !errors.Is(err, kvtest.ErrFault) {
					t.Errorf("%s: %v", method, err)
				}
			}
			if first == nil && listed == nil {
				t.Errorf("%s does not fail", method)
			}
			if err := put(storage.CreateAnnotation); err != nil { // again, by a client that was told of a failure
				t.Errorf("%s failed %v: again: %v", method, when, err)
			}
			if got, ok, err := a.Get(t.Context(), "", 5); !ok || got.Notes != "n" || err != nil {
				t.Errorf("%s failed %v: %+v, %v, %v", method, when, got, ok, err)
			}
		}
	}
}

// TestNumber: no two calls get the same number, and all are above the bound.
func TestNumber(t *testing.T) {
	for exclusive, db := range engines() {
		seen := map[int64]bool{}
		for _, above := range []int64{0, 0, 10, 5, 0} {
			n, err := open(t, db, exclusive).Number(t.Context(), above)
			if err != nil || seen[n] || n <= above {
				t.Errorf("exclusive %v: Number(%d) = %d, %v after %v", exclusive, above, n, err, seen)
			}
			seen[n] = true
		}
	}
}
