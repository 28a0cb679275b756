package head

import (
	"math"

	"github.com/tsdbridge/tsdbridge/storage"
)

// A Batch is a set of points of any series in any order, in columns: series IDs[i] has Values[i] at
// Times[i] (milliseconds, 0 to 2^32 seconds). IDs are dense numbers: the head has 4 bytes for each
// up to the greatest. Of two samples of one series and time the later in the batch wins.
type Batch struct {
	IDs    []uint32
	Times  []int64
	Values []float64
	// Forms, when not nil, is as long as Values. Their flags are not kept. The 64 bits of an
	// integer are those of Values[i] (math.Float64frombits of them).
	Forms   []storage.Form
	Objects []Object
}

// An Object is a datum that is not a number.
type Object struct {
	ID   uint32
	Time int64 // milliseconds
	Kind storage.Kind
	Data []byte
	// After is how many points of the batch come before it; ascending. It reports whether a point
	// or a histogram of one instant is the newer. Exemplars and start times count as written after
	// all samples of the batch.
	After int
}

// Append adds a batch whose record is in the log at mark. Batches may come in any order. The newest
// write wins: a sample replaces the one at its instant, and its start time too unless the batch has
// another; exemplars share an instant. A point later than all of its row costs some 20 ns and no
// allocation. The caller may use the batch again afterwards.
//
// Two concurrent appends that write one instant may win in either order, whatever their marks are.
func (h *Head) Append(b *Batch, mark uint64) {
	a := appender{head: h, batch: b, mark: mark, opened: uint32(h.o.Now().Unix())}
	from := 0
	for i := range b.Objects {
		if o := &b.Objects[i]; o.Kind.IsSample() {
			a.points(from, o.After)
			a.object(o)
			from = max(from, o.After)
		}
	}
	a.points(from, len(b.IDs))
	for i := range b.Objects {
		if o := &b.Objects[i]; !o.Kind.IsSample() {
			a.object(o)
		}
	}
	a.leave()
}

// appender is one append. It holds the lock of one shard at a time.
type appender struct {
	head   *Head
	batch  *Batch
	mark   uint64
	opened uint32

	shard *shard            // locked
	page  uint32            // the page of the last point, in numbers of series over pageSize
	first *[pageSize]uint32 // what the shard has of it
}

// points adds the points of the batch from one index to another.
func (a *appender) points(from, to int) {
	if from >= to {
		return
	}
	b := a.batch
	ids, times, values := b.IDs[from:to], b.Times[from:to], b.Values[from:to]
	for i, id := range ids {
		time := times[i]
		r := a.row(id, time)
		offset := uint32(time - r.begin())
		if b.Forms == nil {
			a.shard.addFloat(r, offset, values[i], false)
			continue
		}
		switch kind := b.Forms[from+i].Kind(); kind {
		case storage.FormInteger:
			a.shard.addInteger(r, offset, int64(math.Float64bits(values[i])))
		default:
			a.shard.addFloat(r, offset, values[i], kind == storage.FormDouble)
		}
	}
}

func (a *appender) object(o *Object) {
	r := a.row(o.ID, o.Time)
	a.shard.addObject(r, uint32(o.Time-r.begin()), o.Kind, o.Data)
}

// row returns the open row for a time of a series, in the shard that is locked then.
func (a *appender) row(id uint32, time int64) *openRow {
	if id/pageSize != a.page || a.shard == nil {
		a.turn(id)
	}
	s := a.shard
	var r *openRow
	if n := a.first[id%pageSize]; n != 0 {
		r = s.rows.at(n)
	}
	if r == nil || r.sealed || uint64(time-r.begin()) >= hour {
		r = s.find(id, time, a.opened)
	}
	if a.mark < r.mark {
		r.mark = a.mark
	}
	return r
}

// turn goes to the page of a series and locks its shard. Neighbouring pages are in different
// shards.
func (a *appender) turn(id uint32) {
	a.leave()
	a.shard = a.head.shard(id)
	a.shard.mu.Lock()
	a.page, a.first = id/pageSize, a.shard.page(id)
}

func (a *appender) leave() {
	if a.shard != nil {
		a.shard.mu.Unlock()
		a.shard = nil
	}
}
