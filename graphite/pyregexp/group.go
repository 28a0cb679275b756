package pyregexp

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// bracket reads a group of any kind; its opening bracket is consumed. A comment gives nil.
func (p *parser) bracket() (node, error) {
	if !p.accept("?") {
		return p.capture("")
	}
	switch {
	case p.accept("P<"):
		name, err := p.until('>')
		if err != nil {
			return nil, err
		}
		return p.capture(name)
	case p.accept("P="):
		name, err := p.until(')')
		if err != nil {
			return nil, err
		}
		return p.reference(name)
	case p.accept(":"):
		return p.closed()
	case p.accept(">"):
		n, err := p.closed()
		return atomic{n}, err
	case p.accept("#"):
		_, err := p.until(')')
		return nil, err
	case p.accept("="):
		return p.look(false, false)
	case p.accept("!"):
		return p.look(false, true)
	case p.accept("<="):
		return p.look(true, false)
	case p.accept("<!"):
		return p.look(true, true)
	case p.accept("("):
		return p.condition()
	}
	return p.scopedFlags()
}

// closed reads up to the closing bracket. Flags set inside end there.
func (p *parser) closed() (node, error) {
	before := p.flags
	n, err := p.alternation()
	if err == nil && !p.accept(")") {
		err = errors.New("missing ), unterminated subpattern")
	}
	p.flags = before
	return n, err
}

func (p *parser) capture(name string) (node, error) {
	index := p.groups
	p.groups++
	if name != "" {
		if _, twice := p.names[name]; twice {
			return nil, fmt.Errorf("redefinition of group name %q", name)
		}
		p.names[name] = index
	}
	p.open = append(p.open, index)
	n, err := p.closed()
	p.open = p.open[:len(p.open)-1]
	return group{index, n}, err
}

func (p *parser) look(behind, negative bool) (node, error) {
	n, err := p.closed()
	if err != nil {
		return nil, err
	}
	l := look{body: n, isBehind: behind, negative: negative}
	if behind {
		least, most := n.width()
		if least != most {
			return nil, errors.New("look-behind requires fixed-width pattern")
		}
		l.behind = least
	}
	return l, nil
}

func (p *parser) condition() (node, error) {
	name, err := p.until(')')
	if err != nil {
		return nil, err
	}
	index, err := groupNumber(name, p.names, MaxPattern) // It may come later.
	if err != nil {
		return nil, err
	}
	p.needs = max(p.needs, index)
	body, err := p.closed()
	if err != nil {
		return nil, err
	}
	branches, ok := body.(alternatives)
	switch {
	case !ok:
		return conditional{index, body, sequence{}}, nil
	case len(branches) > 2:
		return nil, errors.New("conditional backref with more than two branches")
	}
	return conditional{index, branches[0], branches[1]}, nil
}

// scopedFlags reads `(?i-s:…)`.
func (p *parser) scopedFlags() (node, error) {
	before := p.flags
	defer func() { p.flags = before }()
	on := true
	for p.at < len(p.text) {
		c := p.text[p.at]
		p.at++
		switch c {
		case ':':
			return p.closed()
		case ')':
			return nil, errors.New("global flags not at the start of the expression")
		case '-':
			on = false
		default:
			if err := p.flags.set([]rune{c}, on); err != nil {
				return nil, err
			}
		}
	}
	return nil, errors.New("missing -, : or )")
}

func (p *parser) reference(name string) (node, error) {
	index, err := groupNumber(name, p.names, p.groups)
	if err != nil {
		return nil, err
	}
	if slices.Contains(p.open, index) {
		return nil, errors.New("cannot refer to an open group")
	}
	return backreference{index, p.flags.fold}, nil
}

// groupNumber resolves a name or a number of a group.
func groupNumber(name string, names map[string]int, groups int) (int, error) {
	if i, ok := names[name]; ok {
		return i, nil
	}
	i, err := strconv.Atoi(name)
	if err != nil {
		return 0, fmt.Errorf("unknown group name %q", name)
	}
	if i < 0 || i >= groups {
		return 0, fmt.Errorf("invalid group reference %d", i)
	}
	return i, nil
}
