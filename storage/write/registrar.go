package write

import (
	"context"
	"sync"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/catalog"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/uid"
)

// Registrar gives series their UIDs and their rows of tsdb-meta, as far as the limits of new series
// allow. It is safe for concurrent use.
type Registrar struct {
	db          *kv.Engine
	meta        string // the table of series
	layout      schema.Layout
	exclusive   bool // no other process writes
	uids        *uid.Dictionary
	index       *index.Index
	registry    *catalog.Registry
	days        *catalog.Days
	catalog     *catalog.Catalog
	usage       *catalog.UIDUsage
	states      *index.Pages[state]
	observer    Observer // nil: there is none
	checkFit    func(context.Context) error
	now         func() time.Time
	admission   admission
	resolutions sync.Pool // *resolution
	metrics     *metrics
}

func newRegistrar(o *Options, states *index.Pages[state], metrics *metrics) *Registrar {
	r := &Registrar{
		db: o.DB, meta: o.Tables.Meta, layout: o.Layout, exclusive: o.Exclusive, uids: o.UIDs, index: o.Series, registry: o.Registry, days: o.Days,
		catalog: o.Catalog, usage: o.UIDUsage, states: states, observer: o.Observer, checkFit: o.CheckFit, now: o.Now, metrics: metrics,
	}
	r.admission.init(o.NewSeries, r.index.Len, o.Now, o.Registerer)
	r.resolutions.New = func() any { return &resolution{} }
	return r
}
