package pebble

import (
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// LogEnd implements kv.Local.
func (e *records) LogEnd() kv.LogEnd {
	e.mu.Lock()
	defer e.mu.Unlock()
	if own := e.holding.own; own != nil {
		return own.logEnd()
	}
	return e.logEnd
}

// NoteLog implements kv.Local. The end is in the store's mark. So a copy of the store without
// its log does not expect one, and the end can be written on a full disk. A store that is only read
// notes nothing.
func (e *records) NoteLog(end kv.LogEnd, durable bool) error {
	e.mu.Lock()
	own := e.holding.own
	e.mu.Unlock()
	if own != nil {
		return own.noteLog(end, durable)
	}
	if !e.durability.Sync { // in memory
		e.mu.Lock()
		defer e.mu.Unlock()
		e.logEnd = end
	}
	return nil
}
