package opentsdb

import (
	"testing"
	"time"
)

// TestPutsOutliveTheStore: no put over HTTP ends before one operation of the store may.
func TestPutsOutliveTheStore(t *testing.T) {
	usual := defaultAPIOptions().Timeout
	if got := defaultAPIOptions().waiting(time.Minute).Timeout; got <= time.Minute {
		t.Errorf("a put ends after %v, an operation of the store after a minute", got)
	}
	if got := defaultAPIOptions().waiting(0).Timeout; got != usual {
		t.Errorf("a put ends after %v, usually after %v", got, usual)
	}
}
