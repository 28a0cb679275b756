package hbase_test

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage/hbase"
	"github.com/tsdbridge/tsdbridge/storage/hbase/hbasetest"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// TestPressure runs many writers against silent servers: few requests are in flight, every writer
// gets an error in bounded time, and when the servers answer again all writes succeed, also those
// that were refused.
func TestPressure(t *testing.T) {
	const (
		writers  = 24
		inFlight = 2
		timeout  = 300 * time.Millisecond
	)
	c, e := fake(t, hbase.Options{Timeout: timeout, BatchRows: 5, InFlight: inFlight, Batches: 6})
	c.Split(table, key(100)) // the halves are on two servers
	mustApply(t, e, puts(0, 200, 1))
	hold := make(chan struct{})
	var waiting atomic.Int64
	c.OnRequest(func(r hbasetest.Request) hbasetest.Fault {
		if isMulti(r) {
			waiting.Add(1)
			return hbasetest.Fault{Hold: hold}
		}
		return hbasetest.Fault{}
	})
	write := func(n int) error { return e.Apply(t.Context(), table, family, puts(n, n+20, 2)) }
	var running sync.WaitGroup
	begin := time.Now()
	for n := range writers {
		running.Go(func() {
			if err := write(n * 5); err == nil || !strings.Contains(err.Error(), "no answer from HBase") || errors.Is(err, kv.ErrNoTable) {
				t.Errorf("writer %d: %v", n, err)
			}
		})
	}
	running.Wait()
	// A batch waits for a token and then for its answer; generous, for a busy machine.
	if took := time.Since(begin); took > 20*timeout {
		t.Errorf("the writers waited for %v, with a timeout of %v", took, timeout)
	}
	// Of 96 requests few were sent: an abandoned request releases its place at a server, and all
	// are abandoned at about the same time.
	if n := waiting.Load(); n > 2*6*inFlight {
		t.Errorf("%d requests were begun by two servers that answer none", n)
	}
	c.OnRequest(func(hbasetest.Request) hbasetest.Fault { return hbasetest.Fault{} })
	close(hold)
	for n := range writers {
		running.Go(func() {
			if err := write(n * 5); err != nil {
				t.Errorf("afterwards, writer %d: %v", n, err)
			}
		})
	}
	running.Wait()
	got, err := scanAll(t.Context(), e, kv.Scan{Stop: []byte(key(writers*5 + 15))})
	if diff := cmp.Diff(want(puts(0, writers*5+15, 2)), lines(got)); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

// TestServersDoNotWaitForEachOther writes to one server while the other is silent.
func TestServersDoNotWaitForEachOther(t *testing.T) {
	c, e := fake(t, hbase.Options{BatchRows: 5, InFlight: 1})
	c.Split(table, key(100))
	mustApply(t, e, puts(0, 200, 1))
	hold := make(chan struct{})
	var held atomic.Bool
	begun := make(chan struct{})
	c.OnRequest(func(r hbasetest.Request) hbasetest.Fault {
		if isMulti(r) && held.CompareAndSwap(false, true) {
			close(begun)
			return hbasetest.Fault{Hold: hold}
		}
		return hbasetest.Fault{}
	})
	var running sync.WaitGroup
	running.Go(func() { mustApply(t, e, puts(0, 20, 2)) })
	<-begun
	mustApply(t, e, puts(100, 200, 2))
	close(hold)
	running.Wait()
}
