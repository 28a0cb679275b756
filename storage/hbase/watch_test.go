package hbase_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/hbase"
	"github.com/tsdbridge/tsdbridge/storage/hbase/hbasetest"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// TestScanOfHungServer: a scan does not wait for ScanTimeout when the server answers nothing else
// either.
func TestScanOfHungServer(t *testing.T) {
	c, e := fake(t, hbase.Options{Timeout: 100 * time.Millisecond, ScanTimeout: time.Hour})
	mustApply(t, e, puts(0, 10, 1))
	c.OnRequest(func(hbasetest.Request) hbasetest.Fault { return hbasetest.Fault{Hold: make(chan struct{})} })
	if _, err := scanAll(t.Context(), e, kv.Scan{}); err == nil || !strings.Contains(err.Error(), "no answer from HBase") {
		t.Errorf("err = %v, want no answer", err)
	}
}

// TestScanOfSilentServer: a scan continues past Timeout while the server searches, as long as it
// answers other requests.
func TestScanOfSilentServer(t *testing.T) {
	// the check of the server has half of it, on a busy machine too
	c, e := fake(t, hbase.Options{Timeout: 4 * time.Second, ScanTimeout: time.Hour})
	mustApply(t, e, puts(0, 10, 1))
	found := make(chan struct{})
	foundOnce := sync.OnceFunc(func() { close(found) })
	c.OnRequest(func(r hbasetest.Request) hbasetest.Fault {
		if isOpen(r) {
			return hbasetest.Fault{Hold: found}
		}
		if isMulti(r) { // the check of the server
			foundOnce()
		}
		return hbasetest.Fault{}
	})
	rows, err := scanAll(t.Context(), e, kv.Scan{})
	if err != nil || len(rows) != 10 {
		t.Errorf("%d rows, %v; want all 10", len(rows), err)
	}
	if c.Count("Multi") != 2 {
		t.Errorf("%d multis, want that of the puts and one look", c.Count("Multi"))
	}
}
