package catalog

import (
	"context"
	"fmt"
	"maps"
	"sync"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// foreignMetrics caches the metrics that tsdb-uid names: on shared tables some of them may have
// rows that tsdb-meta lacks.
type foreignMetrics struct {
	mu      sync.Mutex // guards all below; held while the table is read
	byUID   map[string]string
	checked int64 // milliseconds
}

// allMetrics returns the metrics that may have series which pass (nil: all do): UID -> name, "" if it
// has none.
func (cat *discovery) allMetrics(ctx context.Context, passes func(index.ID) bool) (map[string]string, error) {
	uids := cat.index.Metrics(passes)
	list, err := cat.uids.Names(ctx, storage.MetricName, uids)
	if err != nil {
		return nil, err
	}
	all := make(map[string]string, len(uids))
	for i, uid := range uids {
		all[uid] = list[i]
	}
	if cat.db.Exclusive || cat.o.Index == storage.IndexMeta {
		return all, nil
	}
	foreign, err := cat.foreignMetrics(ctx)
	if err != nil {
		return nil, err
	}
	for uid, name := range foreign {
		// A metric family of Prometheus (a histogram's base name) has a UID for its metadata and no
		// series.
		if _, ok := all[uid]; !ok && !cat.o.Describes(name) {
			all[uid] = name
		}
	}
	return all, nil
}

// forget has the metrics listed again.
func (c *foreignMetrics) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byUID = nil
}

func (cat *discovery) foreignMetrics(ctx context.Context) (map[string]string, error) {
	c := &cat.foreign
	c.mu.Lock()
	defer c.mu.Unlock()
	now := cat.o.Now().UnixMilli()
	if c.byUID != nil && now-c.checked < cat.o.IndexRefresh.Milliseconds() {
		return maps.Clone(c.byUID), nil
	}
	byUID := map[string]string{}
	scan := kv.Scan{Table: cat.o.Tables.UID, Family: schema.FamilyID, Start: []byte{1}, Qualifier: schema.UIDQualifier(storage.MetricName)}
	for row, err := range cat.db.Scan(ctx, scan) {
		if err != nil {
			return nil, fmt.Errorf("list the metrics: %w", err)
		}
		if len(row.Cells) == 1 && len(row.Cells[0].Value) == cat.layout.MetricWidth {
			byUID[string(row.Cells[0].Value)] = schema.DecodeName(row.Key)
		}
	}
	c.byUID, c.checked = byUID, now
	return maps.Clone(byUID), nil
}
