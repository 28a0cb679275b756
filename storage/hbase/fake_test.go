package hbase_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/storage/hbase"
	"github.com/tsdbridge/tsdbridge/storage/hbase/hbasetest"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/kv/kvtest"
)

const table, family = "t", "f"

// fake starts the fake with one table and an engine on it.
func fake(t *testing.T, o hbase.Options) (*hbasetest.Cluster, *hbase.Engine) {
	t.Helper()
	c := hbasetest.Start(t, map[string][]string{table: {family}})
	o.ZooKeeper = c.ZooKeeper()
	return c, newEngine(t, o)
}

func newEngine(t *testing.T, o hbase.Options) *hbase.Engine {
	t.Helper()
	e, err := hbase.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func key(i int) string { return fmt.Sprintf("r%04d", i) }

// puts returns rows with the given number of cells each.
func puts(from, to, cells int) []kv.Mutation {
	var rows []kv.Mutation
	for i := from; i < to; i++ {
		m := kv.Mutation{Key: []byte(key(i))}
		for q := range cells {
			m.Puts = append(m.Puts, kv.Put{Qualifier: []byte{byte(q)}, Value: fmt.Appendf(nil, "%d.%d", i, q)})
		}
		rows = append(rows, m)
	}
	return rows
}

func mustApply(t *testing.T, e kv.KV, rows []kv.Mutation) {
	t.Helper()
	if err := e.Apply(t.Context(), table, family, rows); err != nil {
		t.Fatal(err)
	}
}

// lines formats rows as "key: qualifier=value ...".
func lines(rows []kv.Row) []string {
	var out []string
	for _, r := range rows {
		line := string(r.Key) + ":"
		for _, c := range r.Cells {
			line += fmt.Sprintf(" %x=%s", c.Qualifier, c.Value)
		}
		out = append(out, line)
	}
	return out
}

func want(rows []kv.Mutation) []string {
	var out []string
	for _, m := range rows {
		r := kv.Row{Key: m.Key}
		for _, p := range m.Puts {
			r.Cells = append(r.Cells, kv.Cell{Qualifier: p.Qualifier, Value: p.Value})
		}
		out = append(out, lines([]kv.Row{r})...)
	}
	return out
}

func scanAll(ctx context.Context, e kv.KV, s kv.Scan) ([]kv.Row, error) {
	s.Table, s.Family = table, family
	var rows []kv.Row
	for row, err := range e.Scan(ctx, s) {
		if err != nil {
			return rows, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// hit injects the fault into the nth request (from 0) that satisfies the condition; the test fails
// if there is none.
func hit(t *testing.T, c *hbasetest.Cluster, n int, when func(hbasetest.Request) bool, f hbasetest.Fault) {
	t.Helper()
	var seen atomic.Int64
	c.OnRequest(func(r hbasetest.Request) hbasetest.Fault {
		if when(r) && seen.Add(1) == int64(n)+1 {
			return f
		}
		return hbasetest.Fault{}
	})
	t.Cleanup(func() {
		if seen.Load() <= int64(n) {
			t.Errorf("the fault was for request %d, of %d", n, seen.Load())
		}
	})
}

func isNext(r hbasetest.Request) bool      { return r.Method == "Scan" && r.Next && !r.Close }
func isOpen(r hbasetest.Request) bool      { return r.Method == "Scan" && !r.Next }
func isMulti(r hbasetest.Request) bool     { return r.Method == "Multi" }
func isIncrement(r hbasetest.Request) bool { return r.Method == "Mutate" }

const javaPackage = "org.apache.hadoop.hbase."

// TestScanFaults reads 100 rows of 3 cells, 7 rows or 10 cells an answer, through one fault at a
// time: every row comes once, whole and in order.
func TestScanFaults(t *testing.T) {
	busy := hbasetest.Fault{Exception: javaPackage + "CallQueueTooBigException"}
	dropped := hbasetest.Fault{Exception: javaPackage + "CallDroppedException"}
	for _, test := range []struct {
		name string
		when func(hbasetest.Request) bool
		what func(*hbasetest.Cluster) hbasetest.Fault
	}{
		{"answer of next lost", isNext, func(*hbasetest.Cluster) hbasetest.Fault { return hbasetest.Fault{Lose: true} }},
		{"answer of open lost", isOpen, func(*hbasetest.Cluster) hbasetest.Fault { return hbasetest.Fault{Lose: true} }},
		{"next while the queue is full", isNext, func(*hbasetest.Cluster) hbasetest.Fault { return busy }},
		{"open while the queue is full", isOpen, func(*hbasetest.Cluster) hbasetest.Fault { return busy }},
		{"next dropped", isNext, func(*hbasetest.Cluster) hbasetest.Fault { return dropped }},
		{"open dropped", isOpen, func(*hbasetest.Cluster) hbasetest.Fault { return dropped }},
		{"region moves", isNext, func(c *hbasetest.Cluster) hbasetest.Fault {
			return hbasetest.Fault{Do: func() { c.Move(table, key(50)) }}
		}},
		{"region splits after the batch", isNext, func(c *hbasetest.Cluster) hbasetest.Fault {
			return hbasetest.Fault{Do: func() { c.Split(table, key(3)) }}
		}},
		{"region splits ahead", isNext, func(c *hbasetest.Cluster) hbasetest.Fault {
			return hbasetest.Fault{Do: func() { c.Split(table, key(60)) }}
		}},
		{"nothing found yet", isNext, func(*hbasetest.Cluster) hbasetest.Fault { return hbasetest.Fault{Empty: true} }},
		{"nothing found at first", isOpen, func(*hbasetest.Cluster) hbasetest.Fault { return hbasetest.Fault{Empty: true} }},
		{"lease ended", isNext, func(*hbasetest.Cluster) hbasetest.Fault {
			return hbasetest.Fault{Exception: javaPackage + "regionserver.LeaseException"}
		}},
		{"scanner reset", isNext, func(*hbasetest.Cluster) hbasetest.Fault {
			return hbasetest.Fault{Exception: javaPackage + "exceptions.ScannerResetException"}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for n := range 4 {
				c, e := fake(t, hbase.Options{})
				c.PageRows, c.PageCells = 7, 10
				rows := puts(0, 100, 3)
				mustApply(t, e, rows)
				c.Split(table, key(30))
				hit(t, c, min(n, lastOf(test.when)), test.when, test.what(c))
				got, err := scanAll(t.Context(), e, kv.Scan{Start: []byte(key(2)), Stop: []byte(key(97))})
				if err != nil {
					t.Fatalf("fault at request %d: %v", n, err)
				}
				if diff := cmp.Diff(want(rows[2:97]), lines(got)); diff != "" {
					t.Fatalf("fault at request %d (-want +got):\n%s", n, diff)
				}
			}
		})
	}
}

// lastOf bounds the number of a request: a scan of two regions opens twice.
func lastOf(when func(hbasetest.Request) bool) int {
	if when(hbasetest.Request{Method: "Scan"}) {
		return 1
	}
	return 4
}

// TestScanResumesAtStop loses the scanner just before its end, where the rest of the range is
// empty: HBase takes an empty range for a request to read one row.
func TestScanResumesAtStop(t *testing.T) {
	c, e := fake(t, hbase.Options{})
	c.PageRows = 1
	mustApply(t, e, []kv.Mutation{put("a"), put("a\x00"), put("b")})
	for _, f := range []hbasetest.Fault{{Lose: true}, {Exception: javaPackage + "UnknownScannerException"}} {
		hit(t, c, 0, isNext, f)
		got, err := scanAll(t.Context(), e, kv.Scan{Stop: []byte("a\x00")})
		if diff := cmp.Diff([]string{"a: 71=v"}, lines(got)); err != nil || diff != "" {
			t.Errorf("%+v: %v\n%s", f, err, diff)
		}
	}
}

func put(key string) kv.Mutation {
	return kv.Mutation{Key: []byte(key), Puts: []kv.Put{{Qualifier: []byte("q"), Value: []byte("v")}}}
}

// TestScanGivesUp: a scan that cannot continue ends with an error that states why, and never as if
// it were complete.
func TestScanGivesUp(t *testing.T) {
	c, e := fake(t, hbase.Options{ScanTimeout: 300 * time.Millisecond})
	c.PageRows = 3
	mustApply(t, e, puts(0, 10, 1))
	always := func(class string, when func(hbasetest.Request) bool) {
		c.OnRequest(func(r hbasetest.Request) hbasetest.Fault {
			if when(r) {
				return hbasetest.Fault{Exception: javaPackage + class}
			}
			return hbasetest.Fault{}
		})
	}
	always("DoNotRetryIOException", isNext)
	if rows, err := scanAll(t.Context(), e, kv.Scan{}); len(rows) != 3 || err == nil || !strings.Contains(err.Error(), "DoNotRetryIOException") {
		t.Errorf("refused for good after 3 rows: %d rows, %v", len(rows), err)
	}
	always("UnknownScannerException", isNext)
	if rows, err := scanAll(t.Context(), e, kv.Scan{}); len(rows) != 10 || err != nil {
		t.Errorf("a scanner that is lost after each answer: %d rows, %v; want all 10", len(rows), err)
	}
	always("CallDroppedException", isOpen)
	if rows, err := scanAll(t.Context(), e, kv.Scan{}); len(rows) != 0 || err == nil || !strings.Contains(err.Error(), "CallDroppedException") {
		t.Errorf("never opened: %d rows, %v", len(rows), err)
	}
}

// TestScanIsReleased ends a scan early and checks that its scanner is closed.
func TestScanIsReleased(t *testing.T) {
	c, e := fake(t, hbase.Options{})
	c.PageRows = 2
	mustApply(t, e, puts(0, 50, 1))
	for row, err := range e.Scan(t.Context(), kv.Scan{Table: table, Family: family}) {
		if err != nil || string(row.Key) != key(0) {
			t.Fatalf("first row %q, %v", row.Key, err)
		}
		break
	}
	if err := e.Close(); err != nil { // waits for what is in the background
		t.Fatal(err)
	}
	if n := c.Scanners(); n != 0 {
		t.Errorf("%d scanners are open", n)
	}
}

// TestApplyFaults writes to three regions through one fault at a time: afterwards everything is
// there once.
func TestApplyFaults(t *testing.T) {
	row := func(class string) hbasetest.Fault { return hbasetest.Fault{RowException: javaPackage + class} }
	for _, test := range []struct {
		name  string
		fault func(*hbasetest.Cluster) hbasetest.Fault
	}{
		{"answer lost", func(*hbasetest.Cluster) hbasetest.Fault { return hbasetest.Fault{Lose: true} }},
		{"no word about a row", func(*hbasetest.Cluster) hbasetest.Fault { return hbasetest.Fault{Silent: true} }},
		{"region busy", func(*hbasetest.Cluster) hbasetest.Fault { return row("RegionTooBusyException") }},
		{"region said to be elsewhere", func(*hbasetest.Cluster) hbasetest.Fault { return row("NotServingRegionException") }},
		{"log closed", func(*hbasetest.Cluster) hbasetest.Fault { return row("regionserver.wal.WALClosedException") }},
		{"dropped", func(*hbasetest.Cluster) hbasetest.Fault {
			return hbasetest.Fault{Exception: javaPackage + "CallDroppedException"}
		}},
		{"queue full", func(*hbasetest.Cluster) hbasetest.Fault {
			return hbasetest.Fault{Exception: javaPackage + "CallQueueTooBigException"}
		}},
		{"region moves", func(c *hbasetest.Cluster) hbasetest.Fault {
			return hbasetest.Fault{Do: func() { c.Move(table, key(70)) }}
		}},
		{"region splits", func(c *hbasetest.Cluster) hbasetest.Fault {
			return hbasetest.Fault{Do: func() { c.Split(table, key(80)) }}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for n := range 3 {
				c, e := fake(t, hbase.Options{BatchRows: 40})
				c.Split(table, key(30))
				c.Split(table, key(60))
				mustApply(t, e, puts(0, 100, 3))
				// Rows with puts and deletes, rows with puts alone.
				rows := puts(0, 100, 2)
				for i := range rows {
					if i%3 == 0 {
						rows[i].Deletes = []kv.Delete{{Qualifier: []byte{2}}}
					} else {
						rows[i].Puts = append(rows[i].Puts, kv.Put{Qualifier: []byte{2}, Value: []byte("new")})
					}
				}
				hit(t, c, n, isMulti, test.fault(c))
				slices.Reverse(rows) // in no particular order
				mustApply(t, e, rows)
				slices.Reverse(rows)
				got, err := scanAll(t.Context(), e, kv.Scan{})
				if diff := cmp.Diff(want(rows), lines(got)); err != nil || diff != "" {
					t.Fatalf("fault at request %d: %v (-want +got)\n%s", n, err, diff)
				}
			}
		})
	}
}

// TestGetFaults reads rows of three regions in an order of its own, some twice, through faults.
func TestGetFaults(t *testing.T) {
	c, e := fake(t, hbase.Options{BatchRows: 10})
	c.Split(table, key(30))
	c.Split(table, key(60))
	rows := puts(0, 100, 2)
	mustApply(t, e, rows)
	var keys [][]byte
	var wanted []string
	for i := range 200 {
		k := i * 37 % 110
		keys = append(keys, []byte(key(k)))
		if k < 100 {
			wanted = append(wanted, want(rows[k:k+1])...)
		} else {
			wanted = append(wanted, key(k)+":")
		}
	}
	for _, f := range []hbasetest.Fault{
		{},
		{Lose: true},
		{Silent: true},
		{RowException: javaPackage + "MultiActionResultTooLarge"},
		{RowException: javaPackage + "NotServingRegionException"},
		{Do: func() { c.Split(table, key(45)) }},
		{Do: func() { c.Split(table, key(25)) }},
	} {
		hit(t, c, 2, isMulti, f)
		got, err := e.Get(t.Context(), table, family, keys)
		if diff := cmp.Diff(wanted, lines(got)); err != nil || diff != "" {
			t.Errorf("%+v: %v (-want +got)\n%s", f, err, diff)
		}
		hit(t, c, 2, isMulti, f)
		past, err := e.History(t.Context(), table, family, keys)
		got = nil
		for _, h := range past {
			got = append(got, h.Row)
		}
		if diff := cmp.Diff(wanted, lines(got)); err != nil || diff != "" {
			t.Errorf("%+v: history: %v (-want +got)\n%s", f, err, diff)
		}
	}
}

// TestIncrementOnce: an increment whose answer is lost is reported and not repeated; one that the
// server refused is repeated.
func TestIncrementOnce(t *testing.T) {
	column := kv.Column{Table: table, Family: family, Row: []byte("counter"), Qualifier: []byte("n")}
	for _, test := range []struct {
		name  string
		fault func(*hbasetest.Cluster) hbasetest.Fault
		sum   int64 // 0: an error
		held  int64
	}{
		{"answer lost", func(*hbasetest.Cluster) hbasetest.Fault { return hbasetest.Fault{Lose: true} }, 0, 5},
		{"queue full", func(*hbasetest.Cluster) hbasetest.Fault {
			return hbasetest.Fault{Exception: javaPackage + "CallQueueTooBigException"}
		}, 5, 5},
		{"dropped", func(*hbasetest.Cluster) hbasetest.Fault {
			return hbasetest.Fault{Exception: javaPackage + "CallDroppedException"}
		}, 5, 5},
		{"moved", func(c *hbasetest.Cluster) hbasetest.Fault {
			return hbasetest.Fault{Do: func() { c.Move(table, "counter") }}
		}, 5, 5},
		{"refused", func(*hbasetest.Cluster) hbasetest.Fault {
			return hbasetest.Fault{Exception: javaPackage + "DoNotRetryIOException"}
		}, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, e := fake(t, hbase.Options{})
			hit(t, c, 0, isIncrement, test.fault(c))
			sum, err := e.Increment(t.Context(), column, 5)
			if sum != test.sum || (err == nil) != (test.sum != 0) {
				t.Errorf("Increment = %d, %v, want %d", sum, err, test.sum)
			}
			if held, err := e.Increment(t.Context(), column, 0); held != test.held || err != nil {
				t.Errorf("afterwards the counter is %d, %v, want %d", held, err, test.held)
			}
		})
	}
}

// TestHungServer: neither a deadline nor a cancellation waits for a silent server.
func TestHungServer(t *testing.T) {
	c, e := fake(t, hbase.Options{Timeout: 100 * time.Millisecond, ScanTimeout: 100 * time.Millisecond})
	mustApply(t, e, puts(0, 10, 1))
	hold := make(chan struct{}) // never closed: the fake releases it when the test ends
	c.OnRequest(func(hbasetest.Request) hbasetest.Fault { return hbasetest.Fault{Hold: hold} })
	column := kv.Column{Table: table, Family: family, Row: []byte("c"), Qualifier: []byte("n")}
	patient := newEngine(t, hbase.Options{ZooKeeper: c.ZooKeeper(), Registerer: prometheus.NewRegistry(), Timeout: time.Hour, ScanTimeout: time.Hour})
	for name, do := range map[string]func(context.Context, kv.KV) error{
		"Apply": func(ctx context.Context, e kv.KV) error { return e.Apply(ctx, table, family, puts(0, 10, 1)) },
		"Get": func(ctx context.Context, e kv.KV) error {
			_, err := e.Get(ctx, table, family, [][]byte{{'r'}})
			return err
		},
		"Scan":        func(ctx context.Context, e kv.KV) error { _, err := scanAll(ctx, e, kv.Scan{}); return err },
		"Increment":   func(ctx context.Context, e kv.KV) error { _, err := e.Increment(ctx, column, 1); return err },
		"CheckAndPut": func(ctx context.Context, e kv.KV) error { _, err := e.CheckAndPut(ctx, column, nil, nil); return err },
	} {
		t.Run(name, func(t *testing.T) {
			err := do(t.Context(), e)
			if err == nil || errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no answer from HBase") {
				t.Errorf("after our deadline: %v", err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(20*time.Millisecond, cancel)
			if err := do(ctx, patient); !errors.Is(err, context.Canceled) {
				t.Errorf("after the caller's cancellation: %v", err)
			}
		})
	}
}

// TestReasonOfTheDeadline: an error about a deadline states what the operation was waiting for.
func TestReasonOfTheDeadline(t *testing.T) {
	c, e := fake(t, hbase.Options{Timeout: 200 * time.Millisecond})
	c.OnRequest(func(r hbasetest.Request) hbasetest.Fault {
		if isMulti(r) {
			return hbasetest.Fault{RowException: javaPackage + "RegionTooBusyException"}
		}
		return hbasetest.Fault{}
	})
	err := e.Apply(t.Context(), table, family, puts(0, 3, 1))
	if err == nil || !strings.Contains(err.Error(), "no answer") || !strings.Contains(err.Error(), "RegionTooBusyException") {
		t.Errorf("err = %v, want the deadline and the reason", err)
	}
}

func TestNoTable(t *testing.T) {
	_, e := fake(t, hbase.Options{})
	if err := e.Apply(t.Context(), "nowhere", family, puts(0, 1, 1)); !errors.Is(err, kv.ErrNoTable) {
		t.Errorf("table: %v", err)
	}
	if err := e.Apply(t.Context(), table, "nothing", puts(0, 1, 1)); !errors.Is(err, kv.ErrNoTable) {
		t.Errorf("family: %v", err)
	}
}

// TestConformanceOnFake tests the engine against the contract without Java, and again with repeated
// faults.
func TestConformanceOnFake(t *testing.T) {
	tables := map[string][]string{}
	for _, tab := range kvtest.Tables() {
		tables[tab.Name] = tab.Families
	}
	open := func(t *testing.T) (*hbasetest.Cluster, kv.KV) {
		c := hbasetest.Start(t, tables)
		c.PageRows, c.PageCells = 100, 2500
		return c, newEngine(t, hbase.Options{ZooKeeper: c.ZooKeeper(), Registerer: prometheus.NewRegistry()})
	}
	t.Run("quiet", func(t *testing.T) {
		kvtest.Run(t, func(t *testing.T) kv.KV {
			_, e := open(t)
			return e
		})
	})
	t.Run("versioned", func(t *testing.T) {
		kvtest.RunVersioned(t, func(t *testing.T) (kv.KV, kvtest.Owner) {
			c, e := open(t)
			return e, kvtest.Owner{
				DeleteExact: func(_ *testing.T, key, qualifier []byte, time int64) {
					c.DeleteExact("tsdb", "t", key, qualifier, time)
				},
				Compact: func(*testing.T) { c.Compact("tsdb") },
			}
		})
	})
	t.Run("faulty", func(t *testing.T) {
		kvtest.Run(t, func(t *testing.T) kv.KV {
			c, e := open(t)
			for b := range 256 {
				if b%64 == 63 {
					c.Split("tsdb", string([]byte{byte(b)}))
				}
			}
			c.OnRequest(func(r hbasetest.Request) hbasetest.Fault { return trouble(c, r) })
			return e
		})
	})
}

// trouble injects a fault into one request in seven or so, except increments, which would rightly
// return errors.
func trouble(c *hbasetest.Cluster, r hbasetest.Request) hbasetest.Fault {
	switch {
	case r.Method == "Multi" && r.N%7 == 3:
		return hbasetest.Fault{RowException: javaPackage + "RegionTooBusyException"}
	case r.Method == "Multi" && r.N%11 == 5:
		return hbasetest.Fault{Silent: true}
	case r.Method == "Multi" && r.N%53 == 9:
		return hbasetest.Fault{Do: func() { c.Move(r.Table, fmt.Sprint(r.N%10)) }}
	case isNext(r) && r.N%7 == 2: // a row in parts begins again, so not too often
		return hbasetest.Fault{Exception: javaPackage + "UnknownScannerException"}
	case isNext(r) && r.N%17 == 4:
		return hbasetest.Fault{Lose: true}
	case isOpen(r) && r.N%13 == 6:
		return hbasetest.Fault{Empty: true}
	}
	return hbasetest.Fault{}
}

// TestGarbledCounts: whatever bytes stand in place of a counter's cell, the answer is an error or
// the sum, and the process continues. HBase has been seen to answer with the bytes of other
// requests.
func TestGarbledCounts(t *testing.T) {
	c, e := fake(t, hbase.Options{})
	column := kv.Column{Table: table, Row: []byte{0}, Family: family, Qualifier: []byte("tagk")}
	random := rand.New(rand.NewPCG(1, 2))
	wrong := 0
	for n := range int64(300) {
		c.OnRequest(func(r hbasetest.Request) hbasetest.Fault {
			if !isIncrement(r) {
				return hbasetest.Fault{}
			}
			return hbasetest.Fault{Garble: func(cells []byte) {
				from := random.IntN(len(cells) - 8)
				// the value may differ without any sign of it
				for i := from; i < min(from+1+random.IntN(16), len(cells)-8); i++ {
					cells[i] = byte(random.Uint32())
				}
			}}
		})
		if sum, err := e.Increment(t.Context(), column, 1); err != nil {
			wrong++
		} else if sum != n+1 {
			t.Fatalf("increment %d: %d", n, sum)
		}
	}
	if wrong < 100 {
		t.Errorf("%d of 300 garbled answers were refused", wrong)
	}
	c.OnRequest(func(hbasetest.Request) hbasetest.Fault { return hbasetest.Fault{} })
	if sum, err := e.Increment(t.Context(), column, 1); err != nil || sum != 301 {
		t.Errorf("afterwards: %d, %v", sum, err)
	}
}
