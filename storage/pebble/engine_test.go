package pebble

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/kv/kvtest"
)

func opened(t testing.TB, o Options) *Engine {
	t.Helper()
	e, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil && !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
	return e
}

func TestContractInMemory(t *testing.T) {
	kvtest.Run(t, func(t *testing.T) kv.KV { return opened(t, Options{InMemory: true, Tables: kvtest.Tables()}) })
	kvtest.RunLocal(t, func(t *testing.T) kv.Local { return opened(t, Options{InMemory: true, Tables: kvtest.Tables()}) })
}

func TestContractOnDisk(t *testing.T) {
	kvtest.Run(t, func(t *testing.T) kv.KV { return opened(t, Options{Path: t.TempDir(), Tables: kvtest.Tables()}) })
	kvtest.RunLocal(t, func(t *testing.T) kv.Local { return opened(t, Options{Path: t.TempDir(), Tables: kvtest.Tables()}) })
}

// restless flushes and compacts every few calls, so that files and not memory are tested against
// the contract.
type restless struct {
	*Engine
	t     *testing.T
	calls atomic.Int64
}

func (r *restless) Get(ctx context.Context, table, family string, keys [][]byte) ([]kv.Row, error) {
	r.unsettle()
	return r.Engine.Get(ctx, table, family, keys)
}

func (r *restless) Scan(ctx context.Context, s kv.Scan) iter.Seq2[kv.Row, error] {
	r.unsettle()
	return r.Engine.Scan(ctx, s)
}

func (r *restless) unsettle() {
	calls := r.calls.Add(1)
	if calls > 400 { // the races have many calls and need none of this
		return
	}
	if err := r.db().Flush(); err != nil {
		r.t.Error(err)
	}
	if calls%5 == 0 {
		if err := r.db().Compact(r.t.Context(), []byte{1}, []byte{0xff}, false); err != nil {
			r.t.Error(err)
		}
	}
}

func rows(keys ...string) (all []kv.Mutation) {
	for _, k := range keys {
		all = append(all, kv.Mutation{Key: []byte(k), Puts: []kv.Put{{Qualifier: []byte("q"), Value: []byte("of " + k)}}})
	}
	return all
}

func apply(t testing.TB, e kv.KV, family string, rows []kv.Mutation) {
	t.Helper()
	if err := e.Apply(t.Context(), "t", family, rows); err != nil {
		t.Fatal(err)
	}
}

// scanned formats the rows of a scan, a line each.
func scanned(t testing.TB, e kv.KV, s kv.Scan) (lines []string) {
	t.Helper()
	if s.Table = "t"; s.Family == "" {
		s.Family = "f"
	}
	for row, err := range e.Scan(t.Context(), s) {
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%s:", row.Key)
		for _, c := range row.Cells {
			fmt.Fprintf(&b, " %s=%s", c.Qualifier, c.Value)
		}
		lines = append(lines, b.String())
	}
	return lines
}

func wantLines(t testing.TB, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows differ (-want +got):\n%s", diff)
	}
}

