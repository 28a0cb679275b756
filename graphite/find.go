package graphite

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/translate"
	"github.com/tsdbridge/tsdbridge/tree"
)

// A findNode is a branch or a leaf that a pattern matches; a path that is both is two nodes.
type findNode struct {
	path, name string // name is the last element of path
	leaf       bool
}

// search is what a find request asks for.
type search struct {
	query     string
	base      string // of the query, wildcards and all, up to the last dot
	format    string
	wildcards bool
	leaves    bool
	position  int
}

// find answers /metrics/find.
func (a *api) find(r *request) (*reply, error) {
	if r.form.asksProtobuf() {
		return a.globs(r)
	}
	s, err := a.search(r.form)
	if err != nil {
		return nil, err
	}
	write, err := s.writer()
	if err != nil {
		return nil, err
	}
	nodes, err := a.lookUp(r.Context(), s.query)
	if err != nil {
		return nil, err
	}
	if s.leaves {
		nodes = slices.DeleteFunc(nodes, func(n findNode) bool { return !n.leaf })
	}
	// By name, branches before leaves of the same one.
	slices.SortStableFunc(nodes, func(a, b findNode) int {
		return cmp.Or(strings.Compare(a.name, b.name), compareLeaves(a.leaf, b.leaf))
	})
	body, err := write(nodes)
	if err != nil {
		return nil, err
	}
	out, err := r.metricsReply(body)
	if kind, ok := binaryTypes[s.format]; ok && err == nil {
		out.contentType, out.call = kind, ""
	}
	return out, err
}

// binaryTypes are the types of the formats that are not JSON.
var binaryTypes = map[string]string{"pickle": "application/pickle", "msgpack": "application/x-msgpack"}

