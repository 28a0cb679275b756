package row

import (
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// A Verdict is what a compaction makes of a row.
type Verdict int

// The verdicts.
const (
	Compacted Verdict = iota // there is a change
	Compact                  // the row is as small as it can be
	Busy                     // somebody wrote to the row, or deleted in it, a short time ago
	Foreign                  // a TSD appends to the row
	Damaged                  // the row has a cell that cannot be read; storage/fsck repairs it
)

// A Compaction is the change that puts the points of a row together, and what it saves.
type Compaction struct {
	kv.Conditional
	Removed      int // cells of points
	Bytes, After int // of the cells of points and of ages: keys, qualifiers and values
}

// Compact returns the change that puts the points of a row of a shared table into one cell, or as
// few as hold them. A compaction is not a write: the cell has the stamp of the latest
// acknowledgement of its points, so what is deleted up to a later time stays deleted, and a cell of
// ages keeps when each point was acknowledged, up to span (milliseconds) too late. Of an instant that stands in
// the row twice the value acknowledged later stays. Objects, annotations and histograms stay as
// they are. The row is left alone if a cell or deletion of it has a stamp after quiet: a TSD may be
// compacting the row, or a writer correcting it.
func (r *Reconciler) Compact(h *kv.History, quiet, span int64) (Compaction, Verdict) {
	if v := Judge(h.Cells, quiet); v != Compacted {
		return Compaction{}, v
	}
	for i := range h.Deletes {
		if h.Deletes[i].Time > quiet {
			return Compaction{}, Busy
		}
	}
	r.load(h)
	if len(r.Broken) > 0 {
		return Compaction{}, Damaged
	}
	if r.isCompact() {
		return Compaction{}, Compact
	}
	r.together(h.Key, quiet, span)
	return compaction(h, r.mutation.Mutation), Compacted
}

// together makes the mutation that puts the points of a row that is loaded together.
func (r *Reconciler) together(key []byte, quiet, span int64) {
	p := Pending{Clock: quiet}
	r.reset(key, &p)
	r.whole, r.compacts = true, true
	r.collect(&p)
	r.settle(&p)
	r.settleObjects(&p)
	r.wonAges = steady(r.wonAges, span)
	r.rewrite()
	r.putNew(r.stamp(&p))
	r.replaceAges()
	r.putAges()
	r.finish()
}

// Judge returns what Compact will make of a row at best, by its cells alone: Compacted, if they may
// be put together.
func Judge(cells []kv.Cell, quiet int64) Verdict {
	data := 0
	for i := range cells {
		switch kind := schema.ClassifyCell(cells[i].Qualifier); {
		case cells[i].Time > quiet:
			return Busy
		case kind == schema.CellAppend:
			return Foreign
		case kind == schema.CellData:
			data++
		}
	}
	if data < 2 {
		return Compact
	}
	return Compacted
}

// isCompact reports whether the points of the row, of which no instant stands twice, are in no more
// cells than they need.
func (r *Reconciler) isCompact() bool {
	cells := 0
	var points []schema.Point
	for i := range r.cells {
		if c := &r.cells[i]; c.kind == schema.CellData {
			cells++
			points = append(points, c.points...)
		}
	}
	return cells <= (len(points)+MaxCellPoints-1)/MaxCellPoints && !AnyMistaken(r.history.Cells) && !twice(points)
}

// replaceAges deletes the cells of ages whose points are put anew. One that belongs to a cell of
// objects stays.
func (r *Reconciler) replaceAges() {
	for i := range r.history.Cells {
		c := &r.history.Cells[i]
		if schema.ClassifyCell(c.Qualifier) == schema.CellAges && !r.objectsPutAt(c.Time) {
			r.mutation.Deletes = kv.DeletesOf(r.mutation.Deletes, r.history.Cells[i:i+1])
		}
	}
}

// objectsPutAt reports whether a cell of objects has a stamp.
func (r *Reconciler) objectsPutAt(stamp int64) bool {
	for i := range r.cells {
		if r.cells[i].kind == schema.CellObject && r.cells[i].Time == stamp {
			return true
		}
	}
	return false
}

// compaction counts what a change saves.
func compaction(h *kv.History, m kv.Mutation) Compaction {
	c := Compaction{Conditional: kv.Conditional{Mutation: m, Read: h.Cells}}
	for i := range h.Cells {
		switch cell := &h.Cells[i]; schema.ClassifyCell(cell.Qualifier) {
		case schema.CellData:
			c.Removed++
			c.Bytes += len(h.Key) + len(cell.Qualifier) + len(cell.Value)
		case schema.CellAges:
			c.Bytes += len(h.Key) + len(cell.Qualifier) + len(cell.Value)
		case schema.CellObject, schema.CellAppend, schema.CellAnnotation, schema.CellHistogram, schema.CellUnknown:
		}
	}
	for _, p := range m.Puts {
		if kind := schema.ClassifyCell(p.Qualifier); kind == schema.CellData || kind == schema.CellAges {
			c.After += len(h.Key) + len(p.Qualifier) + len(p.Value)
		}
	}
	return c
}
