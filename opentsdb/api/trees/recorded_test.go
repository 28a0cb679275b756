package trees_test

import (
	"testing"

	"github.com/tsdbridge/tsdbridge/opentsdb/opentsdbtest"
	"github.com/tsdbridge/tsdbridge/opentsdb/tsdtest"
)

// TestRecordedTrees replays requests about trees alone, many of them wrong.
func TestRecordedTrees(t *testing.T) {
	opentsdbtest.Replay(t, tsdtest.Start(t), "testdata", "trees", "tree-differences")
}
