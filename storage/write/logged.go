package write

import (
	"sync"
	"sync/atomic"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/log"
)

// logMarks remembers in which segment of the log the last record of a series stands. While that
// segment is there a crash would replay the record, over whatever was put into the table after it:
// the series must be written through the log for so long.
type logMarks struct {
	mu   sync.RWMutex // guards last
	last []uint64     // number of the segment + 1, by id; 0: never logged

	oldest atomic.Uint64 // the first segment that a crash would replay
}

// note remembers that the record of a batch is in a segment of the log, or one before.
func (m *logMarks) note(b *storage.Batch, series int, segment uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.grow(series)
	for _, ref := range b.Refs {
		m.last[index.IDOf(ref)] = segment + 1
	}
	for i := range b.Objects {
		m.last[index.IDOf(b.Objects[i].Ref)] = segment + 1
	}
}

// noteIDs remembers that a record of series is in a segment of the log.
func (m *logMarks) noteIDs(ids []index.ID, series int, segment uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.grow(series)
	for _, id := range ids {
		m.last[id] = max(m.last[id], segment+1)
	}
}

// grow needs mu.
func (m *logMarks) grow(series int) {
	if series > len(m.last) {
		m.last = append(m.last, make([]uint64, series-len(m.last))...)
	}
}

// part splits a batch into what must go through the log and what need not. Both keep the order in
// which the points were added; a batch that goes one way as a whole is returned itself, with nil.
func (m *logMarks) part(b *storage.Batch) (bound, free *storage.Batch) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	oldest := m.oldest.Load()
	isBound := func(ref storage.Ref) bool {
		id := index.IDOf(ref)
		return int(id) < len(m.last) && m.last[id] > oldest
	}
	n := 0
	for _, ref := range b.Refs {
		if isBound(ref) {
			n++
		}
	}
	for i := range b.Objects {
		if isBound(b.Objects[i].Ref) {
			n++
		}
	}
	switch n {
	case 0:
		return nil, b
	case len(b.Refs) + len(b.Objects):
		return b, nil
	}
	return split(b, func(ref storage.Ref, _ int64) bool { return isBound(ref) })
}

// split makes two batches of one.
func split(b *storage.Batch, first func(ref storage.Ref, time int64) bool) (yes, no *storage.Batch) {
	yes, no = &storage.Batch{}, &storage.Batch{}
	side := func(ref storage.Ref, time int64) *storage.Batch {
		if first(ref, time) {
			return yes
		}
		return no
	}
	objects := b.Objects
	addObjects := func(before int) {
		for len(objects) > 0 && objects[0].After() <= before {
			o := objects[0]
			side(o.Ref, o.Time).AddObject(o.Ref, o.Time, o.Kind, o.Data)
			objects = objects[1:]
		}
	}
	if b.Forms != nil {
		yes.Forms, no.Forms = []storage.Form{}, []storage.Form{}
	}
	for i, ref := range b.Refs {
		addObjects(i)
		to := side(ref, b.Times[i])
		to.Add(ref, b.Times[i], b.Values[i])
		if b.Forms != nil {
			to.Forms[len(to.Forms)-1] = b.Forms[i]
		}
	}
	addObjects(len(b.Refs))
	return yes, no
}

// logEnd tells the engine where the log ends, so that a log which is lost together with its mark is
// missed: whenever more records are on the disk, before they are acknowledged. That outlives the
// process. The first record of a segment is noted durably.
type logEnd struct {
	keeper  kv.LogKeeper // nil: the engine remembers nothing
	segment uint64       // that the engine knows of; used by the one that writes the log
}

func (e *logEnd) open(keeper kv.LogKeeper, was kv.LogEnd) { e.keeper, e.segment = keeper, was.Segment }

// note tells the engine where the log ends. One caller at a time.
func (e *logEnd) note(end log.Position) error {
	if e.keeper == nil {
		return nil
	}
	if err := e.keeper.NoteLog(kv.LogEnd(end), end.Segment > e.segment); err != nil {
		return err
	}
	e.segment = end.Segment
	return nil
}

// forget tells the engine that there is no log any more.
func (e *logEnd) forget() error {
	if e.keeper == nil {
		return nil
	}
	return e.keeper.NoteLog(kv.LogEnd{}, true)
}
