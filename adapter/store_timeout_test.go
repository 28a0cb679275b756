package adapter

import (
	"testing"
	"time"
)

// TestWritesOutliveTheStore: no write ends before one operation of the store may.
func TestWritesOutliveTheStore(t *testing.T) {
	o := DefaultOptions()
	o.Engine, o.HBaseTimeout = EngineHBase, time.Minute
	if got := o.prometheusOptions().Write.Timeout; got <= o.HBaseTimeout {
		t.Errorf("a remote write ends after %v, --hbase.timeout is %v", got, o.HBaseTimeout)
	}
	o.Engine = EngineEmbedded
	if got := o.prometheusOptions().Write.Timeout; got != o.Prometheus.Write.Timeout {
		t.Errorf("a remote write of an embedded store ends after %v", got)
	}
}