func compareLeaves(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// search reads the parameters in the order of find_view in graphite-web's metrics/views.py.
func (a *api) search(f form) (*search, error) {
	s := &search{format: "treejson"}
	if f.has("format") {
		s.format = f.get("format")
	}
	leaves, err := f.integer("leavesOnly", 0)
	if err != nil {
		return nil, err
	}
	if _, err := f.integer("local", 0); err != nil {
		return nil, err
	}
	wildcards, err := f.integer("wildcards", 0)
	if err != nil {
		return nil, err
	}
	if err := a.checkTimes(f); err != nil {
		return nil, err
	}
	if s.position, err = f.integer("position", -1); err != nil {
		return nil, err
	}
	variants, err := f.integer("automatic_variants", 0)
	if err != nil {
		return nil, err
	}
	if !f.has("query") {
		return nil, invalidParams("Missing required parameter 'query'")
	}
	if s.query = f.get("query"); s.query == "" {
		return nil, invalidParams("Required parameter 'query' is empty")
	}
	s.base = s.query[:strings.LastIndexByte(s.query, '.')+1]
	s.leaves, s.wildcards = leaves != 0, wildcards != 0
	if s.format == "completer" {
		s.query = completerQuery(s.query, variants != 0)
	}
	return s, nil
}

// checkTimes refuses bad times. Good times do not change the result: a series is found as long as
// it is stored.
func (a *api) checkTimes(f form) error {
	zone, now := f.zone(a.o.Location), a.o.Now()
	times := map[string]time.Time{}
	for _, key := range [...]string{"now", "from", "until"} {
		if !f.has(key) || f.get(key) == "-1" && key != "now" {
			continue
		}
		at, err := f.at(key, "", zone, now)
		if err != nil {
			return invalidParams("Invalid value %s for param %s: %v", quoted(f.get(key)), key, err)
		}
		if times[key] = at; key == "now" {
			now = at
		}
	}
	from, until := times["from"], times["until"]
	if !from.IsZero() && !until.IsZero() && from.After(until) {
		return invalidParams("Failed to instantiate find query: Invalid interval start=%d end=%d", from.Unix(), until.Unix())
	}
	return nil
}

// completerQuery returns the query that a user who is still typing means.
func completerQuery(query string, variants bool) string {
	query = strings.ReplaceAll(query, "..", "*.")
	if !strings.HasSuffix(query, "*") {
		query += "*"
	}
	if !variants {
		return query
	}
	parts := strings.Split(query, ".")
	for i, part := range parts {
		if strings.Contains(part, ",") && !strings.Contains(part, "{") {
			parts[i] = "{" + part + "}"
		}
	}
	return strings.Join(parts, ".")
}

// nodeBytes is the memory of a findNode.
const nodeBytes = 48

// lookUp lists what a pattern matches, in the order of paths.
func (a *api) lookUp(ctx context.Context, pattern string) ([]findNode, error) {
	var nodes []findNode
	parent, only := emptyEnd(pattern)
	if !only {
		found, err := a.shown(ctx, pattern, tree.FindOptions{Limit: a.o.Limits.Nodes})
		if err != nil {
			return nil, err
		}
		if err := query.AccountOf(ctx).Take(2 * nodeBytes * int64(len(found))); err != nil {
			return nil, err
		}
		nodes = make([]findNode, 0, len(found))
		for _, n := range found {
			nodes = appendNodes(nodes, n)
		}
	}
	if len(nodes) == 0 && strings.Contains(pattern, ";") {
		return a.taggedNode(ctx, pattern)
	}
	if parent == "" {
		return nodes, nil
	}
	// To graphite-web's walk over directories, a name that is empty is the directory itself.
	found, err := a.o.Trees.Find(ctx, parent, tree.FindOptions{Limit: a.o.Limits.Nodes})
	if err != nil {
		return nil, err
	}
	for _, n := range found {
		if n.Branch {
			nodes = append(nodes, findNode{path: n.Path + "."})
		}
	}
	slices.SortStableFunc(nodes, func(a, b findNode) int { return strings.Compare(a.path, b.path) })
	return nodes, nil
}

// taggedNode returns the leaf of a tagged series whose canonical name a query is.
func (a *api) taggedNode(ctx context.Context, query string) ([]findNode, error) {
	ls := translate.PathLabels(query)
	if ls.IsEmpty() || translate.IsPlain(ls) || translate.LabelsPath(ls) != query {
		return nil, nil
	}
	refs, err := a.refsOf(ctx, ls)
	if err != nil || len(refs) == 0 {
		return nil, err
	}
	return []findNode{{path: query, name: query[strings.LastIndexByte(query, '.')+1:], leaf: true}}, nil
}

func appendNodes(nodes []findNode, n tree.Node) []findNode {
	name := n.Path[strings.LastIndexByte(n.Path, '.')+1:]
	if n.Branch {
		nodes = append(nodes, findNode{path: n.Path, name: name})
	}
	if len(n.Series) > 0 {
		nodes = append(nodes, findNode{path: n.Path, name: name, leaf: true})
	}
	return nodes
}

// emptyEnd returns the pattern before the last element if the last element may be empty: it is
// empty, or it is braces with an empty alternative. only is true when it is nothing else.
func emptyEnd(query string) (parent string, only bool) {
	dot := strings.LastIndexByte(query, '.')
	if dot < 0 {
		return "", false
	}
	parent, last := query[:dot], query[dot+1:]
	if last == "" {
		return parent, true
	}
	if last[0] != '{' || last[len(last)-1] != '}' {
		return "", false
	}
	depth, empty := 0, false
	for i := 0; i < len(last); i++ {
		switch last[i] {
		case '{':
			depth++
		case '}':
			depth--
			if depth == 0 && i < len(last)-1 {
				return "", false
			}
		case ',':
		default:
			continue
		}
		if depth == 1 && i+1 < len(last) && (last[i+1] == ',' || last[i+1] == '}') && (last[i] == ',' || last[i] == '{') {
			empty = true
		}
	}
	if last == "{}" || !empty {
		return "", false
	}
	return parent, false
}

// metricsReply returns a reply of an endpoint below /metrics: for a client that sends Accept, text
// is not escaped.
func (r *request) metricsReply(write func(*jsonWriter)) (*reply, error) {
	call, err := r.form.call()
	if err != nil {
		return nil, err
	}
	if call == "(" {
		call = "" // Here an empty name is none, as in graphite-web.
	}
	out := &reply{
		contentType: jsonType, call: call, pretty: r.form.pretty(), write: write,
		header: map[string]string{"Cache-Control": "no-cache", "Pragma": "no-cache"},
	}
	if accept := r.Header.Get("Accept"); accept != "" && accept != jsonType {
		out.raw, out.contentType = true, jsonType+";charset=utf-8"
	}
	return out, nil
}

// writer returns what writes the nodes in the format asked for.
func (s *search) writer() (func([]findNode) (func(*jsonWriter), error), error) {
	switch s.format {
	case "treejson":
		return s.treeJSON, nil
	case "completer":
		return s.completer, nil
	case "nodelist":
		return s.nodeList, nil
	case "json":
		return s.plainJSON, nil
	case "pickle":
		return pickled, nil
	case "msgpack":
		return packed, nil
	}
	return nil, refuse(http.StatusBadRequest, "Invalid value for 'format' parameter")
}
