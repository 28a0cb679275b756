package javaregexp

import "github.com/tsdbridge/tsdbridge/internal/backtrack/pattern"

// class reads what stands between brackets; the opening one is consumed. With part it reads what
// stands between && and the closing bracket, which is left.
func (p *charReader) class(part bool) (pattern.Set, error) {
	if p.depth++; p.depth > maxNesting {
		return nil, p.refuse("classes nested deeper than %d", maxNesting)
	}
	defer func() { p.depth-- }()
	c := classReader{charReader: p}
	negated := !part && p.Takes("^")
	for {
		p.skip()
		if p.At >= len(p.Src) {
			return nil, p.refuse("character class without a closing bracket")
		}
		if p.Src[p.At] == ']' && c.begun() {
			break
		}
		if err := c.item(); err != nil {
			return nil, err
		}
	}
	if !part {
		p.At++
	}
	set := c.all()
	if negated {
		set = set.Complement()
	}
	return set, nil
}

// A classReader collects the items of a class. Java keeps single characters apart, and it shows:
// [a-z0-9&&] is [0-9], the last item that is not single.
type classReader struct {
	*charReader

	single    pattern.Set
	set       pattern.Set // what is not single
	last      pattern.Set // the last item of it
	hasSingle bool
	hasSet    bool
	sorted    int // ranges of set when it was sorted
}

func (c *classReader) begun() bool      { return c.hasSingle || c.hasSet }
func (c *classReader) all() pattern.Set { return c.set.Union(c.single) }

// add adds an item that is not single.
func (c *classReader) add(set pattern.Set) {
	c.last, c.hasSet = set, true
	if c.set = append(c.set, set...); len(c.set) > 2*c.sorted+1024 {
		c.set = c.set.Sorted()
		c.sorted = len(c.set)
	}
}

// item reads a class in the class, an intersection, a range, a character or an escape.
func (c *classReader) item() error {
	switch {
	case c.Takes("["):
		set, err := c.class(false)
		c.add(set)
		return err
	case c.Takes("&&"):
		return c.intersection()
	}
	first, set, err := c.classChar(false)
	if err != nil {
		return err
	}
	if set != nil {
		c.add(set)
		return nil
	}
	c.skip()
	if dash := c.Peek(2); len(dash) > 1 && dash[0] == '-' && dash[1] != ']' && dash[1] != '[' {
		return c.rangeFrom(first)
	}
	set = c.folded(pattern.Set{{first, first}})
	if first > 0xFF {
		c.add(set)
		return nil
	}
	c.single, c.hasSingle = append(c.single, set...), true
	return nil
}

// rangeFrom reads a dash and the last character of a range.
func (c *classReader) rangeFrom(first rune) error {
	c.At++
	c.skip()
	last, set, err := c.classChar(true)
	if err != nil {
		return err
	}
	if set != nil || last < first {
		return c.refuse("illegal character range")
	}
	c.add(c.folded(pattern.Set{{first, last}}))
	return nil
}

// classChar reads a character of a class, or an escape for a set of them. last means that it ends a
// range.
func (p *charReader) classChar(last bool) (rune, pattern.Set, error) {
	if p.At >= len(p.Src) {
		return 0, nil, p.refuse("character class without a closing bracket")
	}
	c := p.Src[p.At]
	if c != '\\' {
		p.At++
		return c, nil, nil
	}
	if p.Peek(2) == `\v` && (last || p.At+2 < len(p.Src) && p.Src[p.At+2] == '-') {
		p.At += 2
		return '\v', nil, nil // at the ends of a range it is one character
	}
	return p.character()
}

// intersection reads what stands behind &&.
func (c *classReader) intersection() error {
	right, found, err := c.rightSide()
	if err != nil {
		return err
	}
	if c.hasSingle {
		if !c.hasSet {
			c.last = c.single
		}
		c.set, c.hasSet = c.all(), true
		c.single, c.hasSingle = nil, false
	}
	switch {
	case !c.hasSet && !found:
		return c.refuse("bad class syntax")
	case !c.hasSet:
		c.set, c.last, c.hasSet = right, right, true
		return nil
	case found:
		c.last = right
	}
	c.set = c.set.Intersect(c.last)
	return nil
}

// rightSide reads up to the closing bracket or the next ampersand.
func (c *classReader) rightSide() (right pattern.Set, found bool, err error) {
	for {
		c.skip()
		if c.At >= len(c.Src) {
			return nil, false, c.refuse("character class without a closing bracket")
		}
		if c.Src[c.At] == ']' || c.Src[c.At] == '&' {
			return right, found, nil
		}
		set, err := c.class(!c.Takes("["))
		if err != nil {
			return nil, false, err
		}
		right, found = right.Union(set), true
	}
}
