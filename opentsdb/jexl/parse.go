package jexl

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// MaxLength bounds the text of an expression in bytes, and maxDepth how deep it is nested.
const (
	MaxLength = 16 << 10
	maxDepth  = 200
)

// A Script is a parsed expression, or several with semicolons between them: the last one counts. It
// may be evaluated by several goroutines at once.
type Script struct {
	text       string
	statements []node
	variables  []string
}

// Parse reads an expression. Errors are SyntaxErrors and UnsupportedErrors.
func Parse(text string) (*Script, error) {
	if len(text) > MaxLength {
		return nil, UnsupportedError{text, fmt.Sprintf("A text of more than %d bytes", MaxLength)}
	}
	tokens, err := scan(text)
	if err != nil {
		return nil, err
	}
	p := &parser{script: &Script{text: text}, tokens: tokens, levels: precedences(), known: map[string]int{}}
	return p.script, p.parse()
}

// Text returns what was parsed, without blanks around it.
func (s *Script) Text() string { return strings.TrimSpace(s.text) }

// Variables returns the names of the variables, in the order in which they appear first.
func (s *Script) Variables() []string { return s.variables }

type parser struct {
	script *Script
	tokens []token
	levels []level
	known  map[string]int // the variables
	depth  int
}

func (p *parser) peek() token { return p.tokens[0] }

// next goes to the next token. The one at the end stays.
func (p *parser) next() {
	if p.tokens[0].kind != end {
		p.tokens = p.tokens[1:]
	}
}

// is takes the token if it is one of some operators.
func (p *parser) is(signs ...string) (string, bool) {
	if t := p.peek(); t.kind == operator && slices.Contains(signs, t.text) {
		p.next()
		return t.text, true
	}
	return "", false
}

// unexpected returns what is wrong with the next token.
func (p *parser) unexpected() error {
	switch t := p.peek(); t.kind {
	case end:
		return SyntaxError{p.script.text, "it ends too early"}
	case foreign:
		return UnsupportedError{p.script.text, "'" + t.text + "'"}
	default:
		return SyntaxError{p.script.text, fmt.Sprintf("'%s' at position %d is unexpected", t.text, t.at)}
	}
}

func (p *parser) parse() error {
	for {
		for _, ok := p.is(";"); ok; _, ok = p.is(";") {
		}
		if p.peek().kind == end {
			return nil
		}
		n, err := p.expression()
		if err != nil {
			return err
		}
		p.script.statements = append(p.script.statements, n)
		if t := p.peek(); t.kind != end && t.text != ";" {
			return p.unexpected()
		}
	}
}

// expression reads a condition and what depends on it.
func (p *parser) expression() (node, error) {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxDepth {
		return nil, UnsupportedError{p.script.text, fmt.Sprintf("A depth of more than %d", maxDepth)}
	}
	condition, err := p.level(0)
	if err != nil {
		return nil, err
	}
	if _, ok := p.is("?:"); ok {
		otherwise, err := p.expression()
		return elvis{condition, otherwise}, err
	}
	if _, ok := p.is("?"); !ok {
		return condition, nil
	}
	then, err := p.expression()
	if err != nil {
		return nil, err
	}
	if _, ok := p.is(":"); !ok {
		return nil, p.unexpected()
	}
	otherwise, err := p.expression()
	return ternary{condition, then, otherwise}, err
}

// A level has the operators of a precedence. One that is single takes two operands only.
type level struct {
	signs  []string
	single bool
}

// precedences returns the levels, the loosest first.
func precedences() []level {
	return []level{
		{[]string{"||"}, false},
		{[]string{"&&"}, false},
		{[]string{"|"}, false},
		{[]string{"^"}, false},
		{[]string{"&"}, false},
		{[]string{"==", "!="}, true},
		{[]string{"<", ">", "<=", ">="}, true},
		{[]string{"+", "-"}, false},
		{[]string{"*", "/", "%"}, false},
	}
}

