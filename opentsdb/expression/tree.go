package expression

import (
	"fmt"
	"strings"

	"github.com/tsdbridge/tsdbridge/opentsdb/query"
)

// MaxLength bounds the text of an expression of /api/query/gexp in bytes, and maxDepth how deep its
// functions are nested.
const (
	MaxLength = 16 << 10
	maxDepth  = 100
)

// A Tree is an expression of /api/query/gexp: a function of series and parameters.
type Tree struct {
	name       string
	call       function
	params     []string
	arguments  []argument
	misordered bool // parameters stand before series
}

// An argument is a function's result, or the series of a sub query.
type argument struct {
	tree  *Tree
	query int // the index of the sub query
	text  string
}

// ParseTrees reads expressions. queries are the metrics that they need, in the form of m. Errors are
// SyntaxErrors.
func ParseTrees(texts []string) (trees []*Tree, queries []string, err error) {
	for _, text := range texts {
		if len(text) > MaxLength {
			return nil, nil, unread(fmt.Errorf("Expressions have at most %d bytes", MaxLength))
		}
		p := &treeParser{text: text, queries: &queries}
		t, err := p.tree(0)
		if err != nil {
			return nil, nil, unread(err)
		}
		trees = append(trees, t)
	}
	return trees, queries, nil
}

// A treeParser reads one expression. What stands behind its last parenthesis is ignored, as by a TSD.
type treeParser struct {
	text    string
	at      int
	queries *[]string
}

// maxParameters bounds the parameters of a function.
const maxParameters = 1000

// tree reads function(parameter, …).
func (p *treeParser) tree(depth int) (*Tree, error) {
	if depth == maxDepth {
		return nil, fmt.Errorf("Functions are nested in each other to a depth of %d at most", maxDepth)
	}
	name, ok := p.name()
	if !ok {
		return nil, p.failed()
	}
	t := &Tree{name: name}
	if t.call, ok = functions()[name]; !ok {
		return nil, fmt.Errorf("Function %s has not been implemented", name)
	}
	if !p.sign('(') {
		return nil, p.failed()
	}
	for n := 0; ; n++ {
		if n == maxParameters {
			return nil, fmt.Errorf("Function %s has more than %d parameters", name, maxParameters)
		}
		if err := p.parameter(t, depth); err != nil {
			return nil, err
		}
		if p.sign(',') {
			continue
		}
		if p.sign(')') {
			return t, nil
		}
		return nil, p.failed()
	}
}

// parameter reads a function, a metric or the parameter of a function.
func (p *treeParser) parameter(t *Tree, depth int) error {
	from := p.at
	name, ok := p.name()
	if !ok {
		return p.failed()
	}
	switch p.peek() {
	case '(':
		p.at = from
		inner, err := p.tree(depth + 1)
		if err != nil {
			return err
		}
		t.add(argument{tree: inner, text: inner.String()})
	case ':':
		metric, err := p.metric(name)
		if err != nil {
			return err
		}
		t.add(argument{query: len(*p.queries), text: metric})
		*p.queries = append(*p.queries, metric)
	default:
		t.params = append(t.params, name)
	}
	return nil
}

func (t *Tree) add(a argument) {
	t.misordered = t.misordered || len(t.params) > 0
	t.arguments = append(t.arguments, a)
}

// metric reads aggregator:[interval-function:][rate:]metric[{tag=value,…}] behind the aggregator.
func (p *treeParser) metric(aggregator string) (string, error) {
	const most = 3 // parts before the metric
	var b strings.Builder
	b.WriteString(aggregator)
	for n := 0; n < most && p.sign(':'); n++ {
		part, ok := p.name()
		if !ok {
			return "", p.failed()
		}
		b.WriteString(":" + part)
	}
	open := byte('{')
	for p.sign(open) {
		key, isKey := p.name()
		equals := p.sign('=')
		value, isValue := p.name()
		if !isKey || !equals || !isValue {
			return "", p.failed()
		}
		b.WriteString(string(open) + key + "=" + value)
		if open = ','; p.sign('}') {
			b.WriteByte('}')
			return b.String(), nil
		}
	}
	if open == ',' {
		return "", p.failed()
	}
	return b.String(), nil
}

