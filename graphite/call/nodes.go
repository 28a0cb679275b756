package call

import (
	"strings"

	"github.com/tsdbridge/tsdbridge/graphite/expr"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// NodeKey joins nodes of a series' name and values of its tags: what aliasByNode and the groupBy
// functions go by. A number is a node of the name without tags, or of the first path in it when the
// name is a call; all else is a tag, and so is a number beyond the name's nodes.
func (c *Call) NodeKey(s *series.Series, nodes []any) string {
	path := s.Name
	if strings.HasSuffix(path, ")") {
		if p, ok := c.firstPath(path); ok {
			path = p
		}
	} else if path == "" {
		c.Fail(python.Crash("a series has no name"))
	}
	path, _, _ = strings.Cut(path, ";")
	parts := strings.Split(path, ".")
	keys := make([]string, len(nodes))
	c.Tick(100 + len(parts) + len(nodes)) // A name costs as much as many values.
	for i, n := range nodes {
		keys[i] = c.nodeOrTag(s, parts, n)
	}
	return c.Key(keys, ".")
}

func (c *Call) nodeOrTag(s *series.Series, parts []string, n any) string {
	switch v := n.(type) {
	case int64:
		if node, ok := python.Item(parts, v); ok {
			return node
		}
	case bool:
		if node, ok := python.Item(parts, int64(python.OfBool(v))); ok {
			return node
		}
	case string:
	case float64:
		if v == float64(int64(v)) {
			c.Fail(python.Crash("a node must be an integer"))
		}
	default:
		c.Fail(python.Crash("%s is neither a node nor a tag", python.Text(n)))
	}
	return s.Tags[python.Text(n)]
}

// firstPath finds the first path expression in a name that is a call.
func (c *Call) firstPath(name string) (string, bool) {
	n, err := c.parse(name)
	if err != nil {
		c.Fail(err)
		return "", false
	}
	for {
		switch v := n.(type) {
		case *expr.Path:
			return v.Text, true
		case *expr.Pipe:
			n = v.Base
		case *expr.Call:
			if len(v.Args) == 0 {
				c.Fail(python.Crash("%s has no path", name))
				return "", false
			}
			n = v.Args[0]
		default:
			return "", false
		}
	}
}
