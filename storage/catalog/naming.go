package catalog

import (
	"context"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/uid"
)

// A namer gives series the names that the tables have for them.
type namer struct {
	o       Options
	db      *kv.Engine
	layout  schema.Layout
	uids    *uid.Dictionary
	index   *index.Index
	metrics *metrics
}

// names are the names of some series, UID by UID: each UID is looked up once, however many series
// have it.
type names struct {
	by     [3][]string // by kind, by number
	uids   [3][]string // the same UIDs
	tsuids []string    // of the series
	parts  []int32     // the numbers of each series' UIDs: metric, key, value, key, value...
	ends   []int       // of each series' parts
}

// newNames reads the names of the UIDs of series.
func (cat *namer) newNames(ctx context.Context, tsuids []string) (*names, error) {
	n := &names{tsuids: tsuids, ends: make([]int, len(tsuids))}
	var sets [3]uidSet
	l := cat.layout
	count := 0
	for _, tsuid := range tsuids {
		count += 1 + 2*((len(tsuid)-l.MetricWidth)/l.PairWidth())
	}
	n.parts = make([]int32, 0, count)
	for i, tsuid := range tsuids {
		n.parts = append(n.parts, sets[storage.MetricName].number(tsuid[:l.MetricWidth]))
		for tags := tsuid[l.MetricWidth:]; len(tags) >= l.PairWidth(); tags = tags[l.PairWidth():] {
			n.parts = append(n.parts, sets[storage.TagKeyName].number(tags[:l.TagkWidth]), sets[storage.TagValueName].number(tags[l.TagkWidth:l.PairWidth()]))
		}
		n.ends[i] = len(n.parts)
	}
	for kind := range sets {
		n.uids[kind] = sets[kind].uids
		var err error
		if n.by[kind], err = cat.uids.Names(ctx, storage.NameKind(kind), sets[kind].uids); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// seriesPerCore is how many series are worth a goroutine.
const seriesPerCore = 1024

// series returns the series in the order of their TSUIDs. A series with a UID that has no name has
// nil Tags.
func (n *names) series() []storage.Series {
	all := make([]storage.Series, len(n.ends))
	tags := make([]storage.Tag, (len(n.parts)-len(n.ends))/2)
	query.Split(len(all), query.Shares(len(all), seriesPerCore), func(_, from, to int) { n.fill(all, tags, from, to) })
	return all
}

// fill names the series from one index up to another. tags has the capacity for all of them.
func (n *names) fill(all []storage.Series, tags []storage.Tag, from, to int) {
	for i := from; i < to; i++ {
		begin := 0
		if i > 0 {
			begin = n.ends[i-1]
		}
		parts := n.parts[begin:n.ends[i]]
		at, count := (begin-i)/2, (len(parts)-1)/2
		own := tags[at : at+count : at+count]
		metric := n.by[storage.MetricName][parts[0]]
		ok := metric != ""
		for t := range own {
			own[t] = storage.Tag{Key: n.by[storage.TagKeyName][parts[1+2*t]], Value: n.by[storage.TagValueName][parts[2+2*t]]}
			ok = ok && own[t].Key != "" && own[t].Value != ""
		}
		if ok {
			sortTags(own)
			all[i] = storage.Series{Metric: metric, Tags: own}
		}
	}
}

// uidSet numbers UIDs in the order in which they are first seen. UIDs of one set have one width.
type uidSet struct {
	uids  []string
	slots []uidSlot        // open addressing, at most half full
	wide  map[string]int32 // UIDs that do not fit a uint64
}

// uidSlot holds a UID that is a number, plus 1; 0 is an empty slot.
type uidSlot struct {
	uid    uint64
	number int32
}

// number returns the number of a UID, from 0.
func (s *uidSet) number(uid string) int32 {
	if len(uid) > 7 {
		return s.wideNumber(uid)
	}
	key := uint64(1)
	for i := range len(uid) {
		key += uint64(uid[len(uid)-1-i]) << (8 * i)
	}
	if 2*len(s.uids) >= len(s.slots) {
		s.grow()
	}
	slot := s.find(key)
	if slot.uid == 0 {
		*slot = uidSlot{key, int32(len(s.uids))}
		s.uids = append(s.uids, uid)
	}
	return slot.number
}

// find returns the slot that has a key, or is free for it.
func (s *uidSet) find(key uint64) *uidSlot {
	mask := uint64(len(s.slots) - 1)
	for at := key * 0x9e3779b97f4a7c15 >> 20 & mask; ; at = (at + 1) & mask {
		if slot := &s.slots[at]; slot.uid == key || slot.uid == 0 {
			return slot
		}
	}
}

func (s *uidSet) grow() {
	old := s.slots
	s.slots = make([]uidSlot, max(16, 2*len(old)))
	for _, slot := range old {
		if slot.uid != 0 {
			*s.find(slot.uid) = slot
		}
	}
}

func (s *uidSet) wideNumber(uid string) int32 {
	n, ok := s.wide[uid]
	if !ok {
		if s.wide == nil {
			s.wide = map[string]int32{}
		}
		n = int32(len(s.uids))
		s.wide[uid] = n
		s.uids = append(s.uids, uid)
	}
	return n
}
