package javaregexp

import "github.com/tsdbridge/tsdbridge/internal/backtrack/pattern"

// An expr is a part of a pattern as it was read.
type expr interface {
	// study adds a part to what Java knows of those before it.
	study(before study) study
}

// study is what Java knows of a part before it runs it: it decides how the part is repeated, and
// whether it may stand in look-behind. Java counts with 32 bits, and what overflows shows there.
type study struct {
	least, most         int32 // characters, since the last choice
	fixedLeast, fixMost int32 // those before it
	unbounded           bool  // look-behind refuses it
	several             bool  // it may match in several ways at one place
}

// width returns how many characters there are in all.
func (s study) width() (least, most int32) { return s.fixedLeast + s.least, s.fixMost + s.most }

// longest stands for a width or a number of rounds without a bound.
const longest = 1<<31 - 1

type (
	charExpr  struct{ set pattern.Set }
	placeExpr struct{ kind placeKind }
	sequence  []expr
	choice    []expr

	// group is a pair of parentheses; index 0 does not capture.
	group struct {
		index int
		body  expr
	}
	// quantified is a part that is repeated.
	quantified struct {
		body        expr
		least, most int
		mode        mode
		question    bool // It is ? or {0,1}.
		star        bool // It is * or +.
	}
	look struct {
		body             expr
		behind, negative bool
	}
	atomic struct{ body expr }
	// reference is what a group has matched.
	reference struct {
		index   int
		fold    bool
		unicode bool
	}
	// lineBreak is \R.
	lineBreak struct{}
)

type mode byte

const (
	greedy mode = iota
	lazy
	possessive
)

type placeKind byte

const (
	textStart placeKind = iota
	textEnd
	lastLineEnd // $ and \Z: the end, or the line terminator before it
	lastUnixLineEnd
	lineStart
	unixLineStart
	lineEnd
	unixLineEnd
	matchStart // \G
	wordBoundary
	insideWord
	unicodeBoundary
	insideUnicodeWord
)

func (placeExpr) study(s study) study { return s }
func (look) study(s study) study      { return s }
func (e group) study(s study) study   { return e.body.study(s) }

func (charExpr) study(s study) study {
	s.least++
	s.most++
	return s
}

func (lineBreak) study(s study) study {
	s.least++
	s.most += 2
	return s
}

func (reference) study(s study) study {
	s.unbounded = true
	return s
}

func (e atomic) study(s study) study { return s.apart(e.body) }

// apart adds a part that is matched apart from what follows it.
func (s study) apart(part expr) study {
	one := part.study(study{})
	l, m := one.width()
	s.least, s.most = s.least+l, s.most+m
	s.unbounded, s.several = s.unbounded || one.unbounded, s.several || one.several
	return s
}

func (e sequence) study(s study) study {
	for _, part := range e {
		s = part.study(s)
	}
	return s
}

func (e choice) study(before study) study { return before.choose(e...) }

// choose adds one of several parts.
func (s study) choose(parts ...expr) study {
	all := study{unbounded: s.unbounded, several: true}
	least, most := int32(longest), int32(-1)
	for _, part := range parts {
		one := part.study(study{})
		l, m := one.width()
		least, most = min(least, l), max(most, m)
		all.unbounded = all.unbounded || one.unbounded
	}
	l, m := s.width()
	all.fixedLeast, all.fixMost = l+least, m+most
	return all
}

func (e quantified) study(before study) study {
	_, isGroup := e.body.(group)
	switch how := e.repeats(); {
	case how == byChoice:
		return before.choose(e.body, sequence{})
	case how == byLoop:
		before.unbounded, before.several = true, true
		return before
	case how == byCharacter && e.star && e.mode == greedy:
		before.least += int32(e.least)
		before.most += longest
		before.several = true
		return before
	case e.question && (!isGroup || e.mode == possessive):
		after := before.apart(e.body)
		after.least, after.several = before.least, true
		return after
	}
	return e.studyRounds(before)
}

// studyRounds is about a part whose rounds are counted.
func (e quantified) studyRounds(before study) study {
	body := e.body.study(study{})
	l, m := body.width()
	after := before
	if after.least += l * int32(e.least); after.least < before.least {
		after.least = 0xFFFFFFF
	}
	after.most += m * int32(e.most)
	after.unbounded = before.unbounded || body.unbounded || after.most < before.most
	after.several = before.several || body.several || e.least != e.most
	return after
}

// repetition is one of the ways in which Java repeats a part.
type repetition byte

const (
	byCharacter repetition = iota
	byChoice               // A group that may be there.
	byRounds               // Each round gives its first match and no other.
	byLoop
)

// repeats returns how Java repeats the part.
func (e quantified) repeats() repetition {
	body, isGroup := e.body.(group)
	_, isChar := e.body.(charExpr)
	switch {
	case isChar:
		return byCharacter
	case !isGroup || e.mode == possessive:
		return byRounds
	case e.question:
		return byChoice
	case body.study(study{}).several:
		return byLoop
	}
	return byRounds
}
