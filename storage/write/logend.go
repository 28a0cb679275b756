package write

import (
	"sync"
	"sync/atomic"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/log"
)

// logEnd tells the engine where the log ends, so that a log which is lost together with its mark is
// missed: durably when the first record stands in a segment, before that is acknowledged, and now
// and then.
type logEnd struct {
	keeper kv.LogKeeper // nil: the engine remembers nothing
	log    func() (end log.Position, holds bool)

	segment atomic.Uint64 // that the engine knows of
	mu      sync.Mutex    // guards was
	was     kv.LogEnd     // what the engine was told last
}

// reached notes a segment, if it is new.
func (e *logEnd) reached(segment uint64) error {
	if e.keeper == nil || segment <= e.segment.Load() {
		return nil
	}
	return e.note(true)
}

// note tells the engine where the log ends, if that has changed.
func (e *logEnd) note(durable bool) error {
	if e.keeper == nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	var now kv.LogEnd
	if end, holds := e.log(); holds {
		now = kv.LogEnd(end)
	}
	if now == e.was {
		return nil
	}
	if err := e.keeper.NoteLog(now, durable); err != nil {
		return err
	}
	e.was = now
	e.segment.Store(now.Segment)
	return nil
}

// forget tells the engine that there is no log any more.
func (e *logEnd) forget() error {
	if e.keeper == nil {
		return nil
	}
	return e.keeper.NoteLog(kv.LogEnd{}, true)
}
