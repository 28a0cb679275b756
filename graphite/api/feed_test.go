package api

import (
	"testing"

	"github.com/tsdbridge/tsdbridge/graphite/graphitetest"
)

// newFeed returns the API over the points of the recordings, with the rules that the recorded
// carbon had.
func newFeed(t testing.TB, change ...func(*Options)) *web {
	t.Helper()
	w := newWeb(t, append([]func(*Options){func(o *Options) {
		o.Schemas, o.Aggregation = graphitetest.CarbonFiles(t, "../source/testdata/carbon")
	}}, change...)...)
	w.Add(t, graphitetest.Open(t, "../eval/testdata/feed.txt.gz"))
	return w
}
