package register_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/register"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// limited is a store with limits of series and a clock.
type limited struct {
	*store.Store
	now time.Time
	reg *prometheus.Registry
	log bytes.Buffer
}

func openLimited(t *testing.T, db kv.KV, limits register.SeriesLimits, change func(*store.Options)) *limited {
	t.Helper()
	l := &limited{now: time.Unix(1356998400, 0), reg: prometheus.NewRegistry()}
	o := store.DefaultOptions()
	o.NewSeries, o.Registerer, o.Now = limits, l.reg, func() time.Time { return l.now }
	o.Logger = slog.New(slog.NewTextHandler(&l.log, nil))
	if change != nil {
		change(&o)
	}
	s, err := store.New(db, o)
	if err != nil {
		t.Fatal(err)
	}
	l.Store = s
	return l
}

func manyHosts(from, to int) (list []storage.Series) {
	for i := from; i < to; i++ {
		list = append(list, storetest.Series("m", "host", fmt.Sprint("h", i)))
	}
	return list
}

// resolve shows which series of a list got a Ref: their numbers, and the error of the last that got
// none.
func (l *limited) resolve(t *testing.T, list []storage.Series) (got int, text string) {
	t.Helper()
	refs, errs := l.Resolve(t.Context(), list)
	for i, ref := range refs {
		if ref != 0 {
			got++
			continue
		}
		if text = errs[i].Error(); !errors.Is(errs[i], storage.ErrLimit) || !storage.IsRefusal(errs[i]) {
			t.Errorf("%v is no refusal", errs[i])
		}
	}
	return got, text
}

// New series beyond the limit are refused by name; known series stay usable, in the same call,
// after others and in another process.
func TestMaxActiveSeries(t *testing.T) {
	for _, exclusive := range []bool{true, false} {
		db := kv.NewMem(storetest.Tables()...)
		l := openLimited(t, db, register.SeriesLimits{Active: 10}, func(o *store.Options) { o.Exclusive = exclusive })
		if n, text := l.resolve(t, manyHosts(0, 8)); n != 8 {
			t.Fatalf("%d of 8: %s", n, text)
		}
		n, text := l.resolve(t, manyHosts(0, 20)) // 8 are known
		if n != 10 || !strings.Contains(text, "m{host=h19}") || !strings.Contains(text, "--write.max-active-series") {
			t.Errorf("%d of 20, want 10: %s", n, text)
		}
		if n, text := l.resolve(t, manyHosts(0, 10)); n != 10 {
			t.Errorf("%d of 10 known: %s", n, text)
		}
		if n := testutil.CollectAndCount(l.reg, "tsdbridge_store_series_refused_total"); n != 5 {
			t.Errorf("%d kinds of refusals", n)
		}
		refused := strings.NewReader("# HELP tsdbridge_store_series_refused_total New series refused, each time they came: over a limit, or no UID was left.\n" +
			"# TYPE tsdbridge_store_series_refused_total counter\ntsdbridge_store_series_refused_total{reason=\"active\"} 10\n" +
			"tsdbridge_store_series_refused_total{reason=\"branches\"} 0\ntsdbridge_store_series_refused_total{reason=\"depth\"} 0\n" +
			"tsdbridge_store_series_refused_total{reason=\"rate\"} 0\ntsdbridge_store_series_refused_total{reason=\"uid\"} 0\n")
		if err := testutil.GatherAndCompare(l.reg, refused, "tsdbridge_store_series_refused_total"); err != nil {
			t.Error(err)
		}
		// A process that has not read the table yet knows them too, and accepts no new ones.
		other := openLimited(t, db, register.SeriesLimits{Active: 1}, func(o *store.Options) { o.Exclusive = exclusive })
		if n, text := other.resolve(t, manyHosts(0, 10)); n != 10 {
			t.Errorf("%d of 10 that exist: %s", n, text)
		}
		if n, text := other.resolve(t, manyHosts(0, 12)); n != 10 {
			t.Errorf("%d of 12, of which 10 exist: %s", n, text)
		}
	}
	// Names of series that were refused take no UIDs.
	db := kv.NewMem(storetest.Tables()...)
	l := openLimited(t, db, register.SeriesLimits{Active: 1}, nil)
	l.resolve(t, manyHosts(0, 100))
	rows := 0
	for _, err := range db.Scan(t.Context(), kv.Scan{Table: "tsdb-uid", Family: "id"}) {
		if rows++; err != nil {
			t.Fatal(err)
		}
	}
	if rows != 4 { // counters, metric, tagk, one tagv
		t.Errorf("%d rows of UIDs, want 4", rows)
	}
}

