package read_test

import (
	"fmt"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// Even series have their distance, wherever their rows are, and all others have none.
func TestDistance(t *testing.T) {
	const hour, step = 3600_000, 15_000
	even := func(from, to int64) (times []int64) {
		for at := from; at < to; at += step {
			times = append(times, t0+at)
		}
		return times
	}
	cases := []struct {
		name  string
		times []int64
		want  int64
	}{
		{"three hours", even(7, 3*hour), step},
		{"from the middle of an hour", even(hour/2, 3*hour), step},
		{"gap in an hour", append(even(7, hour/2), even(hour/2+step, 3*hour)...), 0},
		{"gap of an hour", append(even(0, hour), even(2*hour, 3*hour)...), 0},
		{"late by a millisecond from the second hour on", append(even(0, hour), even(hour+1, 3*hour)...), 0},
		{"one point in the first hour", even(hour-step, 3*hour), step},
		{"one point in the last hour", even(7, 2*hour+8), step},
		{"a point an hour", []int64{t0 + 5, t0 + hour + 5, t0 + 2*hour + 5}, hour},
		{"two points", []int64{t0 + 5, t0 + 2*hour}, 2*hour - 5},
		{"one point", []int64{t0 + 5}, 0},
	}
	for name, open := range engines(t) {
		db, settle := open()
		disk := logtest.New(1)
		keep := func(o *store.Options) { o.Buffer.FlushDelay, o.Buffer.FlushInterval = 1<<60, 1<<60 }
		s := storetest.StartBuffered(t, db, disk, keep)
		var list []storage.Series
		for i := range cases {
			list = append(list, storetest.Series("m", "host", fmt.Sprint("h", i)))
		}
		refs := storetest.Resolve(t, s.Store, list...)
		write := func(from, to int64) {
			var b storage.Batch
			for i, c := range cases {
				for _, at := range c.times {
					if at >= t0+from && at < t0+to {
						b.Add(refs[i], at, float64(at%977))
					}
				}
			}
			if err := s.Append(t.Context(), &b); err != nil {
				t.Fatal(err)
			}
		}
		check := func(where string) {
			q := storage.Query{Refs: refs, Start: t0, End: t0 + 4*hour, Samples: true}
			i := 0
			for p, err := range s.Select(t.Context(), q) {
				if c := cases[i]; err != nil || p.Distance != c.want || len(p.Times) != len(c.times) {
					t.Errorf("%s, %s, %s: %d points (%v), distance %d, want %d points, distance %d", name, where, c.name, len(p.Times), err, p.Distance, len(c.times), c.want)
				}
				i++
			}
		}
		write(0, hour+hour/2)
		s.Stop()
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		settle()
		s = storetest.StartBuffered(t, db, disk, keep)
		refs = storetest.Resolve(t, s.Store, list...)
		write(hour+hour/2, 4*hour)
		check("half in the head")
		s.Stop()
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		settle()
		s = storetest.StartBuffered(t, db, disk, keep)
		refs = storetest.Resolve(t, s.Store, list...)
		check("all in the table")
	}
}
