package documents

import (
	"context"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/uid"
)

// A Registrar gives metrics and series what new ones need.
type Registrar interface {
	// AssignMetrics returns the UIDs of metrics; new ones count as new series. errs is nil when all
	// went well, else one per metric.
	AssignMetrics(ctx context.Context, metrics []string) (uids []string, errs []error, err error)
	// Register gives series, which have their UIDs, their rows of tsdb-meta, as their first points
	// would. Those of which a UID has no name are left out.
	Register(ctx context.Context, ids []index.ID) error
	// Create is Register for series without a point: their rows count none.
	Create(ctx context.Context, ids []index.ID) error
}

// Options are what Documents need.
type Options struct {
	DB        *kv.Engine
	Tables    storage.Tables
	Layout    schema.Layout
	UIDs      *uid.Dictionary
	Series    *index.Index
	Registrar Registrar
	// IndexRefresh is how often what other processes write is looked for.
	IndexRefresh time.Duration
	Now          func() time.Time
	// Unreadable, if set, is told why a document that a request meets cannot be read.
	Unreadable func(err error)
}

// Documents are those of UIDs and series that OpenTSDB keeps in addition to their names: UIDMeta and
// TSMeta. The UIDMeta of a metric also holds its metadata, the custom keys of the TSMeta of a series
// what tsdbridge notes of it. They are safe for concurrent use.
type Documents struct {
	cells

	uids   *uid.Dictionary
	index  *index.Index
	layout schema.Layout
	metadata
}

// New returns the documents of some tables.
func New(o Options) *Documents {
	d := &Documents{cells: cells{o: o, db: o.DB}, uids: o.UIDs, index: o.Series, layout: o.Layout}
	d.metadata.cells, d.metadata.uids, d.metadata.layout = &d.cells, o.UIDs, o.Layout
	return d
}

// Forget has all metadata read again: UIDs have other names.
func (t *metadata) Forget() { t.meta.forget() }

// Describes reports whether metadata of a metric are known.
func (t *metadata) Describes(metric string) bool {
	_, ok := t.meta.get(metric)
	return ok
}

// cells are where documents are kept.
type cells struct {
	o  Options
	db *kv.Engine
}
