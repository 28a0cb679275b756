package row

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

// RecentSpan is how far the clocks of the writers of one cluster may be apart at most, in
// milliseconds: every process treats what was written longer ago as older than a write of now.
const RecentSpan = 60_000

// stamp returns the time that the pending samples are put with: that of the last acknowledgement.
// Samples that are acknowledged only now get the time of the region server (0), as a TSD's do,
// unless the row has something that this would not be newer than.
func (r *settling) stamp(p *Pending) int64 {
	if !p.Now {
		stamp := int64(0)
		for _, a := range r.wonAges {
			stamp = max(stamp, a.Time)
		}
		if stamp == 0 {
			stamp = p.Clock // exemplars and start times alone
		}
		return max(stamp, r.deleted+1)
	}
	newest := max(r.deleted, r.beaten)
	if newest < p.Clock-RecentSpan {
		return 0
	}
	return max(p.Clock, newest+1)
}

// rewriting is a row that was read, and what is written of it.
type rewriting struct {
	agedRow
	clock    int64
	compacts bool // nothing new is put
	noted    []notedAges
	mutation Reconciled
}

// free returns the least time, from stamp on, with which puts of these qualifiers will be read.
func (r *rewriting) free(puts []kv.Put, stamp int64) int64 {
	if stamp == 0 {
		if long := max(r.clock-RecentSpan, 1); r.free(puts, long) == long {
			return 0
		}
		stamp = r.clock
	}
	for again := true; again; {
		again = false
		raise := func(to int64) {
			if to > stamp {
				stamp, again = to, true
			}
		}
		for _, p := range puts {
			for _, d := range r.past.tombstones.of(p.Qualifier) {
				if !d.Exact || d.Time == stamp {
					raise(d.Time + 1)
				}
			}
			if at, ok := r.cellAt(p.Qualifier); ok {
				raise(r.cells[at].Time + 1)
			}
		}
		for _, n := range r.noted {
			if n.stamp == stamp {
				raise(stamp + 1)
			}
		}
	}
	return stamp
}

// freeWithAges is free for puts that may need a cell of ages: one that stands in the row must not
// be put over, and one that was deleted stays hidden.
func (r *rewriting) freeWithAges(puts []kv.Put, stamp int64) int64 {
	for {
		if stamp = r.free(puts, stamp); stamp == 0 || !r.hadAges(stamp) {
			return stamp
		}
		stamp++
	}
}

// freeToWrite is freeWithAges for puts that hold what the row did not have, or what an erasure leaves.
// Their stamp is one that no cell of the row has or had: whoever has read the row before notices the
// change by it, and does not put anew what is gone. Of writes that is a compaction. It reads no
// stamps of now, so a stamp of now is not raised for a write: that would be the future, in which a
// TSD puts with it.
func (r *rewriting) freeToWrite(puts []kv.Put, stamp int64) int64 {
	for {
		if stamp = r.freeWithAges(puts, stamp); stamp == 0 || !r.erasing && (stamp >= r.clock || r.compacts) {
			return stamp
		}
		unused := r.unused(stamp)
		if unused == stamp {
			return stamp
		}
		stamp = unused
	}
}

// unused returns the least time, from stamp on, that no cell of the row has or had.
func (r *rewriting) unused(stamp int64) int64 {
	var used []int64
	for _, cells := range [][]kv.Cell{r.history.Cells, r.history.Hidden} {
		for i := range cells {
			if t := cells[i].Time; t >= stamp {
				used = append(used, t)
			}
		}
	}
	slices.Sort(used)
	for _, t := range used {
		if t == stamp {
			stamp++
		}
	}
	return stamp
}

// hadAges reports whether the cell of ages of a stamp stands in the row or was deleted from it, as
// a compaction does: one that was put again would be hidden.
func (r *rewriting) hadAges(stamp int64) bool {
	q, _ := own.AppendAgesCell(nil, nil, stamp, nil)
	_, ok := slices.BinarySearchFunc(r.history.Cells, q, func(c kv.Cell, q []byte) int { return bytes.Compare(c.Qualifier, q) })
	return ok || len(r.past.tombstones.of(q)) > 0
}

// cellAt finds the cell with a qualifier.
func (r *rewriting) cellAt(qualifier []byte) (int, bool) {
	return slices.BinarySearchFunc(r.cells, qualifier, func(c agedCell, q []byte) int { return bytes.Compare(c.Qualifier, q) })
}

