package expr

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// node is a part of a compiled pattern. match tries it at a position and calls next with each end it can have, until
// next is content. width is how many characters it can take, for look-behind; max is unbounded from unbounded on.
type node interface {
	match(m *machine, at int, next func(int) bool) bool
	width() (least, most int)
}

const unbounded = 1 << 30

// charNode is one character that satisfies a predicate.
type charNode struct{ is func(rune) bool }

func (n charNode) match(m *machine, at int, next func(int) bool) bool {
	if at == len(m.text) || !m.step() {
		return false
	}
	r, size := utf8.DecodeRuneInString(m.text[at:])
	return n.is(r) && next(at+size)
}

func (charNode) width() (least, most int) { return 1, 1 }

// sequence is one node after the other.
type sequence []node

func (n sequence) match(m *machine, at int, next func(int) bool) bool {
	if len(n) == 0 {
		return next(at)
	}
	if len(n) == 1 {
		return n[0].match(m, at, next)
	}
	return n[0].match(m, at, func(end int) bool { return n[1:].match(m, end, next) })
}

func (n sequence) width() (least, most int) {
	for _, c := range n {
		l, h := c.width()
		least, most = least+l, min(most+h, unbounded)
	}
	return least, most
}

// alternatives are tried in order.
type alternatives []node

func (n alternatives) match(m *machine, at int, next func(int) bool) bool {
	for _, c := range n {
		if c.match(m, at, next) {
			return true
		}
	}
	return false
}

func (n alternatives) width() (least, most int) {
	least = unbounded
	for _, c := range n {
		l, h := c.width()
		least, most = min(least, l), max(most, h)
	}
	return least, most
}

// group captures.
type group struct {
	index int
	body  node
}

func (n group) match(m *machine, at int, next func(int) bool) bool {
	from, to := m.caps[2*n.index], m.caps[2*n.index+1]
	ok := n.body.match(m, at, func(end int) bool {
		f, t := m.caps[2*n.index], m.caps[2*n.index+1]
		m.caps[2*n.index], m.caps[2*n.index+1] = at, end
		if next(end) {
			return true
		}
		m.caps[2*n.index], m.caps[2*n.index+1] = f, t
		return false
	})
	if !ok {
		m.caps[2*n.index], m.caps[2*n.index+1] = from, to
	}
	return ok
}

func (n group) width() (least, most int) { return n.body.width() }

// repeat is a quantifier.
type repeat struct {
	body        node
	least, most int
	lazy        bool
}

func (n repeat) match(m *machine, at int, next func(int) bool) bool { return n.round(m, at, 0, next) }

func (n repeat) round(m *machine, at, count int, next func(int) bool) bool {
	if !m.step() {
		return false
	}
	more := func() bool {
		return count < n.most && n.body.match(m, at, func(end int) bool {
			if end == at && count >= n.least {
				return false // An empty round leads nowhere new.
			}
			return n.round(m, end, count+1, next)
		})
	}
	switch {
	case count < n.least:
		return more()
	case n.lazy:
		return next(at) || more()
	}
	return more() || next(at)
}

func (n repeat) width() (least, most int) {
	l, h := n.body.width()
	if n.most >= unbounded && h > 0 {
		return l * n.least, unbounded
	}
	return min(l*n.least, unbounded), min(h*min(n.most, unbounded), unbounded)
}

// atomic gives the first match of its body and no other: `(?>…)` and possessive repeats.
type atomic struct{ body node }

func (n atomic) match(m *machine, at int, next func(int) bool) bool {
	end := -1
	ok := n.body.match(m, at, func(e int) bool {
		end = e
		return true
	})
	return ok && next(end)
}

func (n atomic) width() (least, most int) { return n.body.width() }

// look is look-ahead, and with behind > 0 or isBehind look-behind over a fixed number of characters.
type look struct {
	body     node
	isBehind bool
	behind   int
	negative bool
}

func (n look) match(m *machine, at int, next func(int) bool) bool {
	start, ok := at, true
	for i := 0; i < n.behind && ok; i++ {
		_, size := utf8.DecodeLastRuneInString(m.text[:start])
		start, ok = start-size, size > 0
	}
	if ok {
		ok = n.body.match(m, start, func(end int) bool { return !n.isBehind || end == at })
	}
	return m.err == nil && ok != n.negative && next(at)
}

func (look) width() (least, most int) { return 0, 0 }

// backreference matches what a group matched.
type backreference struct {
	index int
	fold  bool
}

func (n backreference) match(m *machine, at int, next func(int) bool) bool {
	from, to := m.caps[2*n.index], m.caps[2*n.index+1]
	if from < 0 || at+to-from > len(m.text) {
		return false
	}
	got, want := m.text[at:at+to-from], m.text[from:to]
	return (got == want || n.fold && strings.EqualFold(got, want)) && next(at+to-from)
}

func (backreference) width() (least, most int) { return 0, unbounded }

// conditional is `(?(1)yes|no)`.
type conditional struct {
	index   int
	yes, no node
}

func (n conditional) match(m *machine, at int, next func(int) bool) bool {
	if m.caps[2*n.index] >= 0 {
		return n.yes.match(m, at, next)
	}
	return n.no.match(m, at, next)
}

func (n conditional) width() (least, most int) { return alternatives{n.yes, n.no}.width() }

// place matches without taking anything.
type place func(text string, at int) bool

func (n place) match(m *machine, at int, next func(int) bool) bool { return n(m.text, at) && next(at) }
func (place) width() (least, most int)                             { return 0, 0 }

func textStart(_ string, at int) bool  { return at == 0 }
func textEnd(text string, at int) bool { return at == len(text) }
func lineStart(text string, at int) bool {
	return at == 0 || text[at-1] == '\n'
}

func lineEnd(text string, at int) bool {
	return at == len(text) || text[at] == '\n'
}

// lastLineEnd is `$`: the end, or the line break that ends the text.
func lastLineEnd(text string, at int) bool {
	return at == len(text) || at == len(text)-1 && text[at] == '\n'
}

func wordBoundary(text string, at int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	after, _ := utf8.DecodeRuneInString(text[at:])
	return (at > 0 && isWordRune(before)) != (at < len(text) && isWordRune(after))
}

func insideWord(text string, at int) bool { return len(text) > 0 && !wordBoundary(text, at) }

func isWordRune(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r)
}
