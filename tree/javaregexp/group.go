package javaregexp

// group reads to the closing parenthesis; the opening one is consumed. Flags give nil.
func (p *parser) group() (expr, error) {
	begin := p.at - 1
	if !p.takes("?") {
		return p.capture(begin)
	}
	switch {
	case p.takes(":"):
		e, err := p.inner(begin)
		return group{0, e}, err
	case p.takes("="):
		return p.look(begin, false, false)
	case p.takes("!"):
		return p.look(begin, false, true)
	case p.takes("<="):
		return p.look(begin, true, false)
	case p.takes("<!"):
		return p.look(begin, true, true)
	case p.takes(">"):
		e, err := p.inner(begin)
		return atomic{e}, err
	case p.takes("<"):
		return p.named(begin)
	}
	return p.setFlags(begin)
}

// inner reads what is in a group.
func (p *parser) inner(begin int) (expr, error) {
	e, err := p.alternation()
	if err != nil {
		return nil, err
	}
	if !p.takes(")") {
		p.at = begin
		return nil, p.refuse("group without a closing parenthesis")
	}
	return e, nil
}

func (p *parser) capture(begin int) (expr, error) {
	index := p.groups
	p.groups++
	e, err := p.inner(begin)
	return group{index, e}, err
}

func (p *parser) look(begin int, behind, negative bool) (expr, error) {
	e, err := p.inner(begin)
	if err != nil {
		return nil, err
	}
	if behind && e.study(study{}).unbounded {
		p.at = begin
		return nil, p.refuse("look-behind without an obvious maximum length")
	}
	return look{body: e, behind: behind, negative: negative}, nil
}

func (p *parser) named(begin int) (expr, error) {
	name, err := p.groupName()
	if err != nil {
		return nil, err
	}
	if _, twice := p.names[name]; twice {
		return nil, p.refuse("the group <%.30s> is defined already", name)
	}
	p.names[name] = p.groups
	return p.capture(begin)
}

// groupName reads the name of a group and the bracket that ends it.
func (p *parser) groupName() (string, error) {
	begin := p.at
	for ; p.at < len(p.src) && p.src[p.at] != '>'; p.at++ {
		if c := p.src[p.at]; !isASCIILetter(c) && (p.at == begin || c < '0' || c > '9') {
			return "", p.refuse("%q in the name of a group", c)
		}
	}
	if p.at >= len(p.src) || p.at == begin {
		return "", p.refuse("the name of a group is missing")
	}
	p.at++
	return string(p.src[begin : p.at-1]), nil
}

// setFlags reads flags: for the group that they begin, or for the rest of the group around them.
func (p *parser) setFlags(begin int) (expr, error) {
	flags, on := p.flags, true
	for ; p.at < len(p.src); p.at++ {
		switch c := p.src[p.at]; c {
		case ')':
			p.at++
			p.flags = flags
			return nil, nil //nolint:nilnil // flags are no expression
		case ':':
			p.at++
			outer := p.flags
			p.flags = flags
			e, err := p.inner(begin)
			p.flags = outer
			return group{0, e}, err
		case '-':
			if !on {
				return nil, p.refuse("flag %q is not supported", c)
			}
			on = false
		default:
			if !flags.set(c, on) {
				return nil, p.refuse("flag %q is not supported", c)
			}
		}
	}
	return nil, p.refuse("group without a closing parenthesis")
}

// set sets a flag. It reports whether there is such a flag.
func (f *flagSet) set(c rune, on bool) bool {
	switch c {
	case 'i':
		f.fold = on
	case 'u':
		f.unicode = on
	case 's':
		f.dotAll = on
	case 'd':
		f.unixLines = on
	case 'm':
		f.multiline = on
	case 'x':
		f.comments = on
	case 'U':
		f.classes, f.unicode = on, on || f.unicode
	default:
		return false
	}
	return true
}
