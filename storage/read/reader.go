package read

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/internal/cache"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/head"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

// Options are what a Reader needs.
type Options struct {
	DB *kv.Engine
	// Table is the table of points.
	Table  string
	Layout schema.Layout
	Index  *index.Index
	// Head has the points that are not in the table yet; nil: there are none. Ages returns when the
	// points of a row of Head were acknowledged; it is for shared tables.
	Head *head.Head
	Ages func(head.Row) []own.Age
	// Ready returns an error while the head lacks points that were acknowledged.
	Ready func() error
	// Unreadable, if set, is told why a row that a query meets cannot be read.
	Unreadable func(err error)
	// SweepBytes is what one wide read of shared tables may hold at a time; 0: a quarter of the
	// query's budget.
	SweepBytes int64
	Now        func() time.Time
	Registerer prometheus.Registerer
}

// Reader reads points of series. It is safe for concurrent use.
type Reader struct {
	o       Options
	groups  sync.Pool // *group
	metrics *metrics
	costs   *learnedCosts
	// outcomes are of shared engines.
	outcomes *cache.LRU[way, storage.PlanOutcome]
}

// New returns a reader of a table and a head.
func New(o Options) *Reader {
	r := &Reader{o: o, metrics: newMetrics(o.Registerer), costs: &learnedCosts{engine: o.DB.Costs}, outcomes: newOutcomes()}
	r.groups.New = func() any { return &seriesGroup{} }
	return r
}
