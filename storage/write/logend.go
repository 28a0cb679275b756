package write

import (
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/log"
)

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