// rewrite replaces each cell of points that loses some by one without them. What stays keeps its
// time; after an erasure its cell of ages tells it.
func (r *Reconciler) rewrite() {
	for i := range r.cells {
		c := &r.cells[i]
		if len(r.lost[i]) == 0 {
			continue
		}
		left := r.left(i)
		slices.SortStableFunc(left, func(a, b schema.Point) int { return int(a.Offset) - int(b.Offset) })
		r.delete(c)
		r.dropAges(c)
		if len(left) == 0 {
			continue
		}
		puts := slices.DeleteFunc(appendPointCells(nil, left), func(p kv.Put) bool { return r.later(p.Qualifier, c.Time) })
		if len(puts) == 0 {
			continue
		}
		stamp, ages := r.free(puts, c.Time), agesOf(r, c, left)
		if r.erasing {
			stamp = r.freeToWrite(puts, c.Time+1)
		}
		if stamp == c.Time && (c.ages != nil && c.kind != schema.CellAppend || allAt(ages, stamp)) {
			r.put(puts, stamp)
			continue
		}
		// What is left of a cell that a compaction made does not look like one any more.
		stamp = r.freeWithAges(puts, stamp)
		r.put(puts, stamp)
		r.noteAges(ages, stamp)
	}
}

// allAt reports whether all ages are of one time.
func allAt(ages []own.Age, time int64) bool {
	return !slices.ContainsFunc(ages, func(a own.Age) bool { return a.Time != time })
}

// later reports whether a cell with a qualifier stays in the row as it is, with the same values
// then, and is at least as late as a time.
func (r *Reconciler) later(qualifier []byte, time int64) bool {
	at, ok := r.cellAt(qualifier)
	return ok && r.cells[at].Time >= time && len(r.lost[at]) == 0
}

// agesOf lists when points of a cell were acknowledged.
func agesOf(r *Reconciler, c *agedCell, points []schema.Point) []own.Age {
	ages := make([]own.Age, len(points))
	for i, p := range points {
		ages[i] = own.Age{Offset: p.Offset, Time: r.ageOf(c, p)}
	}
	return ages
}

// delete deletes a cell, with what it replaced before. What is put with its qualifier takes its
// place anyway.
func (r *rewriting) delete(c *agedCell) {
	r.mutation.Deletes = kv.DeletesOf(r.mutation.Deletes, []kv.Cell{c.Cell})
}

// put adds cells to the mutation.
func (r *rewriting) put(puts []kv.Put, stamp int64) {
	for _, p := range puts {
		p.Time = stamp
		r.mutation.Puts = append(r.mutation.Puts, p)
	}
}

// finish leaves one change of each qualifier: what is put is not deleted as well, and of two puts,
// which hold the same, the later one stays.
func (r *rewriting) finish() {
	m := &r.mutation
	slices.SortStableFunc(m.Puts, func(a, b kv.Put) int {
		return cmp.Or(bytes.Compare(a.Qualifier, b.Qualifier), compareStamps(b.Time, a.Time))
	})
	m.Puts = slices.CompactFunc(m.Puts, func(a, b kv.Put) bool { return bytes.Equal(a.Qualifier, b.Qualifier) })
	m.Deletes = slices.DeleteFunc(m.Deletes, func(d kv.Delete) bool {
		_, put := slices.BinarySearchFunc(m.Puts, d.Qualifier, func(p kv.Put, q []byte) int { return bytes.Compare(p.Qualifier, q) })
		return put
	})
}

// compareStamps compares times of puts; 0 is the server's clock, which is later than all others.
func compareStamps(a, b int64) int {
	return cmp.Or(compareBool(a == 0, b == 0), cmp.Compare(a, b))
}

// replaceObjects puts all objects of the row anew, in place of their cells.
func (r *Reconciler) replaceObjects(stamp int64) {
	all, oldest := slices.Clone(r.fresh), stamp
	for _, o := range r.objects {
		all = append(all, o.Object)
	}
	for i := range r.cells {
		if c := &r.cells[i]; c.kind == schema.CellObject {
			r.delete(c)
			if stamp != 0 {
				oldest = max(oldest, c.Time)
			}
		}
	}
	if len(all) == 0 {
		return
	}
	slices.SortFunc(all, CompareObjects)
	puts := appendObjectCells(nil, all)
	oldest = r.freeToWrite(puts, oldest)
	r.put(puts, oldest)
	r.noteAges(r.objectAges(stamp), oldest)
}

