package hbase_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/hbase"
	"github.com/tsdbridge/tsdbridge/storage/hbase/hbasetest"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// operations returns all operations of the engine, on row 5.
func operations(t *testing.T, e *hbase.Engine) map[string]func(context.Context) error {
	t.Helper()
	column := kv.Column{Table: table, Family: family, Row: []byte(key(5)), Qualifier: []byte("n")}
	return map[string]func(context.Context) error{
		"get": func(ctx context.Context) error {
			_, err := e.Get(ctx, table, family, [][]byte{column.Row})
			return err
		},
		"scan": func(ctx context.Context) error {
			_, err := scanAll(ctx, e, kv.Scan{})
			return err
		},
		"apply": func(ctx context.Context) error { return e.Apply(ctx, table, family, puts(5, 6, 1)) },
		"increment": func(ctx context.Context) error {
			_, err := e.Increment(ctx, column, 1)
			return err
		},
		"check and put": func(ctx context.Context) error {
			_, err := e.CheckAndPut(ctx, column, nil, []byte("12345678"))
			return err
		},
	}
}

// TestDisabledTable: each operation on a disabled table returns that error long before its timeout,
// and works again when the table is enabled.
func TestDisabledTable(t *testing.T) {
	t.Parallel()
	c, e := fake(t, hbase.Options{Timeout: time.Hour, ScanTimeout: time.Hour})
	mustApply(t, e, puts(0, 10, 1))
	c.Disable(table, true)
	var running sync.WaitGroup
	for name, run := range operations(t, e) {
		running.Go(func() {
			if err := run(t.Context()); err == nil || strings.Count(err.Error(), "disabled") != 1 || strings.Count(err.Error(), "table "+table+":") != 1 {
				t.Errorf("%s: %v; want that table %s is disabled, said once", name, err, table)
			}
		})
	}
	running.Wait()
	c.Disable(table, false)
	for name, run := range operations(t, e) {
		if err := run(t.Context()); err != nil {
			t.Errorf("%s after the table was enabled: %v", name, err)
		}
	}
}

// TestTimeoutOnce: operations on silent servers end after Timeout and not after twice Timeout, also
// those that wait for their turn first.
func TestTimeoutOnce(t *testing.T) {
	t.Parallel()
	const timeout = 3 * time.Second
	c, e := fake(t, hbase.Options{Timeout: timeout, ScanTimeout: time.Hour, Batches: 1, InFlight: 1})
	mustApply(t, e, puts(0, 10, 1))
	c.Split(table, key(5)) // one request is cut in two
	c.OnRequest(func(hbasetest.Request) hbasetest.Fault { return hbasetest.Fault{Hold: make(chan struct{})} })
	both := map[string]func(context.Context) error{
		"apply to two regions": func(ctx context.Context) error { return e.Apply(ctx, table, family, puts(0, 10, 1)) },
	}
	for name, run := range operations(t, e) {
		both[name], both["another "+name] = run, run
	}
	var running sync.WaitGroup
	for name, run := range both {
		running.Go(func() {
			begin := time.Now()
			err := run(t.Context())
			if err == nil || strings.Count(err.Error(), "no answer from HBase") != 1 || strings.Count(err.Error(), "table "+table+":") != 1 {
				t.Errorf("%s: %v; want no answer, said once", name, err)
			}
			if took := time.Since(begin); took > timeout*5/3 {
				t.Errorf("%s takes %v, with a timeout of %v", name, took, timeout)
			}
		})
	}
	running.Wait()
}
