package tree

import "slices"

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
