package javaregexp

// group reads to the closing parenthesis; the opening one is consumed. Flags give nil.
func (p *parser) group() (expr, error) {
	begin := p.At - 1
	if !p.Takes("?") {
		return p.capture(begin)
	}
	switch {
	case p.Takes(":"):
		e, err := p.inner(begin)
		return group{0, e}, err
	case p.Takes("="):
		return p.look(begin, false, false)
	case p.Takes("!"):
		return p.look(begin, false, true)
	case p.Takes("<="):
		return p.look(begin, true, false)
	case p.Takes("<!"):
		return p.look(begin, true, true)
	case p.Takes(">"):
		e, err := p.inner(begin)
		return atomic{e}, err
	case p.Takes("<"):
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
	if !p.Takes(")") {
		p.At = begin
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
		p.At = begin
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
	begin := p.At
	for ; p.At < len(p.Src) && p.Src[p.At] != '>'; p.At++ {
		if c := p.Src[p.At]; !isASCIILetter(c) && (p.At == begin || c < '0' || c > '9') {
			return "", p.refuse("%q in the name of a group", c)
		}
	}
	if p.At >= len(p.Src) || p.At == begin {
		return "", p.refuse("the name of a group is missing")
	}
	p.At++
	return string(p.Src[begin : p.At-1]), nil
}

// setFlags reads flags: for the group that they begin, or for the rest of the group around them.
func (p *parser) setFlags(begin int) (expr, error) {
	flags, on := p.flags, true
	for ; p.At < len(p.Src); p.At++ {
		switch c := p.Src[p.At]; c {
		case ')':
			p.At++
			p.flags = flags
			return nil, nil //nolint:nilnil // flags are no expression
		case ':':
			p.At++
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
