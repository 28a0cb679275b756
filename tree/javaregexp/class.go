package javaregexp

// class reads what stands between brackets; the opening one is consumed. With part it reads what
// stands between && and the closing bracket, which is left.
func (p *parser) class(part bool) (charSet, error) {
	if p.depth++; p.depth > maxNesting {
		return nil, p.refuse("classes nested deeper than %d", maxNesting)
	}
	defer func() { p.depth-- }()
	c := classReader{parser: p}
	negated := !part && p.takes("^")
	for {
		p.skip()
		if p.at >= len(p.src) {
			return nil, p.refuse("character class without a closing bracket")
		}
		if p.src[p.at] == ']' && c.begun() {
			break
		}
		if err := c.item(); err != nil {
			return nil, err
		}
	}
	if !part {
		p.at++
	}
	set := c.all()
	if negated {
		set = set.complement()
	}
	return set, nil
}

// A classReader collects the items of a class. Java keeps single characters apart, and it shows:
// [a-z0-9&&] is [0-9], the last item that is not single.
type classReader struct {
	*parser

	single    charSet
	set       charSet // what is not single
	last      charSet // the last item of it
	hasSingle bool
	hasSet    bool
	sorted    int // ranges of set when it was sorted
}

func (c *classReader) begun() bool  { return c.hasSingle || c.hasSet }
func (c *classReader) all() charSet { return c.set.union(c.single) }

// add adds an item that is not single.
func (c *classReader) add(set charSet) {
	c.last, c.hasSet = set, true
	if c.set = append(c.set, set...); len(c.set) > 2*c.sorted+1024 {
		c.set = c.set.sorted()
		c.sorted = len(c.set)
	}
}

// item reads a class in the class, an intersection, a range, a character or an escape.
func (c *classReader) item() error {
	switch {
	case c.takes("["):
		set, err := c.class(false)
		c.add(set)
		return err
	case c.takes("&&"):
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
	if dash := c.peek(2); len(dash) > 1 && dash[0] == '-' && dash[1] != ']' && dash[1] != '[' {
		return c.rangeFrom(first)
	}
	set = c.folded(charSet{{first, first}})
	if first > 0xFF {
		c.add(set)
		return nil
	}
	c.single, c.hasSingle = append(c.single, set...), true
	return nil
}

// rangeFrom reads a dash and the last character of a range.
func (c *classReader) rangeFrom(first rune) error {
	c.at++
	c.skip()
	last, set, err := c.classChar(true)
	if err != nil {
		return err
	}
	if set != nil || last < first {
		return c.refuse("illegal character range")
	}
	c.add(c.folded(charSet{{first, last}}))
	return nil
}

// classChar reads a character of a class, or an escape for a set of them. last means that it ends a
// range.
func (p *parser) classChar(last bool) (rune, charSet, error) {
	if p.at >= len(p.src) {
		return 0, nil, p.refuse("character class without a closing bracket")
	}
	c := p.src[p.at]
	if c != '\\' {
		p.at++
		return c, nil, nil
	}
	if p.peek(2) == `\v` && (last || p.at+2 < len(p.src) && p.src[p.at+2] == '-') {
		p.at += 2
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
	c.set = c.set.intersect(c.last)
	return nil
}

// rightSide reads up to the closing bracket or the next ampersand.
func (c *classReader) rightSide() (right charSet, found bool, err error) {
	for {
		c.skip()
		if c.at >= len(c.src) {
			return nil, false, c.refuse("character class without a closing bracket")
		}
		if c.src[c.at] == ']' || c.src[c.at] == '&' {
			return right, found, nil
		}
		set, err := c.class(!c.takes("["))
		if err != nil {
			return nil, false, err
		}
		right, found = right.union(set), true
	}
}
