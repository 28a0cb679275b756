package expr

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

const (
	// MaxDepth is how deep calls may be nested, and how many may stand in a pipe. graphite-web's
	// own limit, Python's stack, is reached before.
	MaxDepth = 200
	// MaxTarget is how many bytes a target may have.
	MaxTarget = 1 << 20
)

// Parser reads targets. The zero value reads what graphite-web reads by default.
type Parser struct {
	// UTF8Metrics allows letters beyond ASCII in unquoted paths, as graphite-web's setting
	// UTF8_METRICS does. Without it such a letter ends the path.
	UTF8Metrics bool
}

// Parse reads a target: *Path, *Call, *Pipe or *Template. Text after it is ignored, as graphite-web
// does.
func (p Parser) Parse(target string) (Node, error) {
	n, _, err := p.parse(target)
	return n, err
}

// ParseWhole is Parse that refuses text after a target: what lacks a bracket is read as the path before it.
func (p Parser) ParseWhole(target string) (Node, error) {
	n, left, err := p.parse(target)
	if err == nil && left != "" {
		at := utf8.RuneCountInString(expandTabs(target)) - utf8.RuneCountInString(left) + 1
		return nil, fmt.Errorf("target %.80q: %.80q at character %d does not belong to it: is a bracket, a comma or a quote missing or too many?", target, left, at)
	}
	return n, err
}

// parse returns a target, and the text after it.
func (p Parser) parse(target string) (n Node, left string, err error) {
	s := &scanner{text: expandTabs(target), utf8: p.UTF8Metrics, memo: map[int]parsed{}}
	n, end, err := s.target(target)
	if err != nil {
		return nil, "", err
	}
	return n, s.text[s.space(end):], nil
}

func (s *scanner) target(target string) (n Node, end int, err error) {
	if len(target) > MaxTarget {
		return nil, 0, fmt.Errorf("target %.80q: longer than %d bytes", target, MaxTarget)
	}
	n, end, ok := s.expression(0)
	if s.tooDeep {
		return nil, 0, fmt.Errorf("target %.80q: calls nested deeper than %d", target, MaxDepth)
	}
	if s.tooLong {
		return nil, 0, fmt.Errorf("target %.80q: a pipe of more than %d calls", target, MaxDepth)
	}
	if !ok {
		return nil, 0, fmt.Errorf("target %.80q: %w", target, errNotATarget)
	}
	return n, end, nil
}

var errNotATarget = errors.New("expected a path, a function call or a template")

// parsed is what a rule found at a position: a node and the position after it.
type parsed struct {
	node Node
	end  int
	ok   bool
}

// expression is `(template | call | path) {"|" call}`. It is remembered by position: call and
// template begin alike, and keyword arguments are tried where positional ones stand, so that
// without memory the time doubles at each level.
func (s *scanner) expression(at int) (Node, int, bool) {
	if m, ok := s.memo[at]; ok {
		return m.node, m.end, m.ok
	}
	if s.depth++; s.depth > MaxDepth {
		s.tooDeep = true
	}
	var m parsed
	if !s.tooDeep {
		m.node, m.end, m.ok = s.piped(at)
	}
	s.depth--
	s.memo[at] = m
	return m.node, m.end, m.ok
}

func (s *scanner) piped(at int) (Node, int, bool) {
	base, end, ok := s.operand(at)
	if !ok {
		return nil, at, false
	}
	var calls []*Call
	for {
		next, ok := s.literal(end, '|')
		if !ok {
			break
		}
		c, next, ok := s.call(next)
		if !ok {
			break
		}
		if calls, end = append(calls, c), next; len(calls) > MaxDepth {
			s.tooLong = true
			return nil, at, false
		}
	}
	if calls == nil {
		return base, end, true
	}
	return &Pipe{Base: base, Calls: calls}, end, true
}

func (s *scanner) operand(at int) (Node, int, bool) {
	if t, end, ok := s.template(at); ok {
		return t, end, true
	}
	if c, end, ok := s.call(at); ok {
		return c, end, true
	}
	return s.path(at)
}

