package catalog_test

import (
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// TestNextHour: the years between two samples of a series are passed over, whether these are in rows or in
// memory. An export would otherwise go through all of their days because of a sample with the time 0.
func TestNextHour(t *testing.T) {
	const hour, day = int64(3_600_000), int64(24 * 3_600_000)
	last := 20_000*day + 5*hour
	db := func() kv.KV { return kv.NewMem(storetest.Tables()...) }
	for name, start := range map[string]func() *storetest.Process{
		"in rows":   func() *storetest.Process { return storetest.Start(t, db()) },
		"in memory": func() *storetest.Process { return storetest.StartBuffered(t, db(), logtest.New(1)) },
	} {
		t.Run(name, func(t *testing.T) {
			s := start()
			put := func(one storage.Series, times ...int64) {
				var b storage.Batch
				ref := storetest.Resolve(t, s.Store, one)[0]
				for _, at := range times {
					b.Add(ref, at, 1)
				}
				if err := s.Append(t.Context(), &b); err != nil {
					t.Fatal(err)
				}
			}
			put(storetest.Series("m", "host", "1"), 0, last)
			put(storetest.Series("m", "host", "2"), last+3*hour)
			put(storetest.Series("other", "host", "1"), 10*day)
			for _, c := range []struct{ from, want int64 }{ // -1: none
				{0, 0}, {hour - 1, 0}, {hour, last}, {5 * day, last}, {last + 1, last}, {last + hour, last + 3*hour}, {last + 4*hour, -1}, {last + 9*day, -1},
			} {
				got, ok, err := s.Catalog().NextHour(t.Context(), "m", c.from)
				if err != nil || ok != (c.want >= 0) || ok && got != c.want {
					t.Errorf("from %d: %d, %t, %v; want %d", c.from, got, ok, err, c.want)
				}
			}
		})
	}
}
