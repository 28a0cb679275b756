package graphite

import (
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/graphite/python"
)

// The formats of find, as graphite-web's metrics/views.py makes them. Nodes come in the order of
// their names.

// treeJSON returns what browsers of trees ask for: each name once, branches first. The name of a
// leaf that is also a branch is the branch's, as that can be opened.
func (s *search) treeJSON(nodes []findNode) (func(*jsonWriter), error) {
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
	return func(j *jsonWriter) {
		j.open('[')
		if s.wildcards && len(nodes) > 1 {
			s.writeNode(j, "*", len(branches) == 0)
		}
		for _, n := range branches {
			s.writeNode(j, n.name, false)
		}
		for _, n := range leaves {
			s.writeNode(j, n.name, true)
		}
		j.shut(']')
	}, nil
}

func (s *search) writeNode(j *jsonWriter, name string, leaf bool) {
	isLeaf, isBranch := int64(0), int64(1)
	if leaf {
		isLeaf, isBranch = 1, 0
	}
	j.open('{')
	j.key("text")
	j.string(unquotePlus(name))
	j.key("id")
	j.string(s.base + name)
	j.key("allowChildren")
	j.int(isBranch)
	j.key("expandable")
	j.int(isBranch)
	j.key("leaf")
	j.int(isLeaf)
	j.shut('}')
}

// completer is for an input field: paths of branches end in a dot.
func (s *search) completer(nodes []findNode) (func(*jsonWriter), error) {
	return func(j *jsonWriter) {
		j.open('{')
		j.key("metrics")
		j.open('[')
		for _, n := range nodes {
			path, leaf := n.path, "1"
			if !n.leaf {
				path, leaf = path+".", "0"
			}
			j.value(object{{"path", path}, {"name", n.name}, {"is_leaf", leaf}})
		}
		if s.wildcards && len(nodes) > 1 {
			j.value(object{{"name", "*"}})
		}
		j.shut(']')
		j.shut('}')
	}, nil
}

// nodeList returns the names at one place of the paths; a negative place is counted from the end.
func (s *search) nodeList(nodes []findNode) (func(*jsonWriter), error) {
	seen := map[string]bool{}
	var names []string
	for _, n := range nodes {
		elements := strings.Split(n.path, ".")
		at := s.position
		if at < 0 {
			at += len(elements)
		}
		if at < 0 || at >= len(elements) {
			return nil, invalidParams("position %d is not in the path %s", s.position, python.Excerpt(n.path, 200))
		}
		if !seen[elements[at]] {
			seen[elements[at]] = true
			names = append(names, elements[at])
		}
	}
	slices.Sort(names)
	return func(j *jsonWriter) { j.value(object{{"nodes", names}}) }, nil
}

// plainJSON has both nodes of a path that is a leaf and a branch. Leaves are said to have points at
// all times that a row can have: graphite-web hands an infinity on as JSON that nobody reads.
func (s *search) plainJSON(nodes []findNode) (func(*jsonWriter), error) {
	slices.SortStableFunc(nodes, func(a, b findNode) int { return strings.Compare(a.path, b.path) })
	return func(j *jsonWriter) {
		array(j, nodes, func(n findNode) {
			node := object{{"path", n.path}, {"is_leaf", n.leaf}}
			if n.leaf {
				always := []object{{{"start", 0}, {"end", mostSeconds}}}
				node = append(node, member{"intervals", always})
			}
			j.value(node)
		})
	}, nil
}

// pickled is the list that graphite-web's servers ask each other for, as a pickle of protocol 2.
func pickled(nodes []findNode) (func(*jsonWriter), error) {
	return func(j *jsonWriter) {
		j.buf = append(j.buf, 0x80, 2)
		writeNodes(j, pickleEncoder{}, nodes)
		j.buf = append(j.buf, '.')
	}, nil
}

// packed is the same list in MessagePack.
func packed(nodes []findNode) (func(*jsonWriter), error) {
	return func(j *jsonWriter) { writeNodes(j, msgpackEncoder{}, nodes) }, nil
}

// writeNodes writes nodes. Leaves are said to have points at all times.
func writeNodes(j *jsonWriter, e infoEncoder, nodes []findNode) {
	e.list(j, len(nodes))
	for _, n := range nodes {
		members := 2
		if n.leaf {
			members++
		}
		e.object(j, members)
		e.text(j, "path")
		e.text(j, n.path)
		e.text(j, "is_leaf")
		e.bool(j, n.leaf)
		if n.leaf {
			e.text(j, "intervals")
			e.list(j, 1)
			e.list(j, 2)
			e.float(j, 0)
			e.float(j, mostSeconds)
			e.endList(j, 2)
			e.endList(j, 1)
		}
		e.endObject(j)
		j.spill()
	}
	e.endList(j, len(nodes))
}
