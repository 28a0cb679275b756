package catalog

import (
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/uid"
)

// Options are what a Catalog needs.
type Options struct {
	DB       *kv.Engine
	Tables   storage.Tables
	Layout   schema.Layout
	UIDs     *uid.Dictionary
	Series   *index.Index
	Registry *Registry
	// Days is nil if other processes write to the tables.
	Days *Days
	// Births are the days of registration.
	Births *Births
	Index  storage.SeriesIndex
	// IndexRefresh is the interval between two looks for series of other processes.
	IndexRefresh time.Duration
	// Ready returns an error while the index lacks series or days.
	Ready func() error
	// Describes reports whether a metric has metadata. Such a metric may have no series.
	Describes func(metric string) bool
	// HeadHours calls see with the base times of the hours of a series that are in memory.
	HeadHours func(id index.ID, see func(base uint32))
	// OpenRows returns how many rows are in memory and not in the table.
	OpenRows   func() int
	Now        func() time.Time
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Catalog is the catalogue of series: which there are, by names, tags and days, and what they are
// called. It is safe for concurrent use.
type Catalog struct {
	activity

	unused  unusedKeys
	renames renames
}

// New returns a catalogue of the series of an index, which a Loader fills.
func New(o Options) *Catalog {
	c := &Catalog{
		activity: activity{
			discovery: discovery{
				namer:    namer{o: o, db: o.DB, layout: o.Layout, uids: o.UIDs, index: o.Series},
				registry: o.Registry,
			},
			days: o.Days, births: o.Births,
		},
	}
	c.metrics = newMetrics(o.Registerer, c)
	return c
}
