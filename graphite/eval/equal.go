package eval

import (
	"maps"
	"strconv"
	"strings"

	"github.com/tsdbridge/tsdbridge/graphite/expr"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// computed are the series of targets, by targetKey.
type computed map[string][]*series.Series

// Varies reports whether equal targets have other values each time, by the text of one.
func Varies(target string) bool { return strings.Contains(target, "randomWalk") }

// targetOnce computes a target, or copies the series of an equal one before it. Targets are not
// equal that draw other values each time, or that one between them has changed something for.
func (s *scope) targetOnce(n expr.Node, before computed) ([]*series.Series, error) {
	key := targetKey(n)
	if list, ok := before[key]; ok {
		return s.copies(list)
	}
	xff := s.XFilesFactor
	list, err := s.target(n)
	switch {
	case s.XFilesFactor != xff || len(s.Stacks) > 0:
		clear(before)
	case err == nil && !Varies(key):
		before[key] = list
	}
	return list, err
}

// targetKey returns all that the series of a target depend on, with the blanks of calls, which are a part
// of names.
func targetKey(n expr.Node) string {
	switch n := n.(type) {
	case *expr.Call:
		return "call " + n.Raw
	case *expr.Pipe:
		key := strconv.AppendQuote([]byte("pipe "), targetKey(n.Base))
		for _, c := range n.Calls {
			key = strconv.AppendQuote(key, c.Raw)
		}
		return string(key)
	case *expr.Template:
		return n.String() + targetKey(n.Body)
	}
	return n.String()
}

// copies returns series of their own, which share values.
func (s *scope) copies(list []*series.Series) ([]*series.Series, error) {
	if err := s.Account.Take(int64(len(list)) * series.Bytes); err != nil {
		return nil, err
	}
	out, of := make([]*series.Series, len(list)), make(map[*series.Series]*series.Series, len(list))
	for i, one := range list {
		if of[one] == nil {
			own := *one
			own.Tags, own.Options = maps.Clone(one.Tags), maps.Clone(one.Options)
			of[one] = &own
		}
		out[i] = of[one]
	}
	return out, nil
}
