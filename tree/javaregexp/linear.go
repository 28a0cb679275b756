package javaregexp

import (
	"fmt"
	"strings"
)

// linear writes a pattern as Go has it, if Go's engine, which takes linear time, can run it.
type linear struct {
	out strings.Builder
	// missing names the first thing that Go's engine cannot do; "" if there is none.
	missing string
	// The pattern means the same only in texts of ASCII, or in those that no line terminator ends.
	ascii, unended bool
	// Java finds other groups, as a group in a round stays when the round is given up.
	keepsGroups      bool
	captures, places int // so far
}

func (l *linear) miss(what string) {
	if l.missing == "" {
		l.missing = what
	}
}

// write writes a part. Every part is written so that it needs no flag.
func (l *linear) write(e expr) {
	switch e := e.(type) {
	case charExpr:
		writeSet(&l.out, e.set)
	case placeExpr:
		l.place(e.kind)
	case sequence:
		for _, part := range e {
			l.write(part)
		}
	case choice:
		for i, part := range e {
			if i > 0 {
				l.out.WriteByte('|')
			}
			l.write(part)
		}
	case group:
		l.group(e)
	case quantified:
		l.quantified(e)
	case look:
		l.miss("look-around")
	case atomic:
		l.miss("an atomic group")
	case reference:
		l.miss("a back-reference")
	default:
		l.miss(`\R`)
	}
}

func (l *linear) group(e group) {
	l.out.WriteByte('(')
	if e.index == 0 {
		l.out.WriteString("?:")
	} else {
		l.captures++
	}
	l.write(e.body)
	l.out.WriteByte(')')
}

func (l *linear) place(k placeKind) {
	l.places++
	switch k {
	case textStart:
		l.out.WriteString(`\A`)
	case textEnd:
		l.out.WriteString(`\z`)
	case lastLineEnd, lastUnixLineEnd:
		l.unended = true
		l.out.WriteString(`\z`)
	case wordBoundary, unicodeBoundary:
		l.ascii = true
		l.out.WriteString(`\b`)
	case insideWord, insideUnicodeWord:
		l.ascii = true
		l.out.WriteString(`\B`)
	case matchStart:
		l.miss(`\G`)
	default:
		l.miss("^ or $ of lines")
	}
}

func (l *linear) quantified(e quantified) {
	if e.mode == possessive {
		l.miss("a possessive quantifier")
		return
	}
	if s, ok := e.body.(sequence); ok && len(s) == 0 {
		l.out.WriteString("(?:)")
	}
	before, places := l.captures, l.places
	l.write(e.body)
	if least, _ := e.body.study(study{}).width(); least == 0 && e.repeats() == byLoop {
		// Java ends a loop when a round takes nothing, Go tries what else the round may take
		l.keepsGroups = true
		if l.places > places && e.least > 1 {
			l.miss("a place in a group that is repeated several times")
		}
	}
	if g, ok := e.body.(group); ok && e.repeats() == byRounds && l.captures-before > min(g.index, 1) {
		l.keepsGroups = true
	}
	switch {
	case e.question:
		l.out.WriteByte('?')
	case e.most == longest:
		fmt.Fprintf(&l.out, "{%d,}", e.least)
	default:
		fmt.Fprintf(&l.out, "{%d,%d}", e.least, e.most)
	}
	if e.mode == lazy {
		l.out.WriteByte('?')
	}
}
