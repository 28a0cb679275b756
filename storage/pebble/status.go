package pebble

// A Status tells how the store is doing.
type Status struct {
	DiskBytes, FreeBytes, WALBytes, MemTableBytes uint64
	RefusesWrites                                 bool
	Levels                                        []Level
	Flushes                                       int64
	Compactions, Compacting, FailedCompactions    int64
	DebtBytes                                     uint64 // to compact until the store is at rest
	WriteStalls                                   int64
	CacheBytes, CacheHits, CacheMisses            int64
}

// A Level is one of the levels of the store; new files are in the first.
type Level struct {
	Files     int64
	Bytes     int64
	Score     float64 // from 1 on it is to be compacted
	Read      uint64  // bytes, by compactions into it
	Compacted uint64  // bytes written by these
	Flushed   uint64  // bytes written by flushes
}

// Status returns how the store is doing; false after Close.
func (e *Engine) Status() (s Status, ok bool) {
	if e.enter() != nil {
		return s, false
	}
	defer e.leave()
	m := e.db().Metrics()
	s = Status{
		DiskBytes: m.DiskSpaceUsage(), FreeBytes: e.space.look(), WALBytes: m.WAL.Size, MemTableBytes: m.MemTable.Size, RefusesWrites: e.space.refuses(),
		Flushes: m.Flush.Count, Compactions: m.Compact.Count, Compacting: m.Compact.NumInProgress, FailedCompactions: m.Compact.FailedCount, DebtBytes: m.Compact.EstimatedDebt,
		WriteStalls: e.stalls.Load(), CacheBytes: m.BlockCache.Size, CacheHits: m.BlockCache.Hits, CacheMisses: m.BlockCache.Misses,
	}
	for i := range m.Levels {
		l := &m.Levels[i]
		s.Levels = append(s.Levels, Level{l.TablesCount, l.TablesSize, l.Score, l.TableBytesRead, l.TableBytesCompacted, l.TableBytesFlushed})
	}
	return s, true
}
