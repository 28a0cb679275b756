package pebble

import (
	"github.com/cockroachdb/pebble/v2"
	"github.com/prometheus/client_golang/prometheus"
)

// metric is one figure of Pebble's own statistics.
type metric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*Engine, *pebble.Metrics) float64
}

func metrics() []metric {
	gauge := func(name, help string, value func(*pebble.Metrics) float64) metric {
		return metric{
			desc: prometheus.NewDesc("tsdbridge_embedded_"+name, help, nil, nil), kind: prometheus.GaugeValue,
			value: func(_ *Engine, m *pebble.Metrics) float64 { return value(m) },
		}
	}
	counter := func(name, help string, value func(*Engine, *pebble.Metrics) float64) metric {
		return metric{prometheus.NewDesc("tsdbridge_embedded_"+name, help, nil, nil), prometheus.CounterValue, value}
	}
	return []metric{
		gauge("disk_bytes", "Bytes that the embedded store takes on the disk.",
			func(m *pebble.Metrics) float64 { return float64(m.DiskSpaceUsage()) }),
		gauge("wal_bytes", "Bytes of the engine's own log (not of the log of points) that are not in its files yet.",
			func(m *pebble.Metrics) float64 { return float64(m.WAL.Size) }),
		gauge("memtable_bytes", "Memory of changes that wait to be put into files.",
			func(m *pebble.Metrics) float64 { return float64(m.MemTable.Size) }),
		gauge("level0_files", "Files of the first level: flushed and not compacted. Writes are held up at 1000.",
			func(m *pebble.Metrics) float64 { return float64(m.Levels[0].TablesCount) }),
		gauge("compaction_debt_bytes", "Estimated bytes to compact until the store is at rest.",
			func(m *pebble.Metrics) float64 { return float64(m.Compact.EstimatedDebt) }),
		gauge("cache_bytes", "Bytes in the block cache.",
			func(m *pebble.Metrics) float64 { return float64(m.BlockCache.Size) }),
		{
			desc: prometheus.NewDesc("tsdbridge_embedded_disk_free_bytes", "Bytes free on the disk of the embedded store.", nil, nil),
			kind: prometheus.GaugeValue, value: func(e *Engine, _ *pebble.Metrics) float64 { return float64(e.space.look()) },
		},
		{
			desc: prometheus.NewDesc("tsdbridge_embedded_damaged_files", "Files of the embedded store that were found damaged since the start.", nil, nil),
			kind: prometheus.GaugeValue, value: func(e *Engine, _ *pebble.Metrics) float64 { return float64(e.damages.count()) },
		},
		{
			desc: prometheus.NewDesc("tsdbridge_embedded_new_store", "1 if there was no store when this process started and it began one.", nil, nil),
			kind: prometheus.GaugeValue, value: func(e *Engine, _ *pebble.Metrics) float64 { return truth(e.fresh) },
		},
		{
			desc: prometheus.NewDesc("tsdbridge_embedded_disk_min_free_bytes", "Free space below which points are refused (--storage.min-free-bytes); 0: no limit.", nil, nil),
			kind: prometheus.GaugeValue, value: func(e *Engine, _ *pebble.Metrics) float64 { return float64(e.space.min) },
		},
		counter("cache_hits_total", "Blocks found in the block cache.",
			func(_ *Engine, m *pebble.Metrics) float64 { return float64(m.BlockCache.Hits) }),
		counter("cache_misses_total", "Blocks not found in the block cache.",
			func(_ *Engine, m *pebble.Metrics) float64 { return float64(m.BlockCache.Misses) }),
		counter("wal_written_bytes_total", "Bytes written to the engine's own log.",
			func(_ *Engine, m *pebble.Metrics) float64 { return float64(m.WAL.BytesWritten) }),
		counter("flushes_total", "Times that the engine put its memory into files.",
			func(_ *Engine, m *pebble.Metrics) float64 { return float64(m.Flush.Count) }),
		counter("compactions_total", "Compactions of files that ended.",
			func(_ *Engine, m *pebble.Metrics) float64 { return float64(m.Compact.Count) }),
		counter("writes_refused_total", "Writes refused because the disk has less free space than --storage.min-free-bytes, or takes no writes.",
			func(e *Engine, _ *pebble.Metrics) float64 { return float64(e.space.refused.Load()) }),
		counter("write_stalls_total", "Times that writes were held up because flushes or compactions had fallen behind.",
			func(e *Engine, _ *pebble.Metrics) float64 { return float64(e.stalls.Load()) }),
	}
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// Collector returns the figures of the store for a registry. After Close it collects nothing.
func (e *Engine) Collector() prometheus.Collector { return &collector{e, metrics()} }

type collector struct {
	engine  *Engine
	metrics []metric
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, m := range c.metrics {
		to <- m.desc
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	if c.engine.enter() != nil {
		return
	}
	defer c.engine.leave()
	now := c.engine.db().Metrics()
	for _, m := range c.metrics {
		to <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(c.engine, now))
	}
}

// DiskBytes returns what the store takes on disk, in bytes, without files that are about to be
// removed; 0 after Close.
func (e *Engine) DiskBytes() uint64 {
	if e.enter() != nil {
		return 0
	}
	defer e.leave()
	m := e.db().Metrics()
	return m.DiskSpaceUsage() - m.Table.Local.ObsoleteSize - m.WAL.ObsoletePhysicalSize
}

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