// objectAges lists when the samples among the row's objects were acknowledged, those of the pending
// row included.
func (r *Reconciler) objectAges(stamp int64) []own.Age {
	var ages []own.Age
	for _, o := range r.objects {
		if o.Kind.IsSample() {
			ages = append(ages, own.Age{Offset: o.Offset, Time: o.age})
		}
	}
	for _, o := range r.fresh {
		if at, ok := AgeAt(r.wonAges, o.Offset); ok && o.Kind.IsSample() {
			ages = append(ages, own.Age{Offset: o.Offset, Time: at})
		} else if o.Kind.IsSample() && stamp != 0 {
			ages = append(ages, own.Age{Offset: o.Offset, Time: stamp})
		}
	}
	slices.SortFunc(ages, func(a, b own.Age) int { return int(a.Offset) - int(b.Offset) })
	return ages
}

func (r *Reconciler) taken(puts []kv.Put) bool {
	return slices.ContainsFunc(puts, func(p kv.Put) bool {
		_, ok := r.cellAt(p.Qualifier)
		return ok
	})
}

// pointCells returns the cells of the points that won. While a compaction is going to delete cells
// of the row by their qualifiers, theirs are others: the points are cut in two elsewhere, and a
// point alone counts milliseconds.
func (r *Reconciler) pointCells() []kv.Put {
	puts := appendPointCells(nil, r.won)
	if r.compaction == nil || !r.doomed(puts) {
		return puts
	}
	if len(r.won) == 1 {
		alone := r.won[0]
		alone.Millis = true
		return appendPointCells(nil, []schema.Point{alone})
	}
	for at := 1; at < min(len(r.won), maxCuts); at++ {
		if cut := appendPointCells(appendPointCells(nil, r.won[:at]), r.won[at:]); !r.doomed(cut) {
			return cut
		}
	}
	return puts
}

// maxCuts bounds how many ways to cut a row are tried.
const maxCuts = 64

// doomed reports whether a compaction is going to delete one of the cells: it has the qualifier of
// a cell of points that the compaction does not leave.
func (r *Reconciler) doomed(puts []kv.Put) bool {
	return slices.ContainsFunc(puts, func(p kv.Put) bool {
		at, ok := r.cellAt(p.Qualifier)
		return ok && &r.cells[at] != r.compaction && r.cells[at].kind == schema.CellData
	})
}

// putNew adds the cells of the points that won and of the new objects.
func (r *Reconciler) putNew(stamp int64) {
	puts := r.pointCells()
	objects := appendObjectCells(nil, r.fresh)
	if r.dropped || r.taken(objects) {
		r.replaceObjects(stamp)
	} else {
		puts = append(puts, objects...)
	}
	if len(puts) == 0 {
		return
	}
	stamp = r.freeToWrite(puts, stamp)
	r.put(puts, stamp)
	r.noteAges(r.wonAges, stamp)
}

// noteAges remembers when what is put with a stamp was acknowledged.
func (r *rewriting) noteAges(ages []own.Age, stamp int64) {
	if stamp == 0 || len(ages) == 0 {
		return
	}
	for i := range r.noted {
		if n := &r.noted[i]; n.stamp == stamp {
			n.ages = append(slices.Clone(n.ages), ages...)
			slices.SortStableFunc(n.ages, func(a, b own.Age) int { return int(a.Offset) - int(b.Offset) })
			n.ages = slices.CompactFunc(n.ages, func(a, b own.Age) bool { return a.Offset == b.Offset })
			return
		}
	}
	r.noted = append(r.noted, notedAges{stamp: stamp, ages: ages})
}

// putAges adds the cells of ages of what was put, where its stamp does not tell enough.
func (r *rewriting) putAges() {
	for _, n := range r.noted {
		oldest, newest := int64(math.MaxInt64), int64(0)
		for _, a := range n.ages {
			oldest, newest = min(oldest, a.Time), max(newest, a.Time)
		}
		simple := len(r.past.loose) == 0 && len(r.past.hidden) == 0 && newest == n.stamp
		if !n.arrivals && simple && (oldest == n.stamp || len(n.ages) > uniformPoints && n.stamp-oldest <= UniformSpan) {
			continue
		}
		encode := own.AppendAgesCell
		if n.arrivals {
			encode = own.AppendArrivalAges
		}
		q, v := encode(nil, nil, n.stamp, n.ages)
		r.put([]kv.Put{{Qualifier: q, Value: v}}, n.stamp)
	}
}
