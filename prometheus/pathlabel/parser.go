package pathlabel

import (
	"errors"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// Parser returns a parser that refuses matchers of paths that cannot be.
func Parser(p parser.Parser) parser.Parser { return checked{p} }

type checked struct{ parser.Parser }

// ParseExpr implements parser.Parser.
func (c checked) ParseExpr(text string) (parser.Expr, error) {
	expr, err := c.Parser.ParseExpr(text)
	if err != nil {
		return nil, err
	}
	return expr, each(expr, func(s *parser.VectorSelector, _ bool) error { return Check(s.LabelMatchers) })
}

// ParseMetricSelector implements parser.Parser.
func (c checked) ParseMetricSelector(text string) ([]*labels.Matcher, error) {
	matchers, err := c.Parser.ParseMetricSelector(text)
	if err != nil {
		return nil, err
	}
	return matchers, Check(matchers)
}

// ParseMetricSelectors implements parser.Parser.
func (c checked) ParseMetricSelectors(texts []string) ([][]*labels.Matcher, error) {
	all, err := c.Parser.ParseMetricSelectors(texts)
	for _, matchers := range all {
		err = errors.Join(err, Check(matchers))
	}
	return all, err
}

// Evaluated returns a parser for an evaluator: absent() does not give the label to its answer.
func Evaluated(p parser.Parser) parser.Parser { return evaluated{Parser(p)} }

type evaluated struct{ parser.Parser }

// ParseExpr implements parser.Parser.
func (e evaluated) ParseExpr(text string) (parser.Expr, error) {
	expr, err := e.Parser.ParseExpr(text)
	if err != nil {
		return nil, err
	}
	return expr, each(expr, func(s *parser.VectorSelector, absent bool) error {
		if absent {
			s.LabelMatchers = twice(s.LabelMatchers)
		}
		return nil
	})
}

// twice adds each matcher of paths once more. absent() answers with labels that one matcher asks
// for, and with none that several ask for.
func twice(matchers []*labels.Matcher) []*labels.Matcher {
	all := slices.Clip(matchers)
	for _, m := range matchers {
		if isPath(m) {
			all = append(all, m)
		}
	}
	return all
}

// each visits the selectors of an expression. absent tells which ones are those of absent() and
// absent_over_time().
func each(expr parser.Expr, visit func(s *parser.VectorSelector, absent bool) error) error {
	var failed error
	parser.Inspect(expr, func(n parser.Node, path []parser.Node) error {
		if s, ok := n.(*parser.VectorSelector); ok && failed == nil {
			failed = visit(s, inAbsent(path))
		}
		return failed
	})
	return failed
}

func inAbsent(path []parser.Node) bool {
	for _, n := range slices.Backward(path) {
		switch n := n.(type) {
		case *parser.MatrixSelector, *parser.ParenExpr, parser.Expressions:
			continue
		case *parser.Call:
			return n.Func.Name == "absent" || n.Func.Name == "absent_over_time"
		}
		return false
	}
	return false
}

// ParseLabels reads a selector of PromQL where the labels of series alone decide: one that asks for paths is refused.
func ParseLabels(text string) ([]*labels.Matcher, error) {
	matchers, err := parser.NewParser(parser.Options{}).ParseMetricSelector(text)
	if err != nil {
		return nil, err
	}
	if Has(matchers) {
		return nil, errors.New(Name + " is for queries: here the labels of series decide")
	}
	return matchers, nil
}
