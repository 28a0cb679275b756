package adapter

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/adapter/tables"
	"github.com/tsdbridge/tsdbridge/storage/hbase/hbasetest"
)

// TestOldHBase: an adapter on an HBase before 2.4 ends with the reason and has written nothing, and
// one whose HBase is away waits.
func TestOldHBase(t *testing.T) {
	o := DefaultOptions()
	c := startHBase(t, o)
	c.Unconditional, c.Version = [2]bool{true, true}, "2.2.7"
	away := make(chan struct{})
	c.OnRequest(func(r hbasetest.Request) hbasetest.Fault {
		select {
		case <-away:
			return hbasetest.Fault{}
		default:
			return hbasetest.Fault{Exception: "org.apache.hadoop.hbase.CallQueueTooBigException"}
		}
	})
	o.Engine, o.ZooKeeper, o.HBaseTimeout = tables.EngineHBase, c.ZooKeeper(), 300*time.Millisecond
	o.ListenAddress, o.Path = "127.0.0.1:0", t.TempDir()
	a, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go func() { ended <- a.Run(ctx) }()
	if res := postText(t, "http://"+a.Addr(), `{__name__="up"} 1@1000000`); res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a write while HBase is away: %s", res.Status)
	}
	close(away)
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "HBase 2.4 or later is needed (the master is HBase 2.2.7)") {
		t.Errorf("Run = %v", err)
	}
	if n := c.Count("Mutate"); n != 0 {
		t.Errorf("%d increments and puts of UIDs", n)
	}
}
