package javaregexp

import (
	"unicode/utf8"

	"github.com/tsdbridge/tsdbridge/internal/backtrack"
	"github.com/tsdbridge/tsdbridge/internal/backtrack/pattern"
)

// node returns what the machine runs for a part.
func node(e expr) backtrack.Node {
	switch e := e.(type) {
	case charExpr:
		return e.node()
	case placeExpr:
		return backtrack.Place{Holds: e.kind.holds, Start: e.kind == textStart}
	case sequence:
		return e.node()
	case choice:
		all := make(backtrack.Alternatives, len(e))
		for i, part := range e {
			all[i] = node(part)
		}
		return all
	case group:
		return e.node()
	case quantified:
		return e.node()
	case look:
		return e.node()
	case atomic:
		return backtrack.Atomic{Body: node(e.body)}
	case reference:
		return e.node()
	default: // \R
		return backtrack.Alternatives{
			backtrack.Sequence{backtrack.Char{Char: '\r'}, backtrack.Char{Char: '\n'}},
			charExpr{pattern.Set{{'\n', '\r'}, {0x85, 0x85}, {0x2028, 0x2029}}}.node(),
		}
	}
}

func (e charExpr) node() backtrack.Node {
	if len(e.set) == 1 && e.set[0][0] == e.set[0][1] {
		return backtrack.Char{Char: e.set[0][0]}
	}
	return backtrack.Char{Is: e.set.Predicate()}
}

func (e sequence) node() backtrack.Node {
	all := make(backtrack.Sequence, len(e))
	for i, part := range e {
		all[i] = node(part)
	}
	return all
}

func (e group) node() backtrack.Node {
	if e.index == 0 {
		return node(e.body)
	}
	return backtrack.Group{Index: e.index, Body: node(e.body)}
}

func (e quantified) node() backtrack.Node {
	n := e.rounds()
	if e.mode == possessive {
		return backtrack.Atomic{Body: n}
	}
	return n
}

// rounds is the repetition without what makes it possessive.
func (e quantified) rounds() backtrack.Node {
	least, most := min(e.least, backtrack.Unbounded), min(e.most, backtrack.Unbounded)
	isLazy := e.mode == lazy
	switch e.repeats() {
	case byCharacter:
		return backtrack.Repeat{Body: node(e.body), Least: least, Most: most, Lazy: isLazy}
	case byChoice:
		if isLazy {
			return backtrack.Alternatives{backtrack.Sequence{}, node(e.body)}
		}
		return backtrack.Alternatives{node(e.body), backtrack.Sequence{}}
	case byLoop:
		return backtrack.Loop{Body: node(e.body), Least: least, Most: most, Lazy: isLazy}
	}
	if g, ok := e.body.(group); ok && e.mode != possessive {
		return backtrack.Rounds{Body: node(g.body), Group: g.index, Least: least, Most: most, Lazy: isLazy}
	}
	return backtrack.Rounds{Body: node(e.body), Least: least, Most: most, Lazy: isLazy}
}

func (e look) node() backtrack.Node {
	l := backtrack.Look{Body: node(e.body), Behind: e.behind, Negative: e.negative}
	if e.behind {
		l.Least, l.Most = e.reach()
	}
	return l
}

// reach returns how far look-behind goes back. A width that overflows is no bound to Java.
func (e look) reach() (least, most int) {
	l, m := e.body.study(study{}).width()
	if m < 0 {
		m = backtrack.Unbounded
	}
	return int(max(min(l, backtrack.Unbounded), 0)), int(min(m, backtrack.Unbounded))
}

func (e reference) node() backtrack.Node {
	r := backtrack.Backreference{Index: e.index}
	switch {
	case e.fold && e.unicode:
		r.Again = againBy(sameUnicode)
	case e.fold:
		r.Again = againBy(sameFolded)
	}
	return r
}

// againBy compares character by character.
func againBy(same func(a, b rune) bool) backtrack.AgainFunc {
	return func(text string, at int, group string) (end int, ok bool) {
		for _, want := range group {
			got, size := utf8.DecodeRuneInString(text[at:])
			if size == 0 || !same(got, want) {
				return at, false
			}
			at += size
		}
		return at, true
	}
}
