package store_test

import (
	"math"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// TestReading: a reading learns of all that changes points, by the name of the metric, in every mode
// of writing.
func TestReading(t *testing.T) {
	const hour, late = 3600_000, 30 * 3600_000
	for name, open := range map[string]func(...func(*store.Options)) *store.Store{
		"through": func(o ...func(*store.Options)) *store.Store { return storetest.Open(t, openPebble(t), o...) },
		"buffered": func(o ...func(*store.Options)) *store.Store {
			return storetest.StartBuffered(t, openPebble(t), logtest.New(1), o...).Store
		},
	} {
		now := time.UnixMilli(40 * hour)
		s := open(func(o *store.Options) {
			o.Retention, o.Now = 30*time.Hour, func() time.Time { return now }
		})
		refs := storetest.Resolve(t, s, storetest.Series("one", "host", "a"), storetest.Series("two", "host", "a"))
		put := func(add func(b *storage.Batch)) func() {
			return func() {
				var b storage.Batch
				add(&b)
				if err := s.Append(t.Context(), &b); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, c := range []struct {
			what     string
			change   func()
			one, two int64
		}{
			{"nothing", func() {}, math.MaxInt64, math.MaxInt64},
			{"a point", put(func(b *storage.Batch) { b.Add(refs[0], late, 1) }), late, math.MaxInt64},
			{"an object", put(func(b *storage.Batch) { b.AddObject(refs[1], late+1, storage.KindExemplar, []byte("x")) }), math.MaxInt64, late + 1},
			{"a flush", func() {
				if s.Buffered() {
					if err := s.FlushAll(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
			}, math.MaxInt64, math.MaxInt64},
			{"a deletion", func() {
				if _, err := s.Delete(t.Context(), storage.Deletion{Refs: refs[:1], Start: late - 1, End: late}); err != nil {
					t.Fatal(err)
				}
			}, late - 1, late - 1},
			{"an earlier deletion", func() {
				if _, err := s.Delete(t.Context(), storage.Deletion{Refs: refs[:1], Start: 0, End: hour}); err != nil {
					t.Fatal(err)
				}
			}, math.MaxInt64, math.MaxInt64},
			{"a retention", func() {
				now = now.Add(time.Hour)
				if err := s.DeleteOld(t.Context()); err != nil {
					t.Fatal(err)
				}
			}, 0, 0},
		} {
			r, ok := s.Read(10*hour, 40*hour)
			if !ok {
				t.Fatal("the store does not tell what changes")
			}
			c.change()
			is := func(name string) func(string) bool { return func(metric string) bool { return metric == name } }
			if one, two := r.Changed(t.Context(), is("one")), r.Changed(t.Context(), is("two")); one != c.one || two != c.two {
				t.Errorf("%s, %s: changed from %d and %d on, want %d and %d", name, c.what, one, two, c.one, c.two)
			}
			r.End()
		}
	}
	if _, ok := storetest.Open(t, kv.NewMem(storetest.Tables()...), func(o *store.Options) { o.Exclusive = false }).Read(0, hour); ok {
		t.Error("a store whose tables others write tells what changes")
	}
}
