package index

import (
	"maps"
	"slices"
)

// Remove makes series unknown: no condition finds them any more. Their IDs stay theirs. Removing a
// series again does nothing.
func (x *Index) Remove(ids []ID) {
	x.mu.Lock()
	defer x.mu.Unlock()
	// A list of many series is gone through once, however many of its series are removed.
	type posting struct {
		list *postings
		uid  uidNumber
	}
	touched := map[posting]struct{}{}
	gone := map[ID]struct{}{}
	for _, id := range ids {
		if _, ok := x.removed[id]; ok {
			continue
		}
		gone[id] = struct{}{}
		x.eachPosting(x.tsuids.Bytes(uint32(id)), func(p *postings, uid uidNumber) { touched[posting{p, uid}] = struct{}{} })
	}
	if len(gone) > 0 {
		x.removals++
	}
	for t := range touched {
		t.list.remove(t.uid, gone)
	}
	maps.DeleteFunc(x.tags, func(_ uidNumber, values *postings) bool { return len(values.places) == 0 })
	maps.Copy(x.removed, gone)
}

// Restore makes a series known again that was removed.
func (x *Index) Restore(id ID) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if _, ok := x.removed[id]; !ok {
		return
	}
	delete(x.removed, id)
	x.removals++
	x.eachPosting(x.tsuids.Bytes(uint32(id)), func(p *postings, uid uidNumber) { p.insert(uid, id) })
}

// remove removes series from the list of a UID.
func (p *postings) remove(uid uidNumber, gone map[ID]struct{}) {
	at, ok := p.places[uid]
	if !ok {
		return
	}
	isGone := func(id ID) bool {
		_, ok := gone[id]
		return ok
	}
	if at&placeList == 0 {
		if isGone(ID(at)) {
			delete(p.places, uid)
		}
		return
	}
	// readers may hold the old list
	list := slices.DeleteFunc(slices.Clone(p.lists[at&^placeList]), isGone)
	p.lists[at&^placeList] = list
	if len(list) == 0 {
		delete(p.places, uid)
	}
}

// insert adds a series at its place in the list of a UID.
func (p *postings) insert(uid uidNumber, id ID) {
	list := p.get(uid)
	at, there := slices.BinarySearch(list, id)
	switch {
	case there:
	case at == len(list):
		p.add(uid, id)
	default:
		p.setList(uid, slices.Insert(slices.Clone(list), at, id))
	}
}

// setList gives a UID a list.
func (p *postings) setList(uid uidNumber, list []ID) {
	if at, ok := p.places[uid]; ok && at&placeList != 0 {
		p.lists[at&^placeList] = list
		return
	}
	p.places[uid] = placeList | place(len(p.lists))
	p.lists = append(p.lists, list)
}
