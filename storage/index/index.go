// Package index holds the series of tsdb-meta in memory: UIDs to series. It answers which series
// satisfy conditions on UIDs; it never sees a name, a time or a point.
package index

import (
	"hash/maphash"
	"sync"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/intern"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// ID numbers the series of one index in the order of their addition, from 0.
type ID uint32

// Index is the set of known series. A series that was removed keeps its ID. Safe for concurrent use.
//
// A series costs its TSUID and some 24 bytes, and 4 to 5 bytes for each of its tags and its metric,
// nearly all of it in memory that the garbage collector need not walk.
type Index struct {
	mu      sync.RWMutex // guards all below
	tsuids  *intern.Set
	removed map[ID]struct{}
	// how often series were removed or restored
	removals uint64
	inverted

	beyond int // see TagsBeyond
}

// New returns an empty index for a layout's TSUIDs.
func New(layout schema.Layout) *Index {
	return &Index{
		inverted: inverted{layout: layout, tags: map[uidNumber]*postings{}}, tsuids: intern.New(maphash.MakeSeed()), removed: map[ID]struct{}{},
	}
}

// Lookup returns the series of a TSUID, if it is known.
func (x *Index) Lookup(tsuid []byte) (ID, bool) {
	hash := x.tsuids.Hash(tsuid)
	x.mu.RLock()
	defer x.mu.RUnlock()
	n, ok := x.tsuids.Find(tsuid, hash)
	if _, removed := x.removed[ID(n)]; ok && removed {
		return 0, false
	}
	return ID(n), ok
}

// Number returns the number of a TSUID, of a series that was removed too.
func (x *Index) Number(tsuid []byte) (ID, bool) {
	hash := x.tsuids.Hash(tsuid)
	x.mu.RLock()
	defer x.mu.RUnlock()
	n, ok := x.tsuids.Find(tsuid, hash)
	return ID(n), ok
}

// Add makes a series known and reports whether it is new. One that was removed stays removed until
// Restore. A TSUID that is not of the layout's widths is an error.
func (x *Index) Add(tsuid []byte) (id ID, added bool, err error) {
	if id, ok := x.Lookup(tsuid); ok {
		return id, false, nil
	}
	if _, _, err := x.layout.ParseTSUID(tsuid); err != nil {
		return 0, false, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	id, added = x.add(tsuid, x.tsuids.Hash(tsuid))
	return id, added, nil
}

// AddAll makes series known. Their TSUIDs, which must be of the layout's widths, lie one after the
// other: ends[i] is the end of the i-th.
func (x *Index) AddAll(dst []ID, tsuids []byte, ends []int) []ID {
	hashes := make([]uint64, len(ends))
	begin := 0
	for i, end := range ends {
		hashes[i] = x.tsuids.Hash(tsuids[begin:end])
		begin = end
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	begin = 0
	for i, end := range ends {
		id, _ := x.add(tsuids[begin:end], hashes[i])
		dst = append(dst, id)
		begin = end
	}
	return dst
}

// add needs mu.
func (x *Index) add(tsuid []byte, hash uint64) (id ID, added bool) {
	if n, ok := x.tsuids.Find(tsuid, hash); ok {
		return ID(n), false
	}
	id = ID(x.tsuids.Add(tsuid, hash))
	x.eachPosting(tsuid, func(p *postings, uid uidNumber) { p.add(uid, id) })
	x.beyond += max(0, (len(tsuid)-x.layout.MetricWidth)/x.layout.PairWidth()-UsualTags)
	return id, true
}

// UsualTags is how many tags most series have at most.
const UsualTags = 10

// TagsBeyond returns how many tags all series together have in addition to UsualTags each.
func (x *Index) TagsBeyond() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.beyond
}

// eachPosting shows the postings that have a series, with the UID in each. It needs mu.
func (v *inverted) eachPosting(tsuid []byte, see func(p *postings, uid uidNumber)) {
	see(&v.metrics, numberOf(tsuid[:v.layout.MetricWidth]))
	pair, key := v.layout.PairWidth(), v.layout.TagkWidth
	for tags := tsuid[v.layout.MetricWidth:]; len(tags) >= pair; tags = tags[pair:] {
		tagk := numberOf(tags[:key])
		values := v.tags[tagk]
		if values == nil {
			values = &postings{}
			v.tags[tagk] = values
		}
		see(values, numberOf(tags[key:pair]))
	}
}

// Len returns the number of IDs, those of removed series included: IDs are less than it.
func (x *Index) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.tsuids.Len()
}

// Size returns the number of series, without those that were removed.
func (x *Index) Size() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.tsuids.Len() - len(x.removed)
}

// TSUID returns the TSUID of a series.
func (x *Index) TSUID(id ID) string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.tsuids.String(uint32(id))
}

// TSUIDs appends the TSUIDs of series to dst, in order.
func (x *Index) TSUIDs(dst []string, ids []ID) []string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, id := range ids {
		dst = append(dst, x.tsuids.String(uint32(id)))
	}
	return dst
}

// TSUIDBytes is TSUIDs as bytes that belong to the index: they never change and must not be
// changed.
func (x *Index) TSUIDBytes(dst [][]byte, ids []ID) [][]byte {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, id := range ids {
		dst = append(dst, x.tsuids.Bytes(uint32(id)))
	}
	return dst
}

// MetricSeries returns how many series a metric has.
func (x *Index) MetricSeries(metric string) int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.ofMetric(metric))
}

// Metrics returns the UIDs of all metrics that have series which pass (nil: all do), ascending.
func (x *Index) Metrics(passes func(ID) bool) []string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.metrics.uids(x.layout.MetricWidth, passes)
}

// Keys returns how many tag keys the series have, those of removed series included.
func (x *Index) Keys() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.tags)
}

// TagKeys returns the UIDs of all tag keys of series that pass (nil: all do), ascending.
func (x *Index) TagKeys(passes func(ID) bool) []string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	keys := x.tags
	if passes != nil {
		keys = map[uidNumber]*postings{}
		for key, values := range x.tags {
			if values.anyOf(passes) {
				keys[key] = values
			}
		}
	}
	return uidsOf(keys, x.layout.TagkWidth)
}

// TagValues returns the UIDs of all values of a tag key in series that pass (nil: all do),
// ascending.
func (x *Index) TagValues(tagk string, passes func(ID) bool) []string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	values := x.values(tagk)
	if values == nil {
		return []string{}
	}
	return values.uids(x.layout.TagvWidth, passes)
}

// values returns the postings of a tag key, nil if no series has it. It needs mu.
func (v *inverted) values(tagk string) *postings {
	if len(tagk) != v.layout.TagkWidth {
		return nil
	}
	return v.tags[numberOf(tagk)]
}

// RefOf returns the Ref of a series of the index.
func RefOf(id ID) storage.Ref { return storage.Ref(id) + 1 }

// IDOf returns the number of a series in the index.
func IDOf(ref storage.Ref) ID { return ID(ref - 1) }