func TestReopen(t *testing.T) {
	o := Options{Path: t.TempDir() + "/made/by/open", Tables: []kv.Table{{Name: "t", Families: []string{"f", "g"}}}}
	e := opened(t, o)
	c := kv.Column{Table: "t", Family: "g", Row: []byte("counter"), Qualifier: []byte("n")}
	apply(t, e, "f", rows("a", "b"))
	if n, err := e.Increment(t.Context(), c, 41); n != 41 || err != nil {
		t.Fatalf("Increment = %d, %v", n, err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	// Each family keeps its byte in the keys, whatever families are requested later and in whatever
	// order.
	o.Tables = []kv.Table{{Name: "other", Families: []string{"f"}}, {Name: "t", Families: []string{"h", "g"}}}
	again := opened(t, o)
	wantLines(t, scanned(t, again, kv.Scan{}), "a: q=of a", "b: q=of b")
	wantLines(t, scanned(t, again, kv.Scan{Family: "h"}))
	if n, err := again.Increment(t.Context(), c, 1); n != 42 || err != nil {
		t.Errorf("Increment after reopening = %d, %v, want 42", n, err)
	}
	want := families{{"t", "f"}: 1, {"t", "g"}: 2, {"other", "f"}: 3, {"t", "h"}: 4}
	if diff := cmp.Diff(want, again.families, cmp.AllowUnexported(familyName{})); diff != "" {
		t.Errorf("bytes of families (-want +got):\n%s", diff)
	}
}

func TestOpenRefuses(t *testing.T) {
	o := Options{Path: t.TempDir()}
	e := opened(t, o)
	if _, err := Open(o); err == nil || !strings.Contains(err.Error(), o.Path) ||
		!strings.Contains(err.Error(), "another tsdbridge has it open") {
		t.Errorf("second Open: %v", err)
	}
	if err := e.db().Set(formatKey(), []byte{formatVersion + 1}, nil); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the lock is released by an Open that refuses
		if _, err := Open(o); err == nil || !strings.Contains(err.Error(), fmt.Sprint("later version of tsdbridge: format ", formatVersion+1)) {
			t.Errorf("Open of a later format: %v", err)
		}
	}
}

func TestClosed(t *testing.T) {
	e := opened(t, Options{InMemory: true, Tables: []kv.Table{{Name: "t", Families: []string{"f"}}}})
	apply(t, e, "f", rows("a", "b"))
	closed := make(chan error, 1)
	for _, err := range e.Scan(t.Context(), kv.Scan{Table: "t", Family: "f"}) {
		if err != nil {
			t.Fatal(err)
		}
		go func() { closed <- e.Close() }()
		// Close waits for this scan, and calls made inside of the scan do not wait for Close.
		for {
			if _, err := e.Get(t.Context(), "t", "f", nil); err != nil {
				if !errors.Is(err, ErrClosed) {
					t.Errorf("Get while closing: %v, want %v", err, ErrClosed)
				}
				break
			}
		}
		break
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if err := e.Apply(t.Context(), "t", "f", rows("c")); !errors.Is(err, ErrClosed) {
		t.Errorf("Apply after Close: %v, want %v", err, ErrClosed)
	}
	if err := e.Close(); !errors.Is(err, ErrClosed) {
		t.Errorf("second Close: %v, want %v", err, ErrClosed)
	}
}

func TestCollector(t *testing.T) {
	e := opened(t, Options{Path: t.TempDir(), Tables: []kv.Table{{Name: "t", Families: []string{"f"}}}})
	apply(t, e, "f", rows("a"))
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(e.Collector())
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range families {
		values[f.GetName()] = f.GetMetric()[0].GetGauge().GetValue() + f.GetMetric()[0].GetCounter().GetValue()
	}
	for _, name := range []string{"disk_bytes", "wal_bytes", "wal_written_bytes_total", "memtable_bytes"} {
		if values["tsdbridge_embedded_"+name] == 0 {
			t.Errorf("%s is 0 after a write; all: %v", name, values)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if families, err := registry.Gather(); err != nil || len(families) > 0 {
		t.Errorf("after Close: %d metrics, %v", len(families), err)
	}
}

// TestManyOpens opens as many stores as a run of promqltest does.
func TestManyOpens(t *testing.T) {
	for range 256 {
		e := opened(t, Options{InMemory: true, Tables: kvtest.Tables()})
		if err := e.Apply(t.Context(), "tsdb", "t", rows("a")); err != nil {
			t.Fatal(err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestContractOnFiles(t *testing.T) {
	kvtest.Run(t, func(t *testing.T) kv.KV {
		return &restless{Engine: opened(t, Options{InMemory: true, Tables: kvtest.Tables()}), t: t}
	})
	kvtest.RunLocal(t, func(t *testing.T) kv.Local {
		return &restless{Engine: opened(t, Options{InMemory: true, Tables: kvtest.Tables()}), t: t}
	})
}
