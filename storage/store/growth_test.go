package store_test

import (
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// On shared tables the day is known of the series that came after the process had read which there are, from any process.
func TestGrowthOfSharedTables(t *testing.T) {
	db := kv.NewShared(storetest.Tables()...)
	other := storetest.Open(t, db, shared)
	resolve := func(s *store.Store, name string) {
		t.Helper()
		if _, errs := s.Resolve(t.Context(), []storage.Series{storetest.Series(name, "host", "a")}); errs != nil {
			t.Fatal(errs)
		}
	}
	resolve(other, "before")
	s := storetest.Open(t, db, shared)
	growth := func() storage.Growth {
		t.Helper()
		today := storage.DayOf(time.Now())
		g, err := s.Catalog().Growth(t.Context(), storage.GrowthQuery{First: today - 1, Last: today, From: today - 1, To: today, Limit: 10})
		if err != nil && t.Context().Err() != nil {
			t.Fatal(err)
		}
		return g
	}
	wait := func(series int) (g storage.Growth) {
		t.Helper()
		for g = growth(); g.Series != series && t.Context().Err() == nil; g = growth() {
			time.Sleep(time.Millisecond) // the next refresh
		}
		return g
	}
	if g := wait(1); g.Unknown != 1 || g.Since.IsZero() || g.Registered.Series != 0 {
		t.Errorf("%+v", g)
	}
	resolve(other, "there")
	resolve(s, "here")
	if g := wait(3); g.Unknown != 1 || g.Registered.Series != 2 || len(g.Registered.ByMetric) != 2 || g.ByDay[0]+g.ByDay[1] != 2 {
		t.Errorf("%+v", g)
	}
	silence, err := s.Catalog().Silence(t.Context(), storage.DayOf(time.Now()), 10)
	if err != nil || silence.Known {
		t.Errorf("%+v %v", silence, err)
	}
}