// peek returns the next byte behind blanks, 0 at the end.
func (p *treeParser) peek() byte {
	for p.at < len(p.text) && strings.IndexByte(" \t\n\r", p.text[p.at]) >= 0 {
		p.at++
	}
	if p.at == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

func (p *treeParser) sign(c byte) bool {
	if p.peek() != c {
		return false
	}
	p.at++
	return true
}

// name reads letters, digits and some signs, or an asterisk alone.
func (p *treeParser) name() (string, bool) {
	if p.sign('*') {
		return "*", true
	}
	from := p.at
	for p.at < len(p.text) && isNameByte(p.text[p.at]) {
		p.at++
	}
	return p.text[from:p.at], p.at > from
}

func isNameByte(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || strings.IndexByte("-_#/$@|.'][", c) >= 0
}

func (p *treeParser) failed() error {
	const most = 1000
	return fmt.Errorf("Failed to parse %s", p.text[:min(most, len(p.text))])
}

// String returns the functions and metrics of a tree, as a TSD names it in errors.
func (t *Tree) String() string {
	inner := make([]string, 0, len(t.arguments))
	for _, a := range t.arguments {
		if a.tree != nil {
			inner = append(inner, a.text)
		}
	}
	for _, a := range t.arguments {
		if a.tree == nil {
			metric, _, _ := strings.Cut(a.text, "{")
			inner = append(inner, metric[strings.LastIndexByte(metric, ':')+1:])
		}
	}
	name, params := t.name, ""
	switch name {
	case "alias":
		params = strings.Join(append([]string{""}, t.params...), ",")
	case "shift", "timeShift":
		name = "timeshift"
	case "sum", "multiply", "divide":
		name += "Series"
	case "difference":
		name = "diffSeries"
	}
	return name + "(" + strings.Join(inner, ",") + params + ")"
}

// An Environment is what functions know of a request: its time, in milliseconds, whether it shows
// annotations, and what they may use.
type Environment struct {
	Start, End  int64
	Annotations bool
	Means
}

// Evaluate computes expressions. series are those of the sub queries, of which a TSD counts equal ones
// once: an expression with two equal metrics finds another one instead of its last one, or none.
func Evaluate(trees []*Tree, series [][]query.Series, e Environment) ([]query.Group, error) {
	var out []query.Group
	sets := make([][]line, len(series))
	for i, set := range series {
		for k := range set {
			sets[i] = append(sets[i], newLine(&set[k]))
		}
	}
	for _, t := range trees {
		lines, err := t.evaluate(sets, e)
		if err != nil {
			return nil, err
		}
		for _, l := range lines {
			if l.unnamed && !l.aliased {
				return nil, refused("Wrong id.length = 0 which is != 3 required for 'metrics'")
			}
			out = append(out, l.group(e))
		}
	}
	return out, nil
}

func (t *Tree) evaluate(sets [][]line, e Environment) ([]line, error) {
	if t.misordered {
		return nil, refused("Unknown parameter type: null in tree: %s", t)
	}
	arguments := make([][]line, len(t.arguments))
	for i, a := range t.arguments {
		if a.tree != nil {
			var err error
			if arguments[i], err = a.tree.evaluate(sets, e); err != nil {
				return nil, err
			}
			continue
		}
		if a.query >= len(sets) {
			return nil, refused("Index %d out of bounds for length %d", a.query, len(sets))
		}
		arguments[i] = sets[a.query]
	}
	if len(arguments) == 0 {
		return nil, nil
	}
	return t.call(call{arguments, t.params, e})
}
