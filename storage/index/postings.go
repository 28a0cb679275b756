package index

import (
	"maps"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// uidNumber is a UID, of 1 to 8 bytes, as a number: in the order of the UIDs.
type uidNumber uint64

func numberOf[B []byte | string](uid B) uidNumber {
	n := uidNumber(0)
	for i := range len(uid) {
		n = n<<8 | uidNumber(uid[i])
	}
	return n
}

// appendUID appends the UID of a number.
func (n uidNumber) appendUID(dst []byte, width int) []byte {
	for i := width - 1; i >= 0; i-- {
		dst = append(dst, byte(n>>(8*i)))
	}
	return dst
}

// uidsOf returns the keys of a map as UIDs, ascending.
func uidsOf[V any](m map[uidNumber]V, width int) []string {
	uids := make([]string, 0, len(m))
	var uid []byte
	for _, n := range slices.Sorted(maps.Keys(m)) {
		uid = n.appendUID(uid[:0], width)
		uids = append(uids, string(uid))
	}
	return uids
}

// postings lists series by a UID, ascending. Many UIDs have a single series (a metric of carbon's,
// a pod): that costs no list.
type postings struct {
	places map[uidNumber]place
	lists  [][]ID
}

// place is where the series of a UID are: a single one, or the number of a list.
type place uint64

const placeList place = 1 << 63

// add adds a series that is later than all others.
func (p *postings) add(uid uidNumber, id ID) {
	at, ok := p.places[uid]
	switch {
	case !ok:
		if p.places == nil {
			p.places = map[uidNumber]place{}
		}
		p.places[uid] = place(id)
	case at&placeList == 0:
		p.places[uid] = placeList | place(len(p.lists))
		p.lists = append(p.lists, []ID{ID(at), id})
	default:
		list := &p.lists[at&^placeList]
		if cap(*list) == len(*list) && len(*list) >= roomyList {
			*list = slices.Grow(*list, len(*list)/4) // doubling would leave a quarter of all unused
		}
		*list = append(*list, id)
	}
}

// roomyList is the length from which on a list grows by a quarter.
const roomyList = 64

// get returns the series of a UID. The slice is not to be changed.
func (p *postings) get(uid uidNumber) []ID {
	at, ok := p.places[uid]
	if !ok {
		return nil
	}
	return p.at(at)
}

func (p *postings) at(at place) []ID {
	if at&placeList == 0 {
		return []ID{ID(at)}
	}
	return p.lists[at&^placeList]
}

// uids returns the UIDs of which some series passes (nil: all do), ascending.
func (p *postings) uids(width int, passes func(ID) bool) []string {
	if passes == nil {
		return uidsOf(p.places, width)
	}
	some := map[uidNumber]struct{}{}
	for uid, at := range p.places {
		if slices.ContainsFunc(p.at(at), passes) {
			some[uid] = struct{}{}
		}
	}
	return uidsOf(some, width)
}

// anyOf reports whether any series passes.
func (p *postings) anyOf(passes func(ID) bool) bool {
	for _, at := range p.places {
		if slices.ContainsFunc(p.at(at), passes) {
			return true
		}
	}
	return false
}

// inverted are the lists of series by metric and by tag.
type inverted struct {
	layout  schema.Layout
	metrics postings                // by metric UID
	tags    map[uidNumber]*postings // by tagk UID, then by tagv UID
}
