package register

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/tsdbridge/tsdbridge/storage"
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
	noteNew     func(index.ID) bool
	observer    storage.Observer // nil: there is none
	brancher    storage.Brancher // the observer if it makes branches
	checkFit    func(context.Context) error
	now         func() time.Time
	admission   admission
	resolutions sync.Pool // *resolution
	created     prometheus.Counter
	naming      naming
	renamed     pendingRenames
}

// Options are what a Registrar needs.
type Options struct {
	DB *kv.Engine
	// Table is the table of series, tsdb-meta.
	Table    string
	Layout   schema.Layout
	UIDs     *uid.Dictionary
	Series   *index.Index
	Registry *catalog.Registry
	// Days is nil if other processes write to the tables.
	Days     *catalog.Days
	Catalog  *catalog.Catalog
	UIDUsage *catalog.UIDUsage
	// NewSeries limits the registration of series.
	NewSeries SeriesLimits
	// Observer, if any, is told of each new series before its tsdb-meta row is written.
	Observer storage.Observer
	// NoteNew notes that a tsdb-meta row was written for a series without one. It returns whether
	// no such row was known before.
	NoteNew func(index.ID) bool
	// CheckFit returns an error while it is not known that the layout is that of the tables.
	CheckFit   func(context.Context) error
	Now        func() time.Time
	Registerer prometheus.Registerer
}

// New returns a registrar of the series of an index.
func New(o Options) *Registrar {
	r := &Registrar{
		db: o.DB, meta: o.Table, layout: o.Layout, exclusive: o.DB.Exclusive, uids: o.UIDs, index: o.Series, registry: o.Registry, days: o.Days,
		catalog: o.Catalog, usage: o.UIDUsage, noteNew: o.NoteNew, observer: o.Observer, checkFit: o.CheckFit, now: o.Now, created: newCreated(o.Registerer),
	}
	r.brancher, _ = o.Observer.(storage.Brancher)
	r.admission.init(o.NewSeries, r.heldUnits, r.madeBranches, o.Now, o.Registerer)
	r.resolutions.New = func() any { return &resolution{} }
	r.naming.init()
	return r
}

func newCreated(reg prometheus.Registerer) prometheus.Counter {
	return promauto.With(reg).NewCounter(prometheus.CounterOpts{
		Name: "tsdbridge_store_series_created_total", Help: "Series first seen by this process and written to tsdb-meta.",
	})
}

// SetLimits replaces the limits of new series.
func (r *Registrar) SetLimits(o SeriesLimits) { r.admission.setLimits(o) }
