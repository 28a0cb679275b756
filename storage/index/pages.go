package index

import (
	"sync"
	"sync/atomic"
)

const perPage = 4096

// Pages has a T for each series, in pages that never move. The zero value is an empty one. It is
// safe for concurrent use, as far as T is.
type Pages[T any] struct {
	pages   atomic.Pointer[[]*[perPage]T]
	growing sync.Mutex // held while pages grow
}

// Of returns what a series has, a zero T at first.
func (p *Pages[T]) Of(id ID) *T {
	page := int(id) / perPage
	if pages := p.pages.Load(); pages != nil && page < len(*pages) {
		return &(*pages)[page][id%perPage]
	}
	return &p.grow(page)[page][id%perPage]
}

// grow makes pages up to one. Readers have the list of before, of the same pages.
func (p *Pages[T]) grow(page int) []*[perPage]T {
	p.growing.Lock()
	defer p.growing.Unlock()
	var pages []*[perPage]T
	if old := p.pages.Load(); old != nil {
		pages = append(pages, *old...)
	}
	for page >= len(pages) {
		pages = append(pages, new([perPage]T))
	}
	p.pages.Store(&pages)
	return pages
}
