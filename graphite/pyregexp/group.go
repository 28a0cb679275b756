package pyregexp

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/tsdbridge/tsdbridge/internal/backtrack"
)

// bracket reads a group of any kind; its opening bracket is consumed. A comment gives nil.
func (p *parser) bracket() (backtrack.Node, error) {
	if !p.Takes("?") {
		return p.capture("")
	}
	switch {
	case p.Takes("P<"):
		name, err := p.until('>')
		if err != nil {
			return nil, err
		}
		return p.capture(name)
	case p.Takes("P="):
		name, err := p.until(')')
		if err != nil {
			return nil, err
		}
		return p.reference(name)
	case p.Takes(":"):
		return p.closed()
	case p.Takes(">"):
		n, err := p.closed()
		return backtrack.Atomic{Body: n}, err
	case p.Takes("#"):
		_, err := p.until(')')
		return nil, err
	case p.Takes("="):
		return p.look(false, false)
	case p.Takes("!"):
		return p.look(false, true)
	case p.Takes("<="):
		return p.look(true, false)
	case p.Takes("<!"):
		return p.look(true, true)
	case p.Takes("("):
		return p.condition()
	}
	return p.scopedFlags()
}

// closed reads up to the closing bracket. Flags set inside end there.
func (p *parser) closed() (backtrack.Node, error) {
	before := p.flags
	n, err := p.alternation()
	if err == nil && !p.Takes(")") {
		err = errors.New("missing ), unterminated subpattern")
	}
	p.flags = before
	return n, err
}

func (p *parser) capture(name string) (backtrack.Node, error) {
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
	return backtrack.Group{Index: index, Body: n}, err
}

func (p *parser) look(behind, negative bool) (backtrack.Node, error) {
	n, err := p.closed()
	if err != nil {
		return nil, err
	}
	l := backtrack.Look{Body: n, Behind: behind, Negative: negative}
	if behind {
		least, most := n.Width()
		if least != most {
			return nil, errors.New("look-behind requires fixed-width pattern")
		}
		l.Least, l.Most = least, least
	}
	return l, nil
}

func (p *parser) condition() (backtrack.Node, error) {
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
	branches, ok := body.(backtrack.Alternatives)
	switch {
	case !ok:
		return backtrack.Conditional{Index: index, Yes: body, No: backtrack.Sequence{}}, nil
	case len(branches) > 2:
		return nil, errors.New("conditional backref with more than two branches")
	}
	return backtrack.Conditional{Index: index, Yes: branches[0], No: branches[1]}, nil
}

// scopedFlags reads `(?i-s:…)`.
func (p *parser) scopedFlags() (backtrack.Node, error) {
	before := p.flags
	defer func() { p.flags = before }()
	on := true
	for p.At < len(p.Src) {
		c := p.Src[p.At]
		p.At++
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

func (p *parser) reference(name string) (backtrack.Node, error) {
	index, err := groupNumber(name, p.names, p.groups)
	if err != nil {
		return nil, err
	}
	if slices.Contains(p.open, index) {
		return nil, errors.New("cannot refer to an open group")
	}
	r := backtrack.Backreference{Index: index}
	if p.flags.fold {
		r.Again = againInAnyCase
	}
	return r, nil
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
