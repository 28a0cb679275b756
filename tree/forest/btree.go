package forest

import (
	"slices"
)

// A btree is an ordered set of items. Its user defines the order at each call: the less or find
// function compares an item with what is searched. With 64 items a page it takes about 11 bytes an
// item.
type btree struct {
	root  *page
	count int
}

// pageItems is how many items a page holds before it is split.
const pageItems = 64

// A page holds items in order and, unless it is at the bottom, one more child than items: those
// between them. Removing leaves pages that hold few items, or none.
type page struct {
	items    []item
	children []*page
}

// An item is an entry of the index and its parent branch, which most comparisons end with.
type item struct{ parent, entry uint32 }

// search gives the place of the first item that is not less than what is looked for.
func (p *page) search(less func(item) bool) int {
	low, high := 0, len(p.items)
	for low < high {
		if middle := int(uint(low+high) >> 1); less(p.items[middle]) {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// insert adds an item. less reports whether an item comes before it.
func (t *btree) insert(it item, less func(item) bool) {
	if t.root == nil {
		t.root = &page{}
	}
	t.count++
	if middle, right := t.root.insert(it, less); right != nil {
		t.root = &page{items: []item{middle}, children: []*page{t.root, right}}
	}
}

// insert adds an item below p. If p had to be split, it returns what now comes after it.
func (p *page) insert(it item, less func(item) bool) (middle item, right *page) {
	at := p.search(less)
	if p.children == nil {
		p.items = slices.Insert(p.items, at, it)
	} else if up, split := p.children[at].insert(it, less); split != nil {
		p.items = slices.Insert(p.items, at, up)
		p.children = slices.Insert(p.children, at+1, split)
	}
	if len(p.items) <= pageItems {
		return item{}, nil
	}
	return p.split()
}

// split halves a page.
func (p *page) split() (middle item, right *page) {
	half := len(p.items) / 2
	middle = p.items[half]
	right = &page{items: append(make([]item, 0, pageItems+1), p.items[half+1:]...)}
	p.items = p.items[:half:half]
	if p.children != nil {
		right.children = append(make([]*page, 0, pageItems+2), p.children[half+1:]...)
		p.children = slices.Clone(p.children[:half+1])
	}
	p.items = slices.Clone(p.items)
	return middle, right
}

// ascend calls visit for the items from the first that is not less on, until it returns false.
func (t *btree) ascend(less func(item) bool, visit func(item) bool) {
	if t.root != nil {
		t.root.ascend(less, visit)
	}
}

func (p *page) ascend(less, visit func(item) bool) bool {
	at := p.search(less)
	if p.children != nil && !p.children[at].ascend(less, visit) {
		return false
	}
	for ; at < len(p.items); at++ {
		if !visit(p.items[at]) {
			return false
		}
		if p.children != nil && !p.children[at+1].all(visit) {
			return false
		}
	}
	return true
}

// all calls visit for every item.
func (p *page) all(visit func(item) bool) bool {
	for i, it := range p.items {
		if p.children != nil && !p.children[i].all(visit) {
			return false
		}
		if !visit(it) {
			return false
		}
	}
	return p.children == nil || p.children[len(p.items)].all(visit)
}

// remove removes an item; less reports whether an item comes before it. ok is false when it is not
// there.
func (t *btree) remove(it item, less func(item) bool) (ok bool) {
	if t.root == nil || !t.root.remove(it, less) {
		return false
	}
	t.count--
	for len(t.root.items) == 0 && t.root.children != nil {
		t.root = t.root.children[0]
	}
	return true
}

// remove removes an item below p.
func (p *page) remove(it item, less func(item) bool) (ok bool) {
	at := p.search(less)
	here := at < len(p.items) && p.items[at] == it
	switch {
	case p.children == nil:
		if here {
			p.items = slices.Delete(p.items, at, at+1)
		}
		return here
	case here:
		p.replace(at)
		return true
	}
	ok = p.children[at].remove(it, less)
	p.close(at)
	return ok
}

// replace puts the last item before an item in its place.
func (p *page) replace(at int) {
	last, ok := p.children[at].takeLast()
	if !ok { // nothing is between this item and the one before it
		p.items = slices.Delete(p.items, at, at+1)
		p.children = slices.Delete(p.children, at, at+1)
		return
	}
	p.items[at] = last
	p.close(at)
}

// takeLast removes the last item below p. ok is false when there is none.
func (p *page) takeLast() (last item, ok bool) {
	end := len(p.items)
	if p.children != nil {
		if last, ok = p.children[end].takeLast(); ok {
			p.close(end)
			return last, true
		}
	}
	if end == 0 {
		return item{}, false
	}
	last = p.items[end-1]
	p.items = p.items[:end-1]
	if p.children != nil {
		p.children = slices.Delete(p.children, end, end+1)
	}
	return last, true
}

// close drops a child at the bottom that has become empty. The item next to it goes to the
// neighbouring child.
func (p *page) close(at int) {
	if c := p.children[at]; c.children != nil || len(c.items) > 0 || len(p.items) == 0 {
		return
	}
	if at > 0 {
		before := p.children[at-1]
		before.items = append(before.items, p.items[at-1])
		p.items = slices.Delete(p.items, at-1, at)
	} else {
		after := p.children[1]
		after.items = slices.Insert(after.items, 0, p.items[0])
		p.items = slices.Delete(p.items, 0, 1)
	}
	p.children = slices.Delete(p.children, at, at+1)
}
