package api

import (
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/graphite/exchange"
	"github.com/tsdbridge/tsdbridge/graphite/formats"
	"github.com/tsdbridge/tsdbridge/graphite/pyjson"
	"github.com/tsdbridge/tsdbridge/graphite/python"
)

// The formats of find, as graphite-web's metrics/views.py makes them. Nodes come in the order of
// their names.

// treeJSON returns what browsers of trees ask for: each name once, branches first. The name of a
// leaf that is also a branch is the branch's, as that can be opened.
func (s *search) treeJSON(nodes []findNode) (func(*pyjson.Writer), error) {
	var branches, leaves []findNode
	for i, n := range nodes {
		switch {
		case i > 0 && nodes[i-1].name == n.name:
		case n.leaf:
			leaves = append(leaves, n)
		default:
			branches = append(branches, n)
		}
	}
	return func(j *pyjson.Writer) {
		j.Open('[')
		if s.wildcards && len(nodes) > 1 {
			s.writeNode(j, "*", len(branches) == 0)
		}
		for _, n := range branches {
			s.writeNode(j, n.name, false)
		}
		for _, n := range leaves {
			s.writeNode(j, n.name, true)
		}
		j.Shut(']')
	}, nil
}

func (s *search) writeNode(j *pyjson.Writer, name string, leaf bool) {
	isLeaf, isBranch := int64(0), int64(1)
	if leaf {
		isLeaf, isBranch = 1, 0
	}
	j.Open('{')
	j.Key("text")
	j.String(exchange.UnquotePlus(name))
	j.Key("id")
	j.String(s.base + name)
	j.Key("allowChildren")
	j.Int(isBranch)
	j.Key("expandable")
	j.Int(isBranch)
	j.Key("leaf")
	j.Int(isLeaf)
	j.Shut('}')
}

// completer is for an input field: paths of branches end in a dot.
func (s *search) completer(nodes []findNode) (func(*pyjson.Writer), error) {
	return func(j *pyjson.Writer) {
		j.Open('{')
		j.Key("metrics")
		j.Open('[')
		for _, n := range nodes {
			path, leaf := n.path, "1"
			if !n.leaf {
				path, leaf = path+".", "0"
			}
			j.Value(pyjson.Object{{Key: "path", Value: path}, {Key: "name", Value: n.name}, {Key: "is_leaf", Value: leaf}})
		}
		if s.wildcards && len(nodes) > 1 {
			j.Value(pyjson.Object{{Key: "name", Value: "*"}})
		}
		j.Shut(']')
		j.Shut('}')
	}, nil
}

// nodeList returns the names at one place of the paths; a negative place is counted from the end.
func (s *search) nodeList(nodes []findNode) (func(*pyjson.Writer), error) {
	seen := map[string]bool{}
	var names []string
	for _, n := range nodes {
		elements := strings.Split(n.path, ".")
		at := s.position
		if at < 0 {
			at += len(elements)
		}
		if at < 0 || at >= len(elements) {
			return nil, exchange.InvalidParams("position %d is not in the path %s", s.position, python.Excerpt(n.path, 200))
		}
		if !seen[elements[at]] {
			seen[elements[at]] = true
			names = append(names, elements[at])
		}
	}
	slices.Sort(names)
	return func(j *pyjson.Writer) { j.Value(pyjson.Object{{Key: "nodes", Value: names}}) }, nil
}

// plainJSON has both nodes of a path that is a leaf and a branch. Leaves are said to have points at
// all times that a row can have: graphite-web hands an infinity on as JSON that nobody reads.
func (s *search) plainJSON(nodes []findNode) (func(*pyjson.Writer), error) {
	slices.SortStableFunc(nodes, func(a, b findNode) int { return strings.Compare(a.path, b.path) })
	return func(j *pyjson.Writer) {
		pyjson.Array(j, nodes, func(n findNode) {
			node := pyjson.Object{{Key: "path", Value: n.path}, {Key: "is_leaf", Value: n.leaf}}
			if n.leaf {
				always := []pyjson.Object{{{Key: "start", Value: 0}, {Key: "end", Value: mostSeconds}}}
				node = append(node, pyjson.Member{Key: "intervals", Value: always})
			}
			j.Value(node)
		})
	}, nil
}

// pickled is the list that graphite-web's servers ask each other for, as a pickle of protocol 2.
func pickled(nodes []findNode) (func(*pyjson.Writer), error) {
	return func(j *pyjson.Writer) {
		j.Buf = append(j.Buf, 0x80, 2)
		writeNodes(j, formats.Pickle(), nodes)
		j.Buf = append(j.Buf, '.')
	}, nil
}

// packed is the same list in MessagePack.
func packed(nodes []findNode) (func(*pyjson.Writer), error) {
	return func(j *pyjson.Writer) { writeNodes(j, formats.Msgpack(), nodes) }, nil
}

// writeNodes writes nodes. Leaves are said to have points at all times.
func writeNodes(j *pyjson.Writer, e formats.Encoder, nodes []findNode) {
	e.List(j, len(nodes))
	for _, n := range nodes {
		members := 2
		if n.leaf {
			members++
		}
		e.Object(j, members)
		e.Text(j, "path")
		e.Text(j, n.path)
		e.Text(j, "is_leaf")
		e.Bool(j, n.leaf)
		if n.leaf {
			e.Text(j, "intervals")
			e.List(j, 1)
			e.List(j, 2)
			e.Float(j, 0)
			e.Float(j, mostSeconds)
			e.EndList(j, 2)
			e.EndList(j, 1)
		}
		e.EndObject(j)
		j.Spill()
	}
	e.EndList(j, len(nodes))
}
