package opentsdb_test

import (
	"testing"

	"github.com/tsdbridge/tsdbridge/opentsdb/opentsdbtest"
	"github.com/tsdbridge/tsdbridge/opentsdb/tsdtest"
)

// TestRecorded replays what was recorded, in its order. testdata/differences lists the requests that
// are answered otherwise, each with its reason; one that is answered as by a TSD must leave the list.
func TestRecorded(t *testing.T) {
	opentsdbtest.Replay(t, tsdtest.Start(t), "testdata", "tsd", "differences")
}
