package storage

import (
	"sync"
	"sync/atomic"

	"github.com/tsdbridge/tsdbridge/storage/index"
)

// state is what this process remembers of a series between appends: how far its current row is written. With it
// the common append, a point after all others of a row that was begun or read here, needs no reading.
type state struct {
	hasMeta   atomic.Bool // the tsdb-meta row exists
	triedMeta atomic.Bool // this process tried to write it: it may exist

	mu    sync.Mutex // held while a point of the series is being written; guards all below
	known bool       // the fields below are true of the row in the engine
	// newest says that the table has no row of the series that is later than base: this process made the series, and nobody else writes.
	newest bool
	base   uint32 // base time of the row, seconds
	// The greatest offsets in the row, milliseconds; -1: none. Samples are points and objects that are samples.
	lastSample, lastObject int32
	unverified             uint32 // base + 1 of the row that the verifier has in its list; 0: none
	alone                  bool   // the verifier found nothing of others the last time
}

const statesPerBlock = 4096

// states holds one state per series of the index, in blocks that never move.
type states struct {
	mu     sync.RWMutex // guards blocks
	blocks []*[statesPerBlock]state
}

func (s *states) get(id index.ID) *state {
	block := int(id) / statesPerBlock
	s.mu.RLock()
	if block < len(s.blocks) {
		b := s.blocks[block]
		s.mu.RUnlock()
		return &b[int(id)%statesPerBlock]
	}
	s.mu.RUnlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	for block >= len(s.blocks) {
		s.blocks = append(s.blocks, new([statesPerBlock]state))
	}
	return &s.blocks[block][int(id)%statesPerBlock]
}
