package catalog

import (
	"sync"
	"sync/atomic"

	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Registry knows which series have their row of tsdb-meta, which marks them as complete. It is safe
// for concurrent use.
type Registry struct {
	exclusive bool // no other process writes
	layout    schema.Layout
	index     *index.Index

	loaded atomic.Bool
	// series that were forgotten and not noted again
	forgotten atomic.Int64
	entries   index.Pages[Registration]
	metrics   sync.Map // metric UID -> true: tsdb-meta has rows of it; kept where others write
}

// NewRegistry returns a registry without series.
func NewRegistry(x *index.Index, layout schema.Layout, exclusive bool) *Registry {
	return &Registry{exclusive: exclusive, layout: layout, index: x}
}

// A Registration is what this process knows of the tsdb-meta row of a series.
type Registration struct{ known atomic.Uint32 }

const (
	rowExists    uint32 = 1 << iota
	rowTried            // it may exist
	rowForgotten        // the series was deleted
)

// Exists reports whether the row is known to exist.
func (r *Registration) Exists() bool { return r.known.Load()&rowExists != 0 }

// Try notes that this process is about to write the row: it may exist from now on.
func (r *Registration) Try() { r.known.Or(rowTried) }

// Tried reports whether this process may have written the row.
func (r *Registration) Tried() bool { return r.known.Load()&rowTried != 0 }

// Loaded reports whether all of tsdb-meta was read.
func (r *Registry) Loaded() bool { return r.loaded.Load() }

// SetLoaded notes that all of tsdb-meta was read; true the first time.
func (r *Registry) SetLoaded() bool { return !r.loaded.Swap(true) }

// Of returns the registration of a series.
func (r *Registry) Of(id index.ID) *Registration { return r.entries.Of(id) }

// Note remembers that a series has its tsdb-meta row; true when that was not known.
func (r *Registry) Note(id index.ID) bool {
	if r.Of(id).known.Or(rowExists)&rowExists != 0 {
		return false
	}
	r.Found(id)
	if !r.exclusive { // else nothing is searched for by row keys
		r.metrics.Store(r.index.TSUID(id)[:r.layout.MetricWidth], true)
	}
	return true
}

// Forget notes that a series was deleted, and that its tsdb-meta row is gone. It is not found any
// more until it is noted again.
func (r *Registry) Forget(ids []index.ID) {
	r.index.Remove(ids) // Note may restore them as soon as they do not exist
	for _, id := range ids {
		if r.Of(id).known.Or(rowForgotten)&rowForgotten == 0 {
			r.forgotten.Add(1)
		}
		r.Of(id).known.And(^rowExists)
	}
}

// Found notes that a series, known or not, has rows of points: a deleted one is found again.
func (r *Registry) Found(id index.ID) {
	if r.forgotten.Load() > 0 && r.Of(id).known.And(^rowForgotten)&rowForgotten != 0 {
		r.index.Restore(id)
		r.forgotten.Add(-1)
	}
}

// Forgotten returns how many series were forgotten and not noted again.
func (r *Registry) Forgotten() int64 { return r.forgotten.Load() }

// hasMetric reports whether tsdb-meta is known to have rows of a metric.
func (r *Registry) hasMetric(metric string) bool {
	_, ok := r.metrics.Load(metric)
	return ok
}
