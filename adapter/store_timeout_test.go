package adapter

import (
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/adapter/tables"
)

// TestWritesOutliveTheStore: no write ends before one operation of the store may.
func TestWritesOutliveTheStore(t *testing.T) {
	o := DefaultOptions()
	o.Engine, o.HBaseTimeout = tables.EngineHBase, time.Minute
	if got := o.prometheusOptions().Write.Timeout; got <= o.HBaseTimeout {
		t.Errorf("a remote write ends after %v, --hbase.timeout is %v", got, o.HBaseTimeout)
	}
	o.Engine = tables.EngineEmbedded
	if got := o.prometheusOptions().Write.Timeout; got != o.Prometheus.Write.Timeout {
		t.Errorf("a remote write of an embedded store ends after %v", got)
	}
}

// TestEditsOutliveTheStore: a request that may change something, in any language, does not end before
// one operation of the store may, however short queries are.
func TestEditsOutliveTheStore(t *testing.T) {
	o := DefaultOptions()
	o.Engine, o.ListenAddress = tables.EngineMemory, "127.0.0.1:0"
	a, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	o.Engine, o.HBaseTimeout, o.QueryTimeout = tables.EngineHBase, time.Minute, 10*time.Second
	if got := a.graphiteParts(o).Limits; got.EditTimeout <= time.Minute || got.Timeout != o.QueryTimeout {
		t.Errorf("Graphite: edits end after %v, queries after %v", got.EditTimeout, got.Timeout)
	}
	if got := a.opentsdbParts(o); got.StoreTimeout != time.Minute || got.Timeout != o.QueryTimeout {
		t.Errorf("OpenTSDB: the store may take %v, queries %v", got.StoreTimeout, got.Timeout)
	}
	o.QueryTimeout = 0
	if got := a.graphiteParts(o).Limits.EditTimeout; got != 0 {
		t.Errorf("Graphite: without a limit edits end after %v", got)
	}
}
