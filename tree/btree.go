package tree

import "slices"

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