// template is `template(call or path [, literals])`; anything else that begins so is an ordinary
// call.
func (s *scanner) template(at int) (Node, int, bool) {
	end, ok := s.word(at, "template")
	if !ok {
		return nil, at, false
	}
	if end, ok = s.literal(end, '('); !ok {
		return nil, at, false
	}
	t := &Template{}
	c, next, ok := s.call(end)
	if ok {
		t.Body = c
	} else if t.Body, next, ok = s.path(end); !ok {
		return nil, at, false
	}
	next = s.templateArguments(next, t)
	if end, ok = s.literal(next, ')'); !ok {
		return nil, at, false
	}
	return t, end, true
}

// templateArguments reads `, literals` or `, keyword literals`, never both; nothing is fine too.
func (s *scanner) templateArguments(at int, t *Template) int {
	next, ok := s.literal(at, ',')
	if !ok {
		return at
	}
	if args, end := s.arguments(next, s.literalArgument); args != nil {
		t.Args = args
		return end
	}
	if kwargs, end := s.keywords(next, s.literalArgument); kwargs != nil {
		t.Kwargs = kwargs
		return end
	}
	return at
}

// call is `name([arguments [, keyword arguments]])`.
func (s *scanner) call(at int) (*Call, int, bool) {
	start := s.space(at)
	name, end, ok := s.name(start)
	if !ok {
		return nil, at, false
	}
	if end, ok = s.literal(end, '('); !ok {
		return nil, at, false
	}
	c := &Call{Name: name}
	if args, next := s.arguments(end, s.argument); args != nil {
		c.Args, end = args, next
		if next, ok := s.literal(end, ','); ok {
			if kwargs, next := s.keywords(next, s.argument); kwargs != nil {
				c.Kwargs, end = kwargs, next
			}
		}
	}
	if end, ok = s.literal(end, ')'); !ok {
		return nil, at, false
	}
	c.Raw = s.text[start:end]
	return c, end, true
}

type argumentRule func(at int) (Node, int, bool)

// arguments reads positional arguments up to the first that is a keyword argument; nil means there
// is none.
func (s *scanner) arguments(at int, rule argumentRule) ([]Node, int) {
	var args []Node
	next := at
	for {
		if _, _, ok := s.keyword(next, rule); ok {
			return args, at
		}
		n, end, ok := rule(next)
		if !ok {
			return args, at
		}
		args, at = append(args, n), end
		if next, ok = s.literal(at, ','); !ok {
			return args, at
		}
	}
}

// keywords reads keyword arguments; nil means there is none.
func (s *scanner) keywords(at int, rule argumentRule) ([]Kwarg, int) {
	var kwargs []Kwarg
	next := at
	for {
		k, end, ok := s.keyword(next, rule)
		if !ok {
			return kwargs, at
		}
		kwargs, at = append(kwargs, k), end
		if next, ok = s.literal(at, ','); !ok {
			return kwargs, at
		}
	}
}

func (s *scanner) keyword(at int, rule argumentRule) (Kwarg, int, bool) {
	name, end, ok := s.name(s.space(at))
	if !ok {
		return Kwarg{}, at, false
	}
	if end, ok = s.literal(end, '='); !ok {
		return Kwarg{}, at, false
	}
	value, end, ok := rule(end)
	return Kwarg{Name: name, Value: value}, end, ok
}

// argument tries scalars before expressions, so `true`, `none` and `inf` are never paths here.
func (s *scanner) argument(at int) (Node, int, bool) {
	if n, end, ok := s.scalar(at); ok {
		return n, end, true
	}
	return s.expression(at)
}

func (s *scanner) scalar(at int) (Node, int, bool) {
	if end, ok := s.caseless(at, "TRUE"); ok {
		return Bool(true), end, true
	}
	if end, ok := s.caseless(at, "FALSE"); ok {
		return Bool(false), end, true
	}
	if n, end, ok := s.number(at); ok {
		return n, end, true
	}
	if end, ok := s.caseless(at, "NONE"); ok {
		return None{}, end, true
	}
	if n, end, ok := s.quoted(at); ok {
		return n, end, true
	}
	if end, ok := s.caseless(at, "INF"); ok {
		return Inf{}, end, true
	}
	return nil, at, false
}

func (s *scanner) literalArgument(at int) (Node, int, bool) {
	if n, end, ok := s.number(at); ok {
		return n, end, true
	}
	return s.quoted(at)
}
