package uid_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/uid"
)

func openRandom(db kv.KV, exclusive bool, width int) *uid.Dictionary {
	l := schema.DefaultLayout()
	l.MetricWidth = width
	return uid.New(kv.NewEngine(db, exclusive), uid.Options{Table: "tsdb-uid", Layout: l, CacheEntries: 1000, RandomMetrics: true})
}

// Processes that give metrics UIDs at random agree, draw again what is in use, and leave the counter of
// metrics, while tags count up.
func TestRandomMetrics(t *testing.T) {
	for _, exclusive := range []bool{false, true} {
		db := newTable()
		names := make([]string, 100)
		for i := range names {
			names[i] = fmt.Sprint("m", i)
		}
		processes := 3
		if exclusive {
			processes = 1
		}
		uids := make([][]string, processes)
		var group sync.WaitGroup
		for p := range processes {
			group.Go(func() {
				var errs []error
				if uids[p], errs = openRandom(db, exclusive, 1).Assign(t.Context(), storage.MetricName, names); errs != nil {
					t.Error(errs)
				}
			})
		}
		group.Wait()
		seen, ascending := map[string]bool{}, 0
		for i, u := range uids[0] {
			for p := range processes {
				if uids[p][i] != u {
					t.Errorf("%s has the UIDs %x and %x", names[i], u, uids[p][i])
				}
			}
			if len(u) != 1 || u == "\x00" || seen[u] {
				t.Errorf("%s has the UID %x", names[i], u)
			}
			seen[u] = true
			if i > 0 && u > uids[0][i-1] {
				ascending++
			}
		}
		if ascending > 80 {
			t.Errorf("UIDs are not random: %x", uids[0])
		}
		got, errs := openRandom(db, exclusive, 1).Assign(t.Context(), storage.TagKeyName, []string{"k"})
		if errs != nil || got[0] != "\x00\x00\x01" {
			t.Errorf("tag key %x, %v", got, errs)
		}
		row, err := db.Get(t.Context(), "tsdb-uid", "id", [][]byte{schema.MaxIDRow()})
		if err != nil || len(row[0].Cells) != 1 {
			t.Errorf("counters %v, %v; want that of tag keys alone", row, err)
		}
	}
}

// When all UIDs are in use, new metrics are refused, and others are not.
func TestRandomMetricsExhausted(t *testing.T) {
	db := newTable()
	d := openRandom(db, true, 1)
	refused := 0
	for i := range 300 {
		_, errs := d.Assign(t.Context(), storage.MetricName, []string{fmt.Sprint("m", i)})
		if errs == nil {
			continue
		}
		if refused++; !errors.Is(errs[0], uid.ErrExhausted) {
			t.Fatal(errs)
		}
	}
	if refused < 45 {
		t.Errorf("%d of 300 metrics refused, where 255 have UIDs", refused)
	}
	if uids, errs := d.Assign(t.Context(), storage.MetricName, []string{"m0"}); errs != nil || uids[0] == "" {
		t.Errorf("a known metric: %x, %v", uids, errs)
	}
}