// level reads operands with the operators of a precedence between them.
func (p *parser) level(i int) (node, error) {
	if i == len(p.levels) {
		return p.unary()
	}
	l := p.levels[i]
	first, err := p.level(i + 1)
	if err != nil {
		return nil, err
	}
	c, operands := chain{first: first}, []node{first}
	for sign, ok := p.is(l.signs...); ok; sign, ok = p.is(l.signs...) {
		n, err := p.level(i + 1)
		if err != nil {
			return nil, err
		}
		c.links, operands = append(c.links, link{operatorOf(sign), n}), append(operands, n)
		if l.single {
			break
		}
	}
	if len(c.links) == 0 {
		return first, nil
	}
	return folded(c, operands...), nil
}

// unary reads an operand with the operators before it.
func (p *parser) unary() (node, error) {
	sign, ok := p.is("-", "~", "!")
	if !ok {
		return p.operand()
	}
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxDepth {
		return nil, UnsupportedError{p.script.text, fmt.Sprintf("A depth of more than %d", maxDepth)}
	}
	n, err := p.unary()
	if l, isLiteral := n.(literal); sign == "-" && isLiteral && l.number {
		return l.negated(), err
	}
	if err != nil {
		return nil, err
	}
	return folded(prefix{sign[0], n}, n), nil
}

func (p *parser) operand() (node, error) {
	if _, ok := p.is("("); ok {
		n, err := p.expression()
		if err != nil {
			return nil, err
		}
		if _, ok := p.is(")"); !ok {
			return nil, p.unexpected()
		}
		if l, ok := n.(literal); ok {
			l.number = false // a sign before it does not belong to it
			n = l
		}
		return n, p.noAccess("[", ".")
	}
	switch t := p.peek(); {
	case t.kind == integer:
		p.next()
		return natural(t.text)
	case t.kind == float:
		p.next()
		return fractional(t.text), nil
	case t.kind == name:
		p.next()
		return p.variable(t.text), p.noAccess("[", ".", "(")
	case t.kind != operator:
	case t.text == "null":
		p.next()
		return literal{value: Value{kind: Null}}, nil
	case t.text == "true", t.text == "false":
		p.next()
		return literal{value: boolean(t.text == "true")}, nil
	}
	return nil, p.unexpected()
}

// noAccess refuses calls, elements and properties of what was read.
func (p *parser) noAccess(signs ...string) error {
	if t := p.peek(); (t.kind == foreign || t.text == "(") && slices.Contains(signs, t.text) {
		return UnsupportedError{p.script.text, fmt.Sprintf("'%s' at position %d", t.text, t.at)}
	}
	return nil
}

func (p *parser) variable(name string) node {
	i, known := p.known[name]
	if !known {
		i = len(p.script.variables)
		p.known[name], p.script.variables = i, append(p.script.variables, name)
	}
	return variable(i)
}

// natural reads a whole number: an Integer if it fits, else a Long, else a BigInteger. A letter behind
// it makes it a Long or a BigInteger.
func natural(text string) (node, error) {
	s, base := text, 10
	switch {
	case len(s) > 1 && s[0] == '0' && s[1]|0x20 == 'x':
		s, base = s[2:], 16
	case s[0] == '0':
		base = 8
	}
	suffix := s[len(s)-1] | 0x20
	if suffix == 'l' || suffix == 'h' {
		s = s[:len(s)-1]
	}
	n, ok := new(big.Int).SetString(s, base)
	switch {
	case !ok || suffix == 'l' && !n.IsInt64():
		return nil, SyntaxError{text, "it is no number"}
	case suffix == 'l':
		return literal{value: Value{kind: Long, i: n.Int64()}, number: true}, nil
	case suffix == 'h':
		return literal{value: Value{kind: Big, big: n}, number: true}, nil
	}
	return literal{value: narrowed(n, Int), number: true, integer: true}, nil
}

// fractional reads a number with a fraction. Without a d behind it it has the precision of 32 bits, as with JEXL.
func fractional(text string) node {
	s := strings.TrimRight(text, "dDfF")
	if text[len(text)-1]|0x20 == 'd' {
		v, _ := strconv.ParseFloat(s, 64) // what is too great is infinite
		return literal{value: double(v), number: true}
	}
	v, _ := strconv.ParseFloat(s, 32)
	return literal{value: single(v), number: true}
}
