// Package index holds the series of tsdb-meta in memory: UIDs to series. It answers which series satisfy conditions
// on UIDs; it never sees a name, a time or a point.
package index

import (
	"slices"
	"sync"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// ID numbers the series of one index in the order of their addition, from 0.
type ID uint32

// Index is the set of known series. Series are only ever added. Safe for concurrent use.
type Index struct {
	layout schema.Layout

	mu      sync.RWMutex // guards all below
	tsuids  []string
	ids     map[string]ID
	metrics map[string][]ID            // metric UID -> series, ascending
	tags    map[string]map[string][]ID // tagk UID -> tagv UID -> series, ascending
}

// New returns an empty index for a layout's TSUIDs.
func New(layout schema.Layout) *Index {
	return &Index{layout: layout, ids: map[string]ID{}, metrics: map[string][]ID{}, tags: map[string]map[string][]ID{}}
}

// Lookup returns the series of a TSUID.
func (x *Index) Lookup(tsuid []byte) (ID, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	id, ok := x.ids[string(tsuid)]
	return id, ok
}

// Add makes a series known and says whether it is new. A TSUID that is not of the layout's widths is an error.
func (x *Index) Add(tsuid []byte) (id ID, added bool, err error) {
	if id, ok := x.Lookup(tsuid); ok {
		return id, false, nil
	}
	metric, tags, err := x.layout.ParseTSUID(tsuid)
	if err != nil {
		return 0, false, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if id, ok := x.ids[string(tsuid)]; ok {
		return id, false, nil
	}
	id = ID(len(x.tsuids))
	key := string(tsuid)
	x.tsuids = append(x.tsuids, key)
	x.ids[key] = id
	x.metrics[string(metric)] = append(x.metrics[string(metric)], id)
	for tagk, tagv := range x.layout.Pairs(tags) {
		values := x.tags[string(tagk)]
		if values == nil {
			values = map[string][]ID{}
			x.tags[string(tagk)] = values
		}
		values[string(tagv)] = append(values[string(tagv)], id)
	}
	return id, true, nil
}

// Len returns the number of series.
func (x *Index) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.tsuids)
}

// TSUID returns the TSUID of a series.
func (x *Index) TSUID(id ID) string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.tsuids[id]
}

// TSUIDs appends the TSUIDs of series to dst, in order.
func (x *Index) TSUIDs(dst []string, ids []ID) []string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, id := range ids {
		dst = append(dst, x.tsuids[id])
	}
	return dst
}

// MetricSeries returns how many series a metric has.
func (x *Index) MetricSeries(metric string) int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.metrics[metric])
}

// Metrics returns the UIDs of all metrics that have series, ascending.
func (x *Index) Metrics() []string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return sortedKeys(x.metrics)
}

// TagKeys returns the UIDs of all tag keys in use, ascending.
func (x *Index) TagKeys() []string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return sortedKeys(x.tags)
}

// TagValues returns the UIDs of all values of a tag key, ascending.
func (x *Index) TagValues(tagk string) []string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return sortedKeys(x.tags[tagk])
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
