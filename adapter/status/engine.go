package status

import (
	"maps"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/storage/hbase"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/pebble"
)

// enginePath tells how the engine is doing: the embedded store with its levels, or HBase with its region servers.
const enginePath = "/api/v1/status/engine"

// engineAnswer is the data of enginePath.
type engineAnswer struct {
	Engine   string        `json:"engine"`
	Embedded *embeddedInfo `json:"embedded,omitempty"`
	HBase    *hbaseInfo    `json:"hbase,omitempty"`
}

type embeddedInfo struct {
	Path          string          `json:"path"`
	DiskBytes     uint64          `json:"diskBytes"`
	FreeBytes     uint64          `json:"freeBytes"` // 0: it is not known
	WALBytes      uint64          `json:"walBytes"`
	MemTableBytes uint64          `json:"memtableBytes"`
	RefusesWrites bool            `json:"refusesWrites"`
	Levels        []levelInfo     `json:"levels"`
	Compactions   compactionsInfo `json:"compactions"`
	Flushes       int64           `json:"flushes"`
	WriteStalls   int64           `json:"writeStalls"`
	Cache         cacheInfo       `json:"cache"`
	Damaged       []string        `json:"damaged"`
}

type levelInfo struct {
	Level   int     `json:"level"`
	Files   int64   `json:"files"`
	Bytes   int64   `json:"bytes"`
	Score   float64 `json:"score"`
	Read    uint64  `json:"readBytes"`
	Written uint64  `json:"writtenBytes"`
}

type compactionsInfo struct {
	Done    int64  `json:"done"`
	Running int64  `json:"running"`
	Failed  int64  `json:"failed"`
	Debt    uint64 `json:"debtBytes"`
}

type cacheInfo struct {
	Bytes    int64 `json:"bytes"`
	MaxBytes int64 `json:"maxBytes"`
	Hits     int64 `json:"hits"`
	Misses   int64 `json:"misses"`
}

type hbaseInfo struct {
	ZooKeeper string       `json:"zookeeper"`
	Root      string       `json:"root"`
	Servers   []serverInfo `json:"servers"`
	Tables    []tableInfo  `json:"tables"`
}

type serverInfo struct {
	Server      string     `json:"server"`
	Regions     int        `json:"regions"` // to which requests were sent within the last hour
	Requests    int64      `json:"requests"`
	Errors      int64      `json:"errors"`
	P50         float64    `json:"p50Millis"` // of the last 512 requests
	P99         float64    `json:"p99Millis"`
	LastError   string     `json:"lastError,omitempty"`
	LastErrorAt *time.Time `json:"lastErrorAt,omitempty"`
}

type tableInfo struct {
	Table   string `json:"table"`
	Regions int    `json:"regions"`
}

// An Engine is what has the tables.
type Engine struct {
	Name            string // embedded, hbase or memory
	DB              kv.KV
	Path            string // of an embedded store
	CacheBytes      int64
	ZooKeeper, Root string // of HBase
}

func (e *Engine) serve(w http.ResponseWriter, _ *http.Request) {
	x := engineAnswer{Engine: e.Name}
	switch db := e.DB.(type) {
	case *pebble.Engine:
		x.Embedded = e.embedded(db)
	case *hbase.Engine:
		x.HBase = e.hbase(db)
	}
	httpapi.JSON(w, http.StatusOK, httpapi.Frame{Status: "success", Data: x})
}

func (e *Engine) embedded(db *pebble.Engine) *embeddedInfo {
	s, _ := db.Status()
	x := &embeddedInfo{
		Path: e.Path, DiskBytes: s.DiskBytes, FreeBytes: s.FreeBytes, WALBytes: s.WALBytes, MemTableBytes: s.MemTableBytes, RefusesWrites: s.RefusesWrites,
		Levels: []levelInfo{}, Compactions: compactionsInfo{s.Compactions, s.Compacting, s.FailedCompactions, s.DebtBytes}, Flushes: s.Flushes, WriteStalls: s.WriteStalls,
		Cache: cacheInfo{s.CacheBytes, e.CacheBytes, s.CacheHits, s.CacheMisses}, Damaged: append([]string{}, db.Damaged()...),
	}
	if x.FreeBytes == math.MaxUint64 {
		x.FreeBytes = 0
	}
	for i, l := range s.Levels {
		x.Levels = append(x.Levels, levelInfo{i, l.Files, l.Bytes, l.Score, l.Read, l.Compacted + l.Flushed})
	}
	return x
}

func (e *Engine) hbase(db *hbase.Engine) *hbaseInfo {
	x := &hbaseInfo{ZooKeeper: e.ZooKeeper, Root: e.Root, Servers: []serverInfo{}, Tables: []tableInfo{}}
	for _, s := range db.Servers() {
		info := serverInfo{
			Server: s.Server, Regions: s.Regions, Requests: s.Requests, Errors: s.Errors, P50: millis(s.P50), P99: millis(s.P99), LastError: s.LastError,
		}
		if at := s.LastErrorAt.UTC(); s.LastError != "" {
			info.LastErrorAt = &at
		}
		x.Servers = append(x.Servers, info)
	}
	tables := db.Regions()
	for _, table := range slices.Sorted(maps.Keys(tables)) {
		x.Tables = append(x.Tables, tableInfo{table, tables[table]})
	}
	return x
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
