package source

import (
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/graphite/graphitetest"
)

const webNow = graphitetest.Now

// fixture is sources over a store in memory.
type fixture struct {
	*graphitetest.Store

	sources *Sources
}

// newFixture returns sources over an empty store. Options may be changed before the sources are
// made.
func newFixture(t testing.TB, change ...func(*Options)) *fixture {
	t.Helper()
	return newFixtureOver(graphitetest.New(t), change...)
}

// newFixtureOver returns the sources of a store.
func newFixtureOver(store *graphitetest.Store, change ...func(*Options)) *fixture {
	o := Options{
		Store: store, Catalog: store.Catalog(), Documents: store.Documents(), Trees: store.Trees, Names: store.Names, Limits: Limits{Series: 1_000_000, Points: 50_000_000, Nodes: 1_000_000},
		Now: func() time.Time { return time.Unix(webNow, 0) },
	}
	for _, c := range change {
		c(&o)
	}
	return &fixture{Store: store, sources: New(o)}
}
