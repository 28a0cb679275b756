package opentsdb

import (
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/opentsdb/put"
)

// TestPutsOutliveTheStore: no put over HTTP ends before one operation of the store may.
func TestPutsOutliveTheStore(t *testing.T) {
	usual := put.DefaultHandlerOptions().Timeout
	if got := put.DefaultHandlerOptions().Waiting(time.Minute).Timeout; got <= time.Minute {
		t.Errorf("a put ends after %v, an operation of the store after a minute", got)
	}
	if got := put.DefaultHandlerOptions().Waiting(0).Timeout; got != usual {
		t.Errorf("a put ends after %v, usually after %v", got, usual)
	}
}

// TestEditsOutliveTheStore is the same for edits, which have no limit where queries have none.
func TestEditsOutliveTheStore(t *testing.T) {
	for _, test := range []struct{ query, store, want time.Duration }{
		{time.Second, time.Minute, 65 * time.Second}, {time.Hour, time.Minute, time.Hour}, {0, time.Minute, 0},
	} {
		o := Options{Timeout: test.query, StoreTimeout: test.store}
		if got := o.editTimeout(); got != test.want {
			t.Errorf("queries end after %v, the store after %v, edits after %v, want %v", test.query, test.store, got, test.want)
		}
	}
}
