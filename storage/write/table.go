package write

import (
	"log/slog"
	"sync"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/catalog"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Table puts points into the rows of the data table. It reads a row before it writes it unless it
// knows what the row holds. It is safe for concurrent use.
type Table struct {
	db        *kv.Engine
	name      string
	layout    schema.Layout
	values    schema.Values
	exclusive bool // no other process writes
	appended  bool // points are put into append cells; others write
	index     *index.Index
	states    *index.Pages[state]
	registry  *catalog.Registry
	days      *catalog.Days // nil: others write, and keep none
	stamps    *stampClock
	verifier  verifier
	appends   sync.Pool     // *tableAppend
	reads     chan struct{} // one for each append that is reading rows
	metrics   *metrics
	logger    *slog.Logger
	now       func() time.Time
}

func newTable(o *Options, states *index.Pages[state], metrics *metrics) *Table {
	t := &Table{
		db: o.DB, name: o.Tables.Data, layout: o.Layout, values: o.Values, exclusive: o.DB.Exclusive, appended: o.AppendCells && o.DB.Versioned != nil, index: o.Series, states: states, registry: o.Registry, days: o.Days,
		stamps: &stampClock{wall: o.Now}, reads: make(chan struct{}, concurrentReads), metrics: metrics, logger: o.Logger, now: o.Now,
	}
	t.appends.New = func() any { return &tableAppend{} }
	return t
}
