// Package expr reads Graphite targets: text in, syntax tree out. It accepts exactly what
// graphite-web 1.1.10 accepts (render/grammar_unsafe.py), its oddities included: text after a
// complete target is ignored, and what looks like a call but is not one is read as the path before
// the bracket. It knows no function, fetches nothing and never fails on what a call means: package
// eval does that. Regexp is Python's re, which targets are written for.
package expr

import (
	"math"
	"strconv"
	"strings"
)

// Node is a part of a target: *Path, *Call, *Pipe, *Template or a scalar (Int, Float, String, Bool,
// None, Inf).
type Node interface {
	// String writes the node as an s-expression, for tests and for people who debug a target.
	String() string
}

// Path is a path expression with its escapes resolved: `a.\{b` is the path `a.{b`, as graphite-web
// has it.
type Path struct{ Text string }

// Call is a function call. Raw is its text as written, from the name to the closing bracket.
type Call struct {
	Name   string
	Args   []Node
	Kwargs []Kwarg
	Raw    string
}

// Kwarg is a keyword argument.
type Kwarg struct {
	Name  string
	Value Node
}

// Pipe is `base|f(1)|g()`, which means g(f(base, 1)). Calls has at least one member.
type Pipe struct {
	Base  Node
	Calls []*Call
}

// Template is `template(body, args)`. Body is a *Path or a *Call; arguments are strings and
// numbers, either all positional (named 1, 2, …) or all keyword.
type Template struct {
	Body   Node
	Args   []Node
	Kwargs []Kwarg
}

// The scalars.
type (
	// Int is a number without point and exponent.
	Int int64
	// Float is any other number, and an integer beyond 64 bits.
	Float float64
	// String is a quoted string without its quotes; backslashes stay as written.
	String string
	// Bool is true or false, in any case.
	Bool bool
	// None is Python's None.
	None struct{}
	// Inf is infinity.
	Inf struct{}
)

func (p *Path) String() string  { return "(path " + p.Text + ")" }
func (c *Call) String() string  { return "(call " + c.Name + list(c.Args, c.Kwargs) + ")" }
func (n Int) String() string    { return strconv.FormatInt(int64(n), 10) }
func (s String) String() string { return "(string " + string(s) + ")" }
func (b Bool) String() string   { return strconv.FormatBool(bool(b)) }
func (None) String() string     { return "none" }
func (Inf) String() string      { return "inf" }
func (t *Template) String() string {
	return "(template " + t.Body.String() + list(t.Args, t.Kwargs) + ")"
}

func (n Float) String() string {
	if n == Float(math.Trunc(float64(n))) && math.Abs(float64(n)) < 1e15 {
		return strconv.FormatFloat(float64(n), 'f', 1, 64)
	}
	return strconv.FormatFloat(float64(n), 'g', -1, 64)
}

func (p *Pipe) String() string {
	var b strings.Builder
	b.WriteString("(pipe " + p.Base.String())
	for _, c := range p.Calls {
		b.WriteString(" " + c.String())
	}
	b.WriteString(")")
	return b.String()
}

func list(args []Node, kwargs []Kwarg) string {
	var b strings.Builder
	for _, a := range args {
		b.WriteString(" " + a.String())
	}
	for _, k := range kwargs {
		b.WriteString(" " + k.Name + "=" + k.Value.String())
	}
	return b.String()
}