// Many calls at once do not make more series than allowed.
func TestMaxActiveSeriesAtOnce(t *testing.T) {
	l := openLimited(t, kv.NewMem(storetest.Tables()...), register.SeriesLimits{Active: 100}, nil)
	var group sync.WaitGroup
	for n := range 8 {
		group.Go(func() {
			for i := range 50 {
				_, _ = l.Resolve(t.Context(), []storage.Series{storetest.Series("m", "host", fmt.Sprint(n, "-", i))})
			}
		})
	}
	group.Wait()
	if n, err := testutil.GatherAndCount(l.reg, "tsdbridge_store_series"); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	families, err := l.reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "tsdbridge_store_series" {
			if got := f.GetMetric()[0].GetGauge().GetValue(); got > 100 || got < 90 {
				t.Errorf("%v series, want 100", got)
			}
		}
	}
}

func TestMaxNewSeriesPerSecond(t *testing.T) {
	l := openLimited(t, kv.NewMem(storetest.Tables()...), register.SeriesLimits{PerSecond: 2}, nil)
	// the series of ten seconds
	if n, text := l.resolve(t, manyHosts(0, 25)); n != 20 || !strings.Contains(text, "--write.max-new-series-per-second") {
		t.Errorf("%d of 25: %s", n, text)
	}
	if n, text := l.resolve(t, manyHosts(0, 20)); n != 20 {
		t.Errorf("%d of 20 known: %s", n, text)
	}
	if n, _ := l.resolve(t, manyHosts(20, 25)); n != 0 {
		t.Errorf("%d at once", n)
	}
	l.now = l.now.Add(2 * time.Second)
	if n, _ := l.resolve(t, manyHosts(0, 30)); n != 24 {
		t.Errorf("%d of 30 after two seconds", n)
	}
}

// UIDs of one byte: 255. A warning is logged when half, nine tenths and all are assigned; then
// series with a new name are refused, by name.
func TestUIDsRunOut(t *testing.T) {
	for _, exclusive := range []bool{true, false} {
		db := kv.NewMem(storetest.Tables()...)
		narrow := func(o *store.Options) { o.Layout.TagvWidth, o.Exclusive = 1, exclusive }
		l := openLimited(t, db, register.SeriesLimits{}, narrow)
		for _, step := range []struct{ from, to, warnings int }{{0, 120, 0}, {120, 128, 1}, {128, 229, 1}, {229, 230, 2}, {230, 255, 3}} {
			if n, text := l.resolve(t, manyHosts(step.from, step.to)); n != step.to-step.from {
				t.Fatalf("%d of %+v: %s", n, step, text)
			}
			if got := strings.Count(l.log.String(), "UIDs run out"); got != step.warnings {
				t.Errorf("after %d of 255: said %d times\n%s", step.to, got, l.log.String())
			}
		}
		list := append(manyHosts(250, 260), storetest.Series("other", "host", "h7"), storetest.Series("third", "host", "h999"))
		n, text := l.resolve(t, list)
		for _, want := range []string{"third{host=h999}", "All Unique IDs for tagv on 1 bytes are already assigned!", "--storage.uid-width.tagv"} {
			if !strings.Contains(text, want) {
				t.Errorf("%q does not name %s", text, want)
			}
		}
		if n != 6 {
			t.Errorf("%d of 12, want 6", n)
		}
		if rows, err := db.Get(t.Context(), "tsdb-uid", "id", [][]byte{[]byte("third")}); err != nil || len(rows[0].Cells) != 0 {
			t.Errorf("a metric got a UID for a series that was refused: %v, %v", rows, err)
		}
		// Another process notices before it needs one.
		later := openLimited(t, db, register.SeriesLimits{}, narrow)
		if n, _ := later.resolve(t, manyHosts(0, 300)); n != 255 {
			t.Errorf("%d of 300 in another process", n)
		}
	}
}
