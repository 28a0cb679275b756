package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/graphite/exchange"
	"github.com/tsdbridge/tsdbridge/graphite/pyjson"
	"github.com/tsdbridge/tsdbridge/graphite/source"
	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/translate"
	"github.com/tsdbridge/tsdbridge/tree/forest"
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

// finder finds paths, and answers the requests below /metrics.
type finder struct {
	trees     source.Trees
	tags      *tagIndex
	limits    Limits
	location  *time.Location
	now       func() time.Time
	hideAfter time.Duration // the age of the newest point from which a series is hidden; 0: none
	// store and catalog are asked whether series have sent lately.
	store   storage.Querier
	catalog source.Catalog
	*sent
}

func newFinder(o *Options, tags *tagIndex, sent *sent) *finder {
	return &finder{trees: o.Trees, tags: tags, limits: o.Limits, location: o.Location, now: o.Now, hideAfter: o.HideAfter, store: o.Store, catalog: o.Catalog, sent: sent}
}

// find answers /metrics/find.
func (a *finder) find(r *exchange.Request) (*exchange.Reply, error) {
	if r.Params.AsksProtobuf() {
		return a.globs(r)
	}
	s, err := a.search(r.Params)
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
	out, err := r.MetricsReply(body)
	if kind, ok := binaryTypes[s.format]; ok && err == nil {
		out.ContentType, out.JSONP = kind, ""
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
func (a *finder) search(f exchange.Form) (*search, error) {
	s := &search{format: "treejson"}
	if f.Has("format") {
		s.format = f.Get("format")
	}
	leaves, err := f.Integer("leavesOnly", 0)
	if err != nil {
		return nil, err
	}
	if _, err := f.Integer("local", 0); err != nil {
		return nil, err
	}
	wildcards, err := f.Integer("wildcards", 0)
	if err != nil {
		return nil, err
	}
	if err := a.checkTimes(f); err != nil {
		return nil, err
	}
	if s.position, err = f.Integer("position", -1); err != nil {
		return nil, err
	}
	variants, err := f.Integer("automatic_variants", 0)
	if err != nil {
		return nil, err
	}
	if !f.Has("query") {
		return nil, exchange.InvalidParams("Missing required parameter 'query'")
	}
	if s.query = f.Get("query"); s.query == "" {
		return nil, exchange.InvalidParams("Required parameter 'query' is empty")
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
func (a *finder) checkTimes(f exchange.Form) error {
	zone, now := f.Zone(a.location), a.now()
	times := map[string]time.Time{}
	for _, key := range [...]string{"now", "from", "until"} {
		if !f.Has(key) || f.Get(key) == "-1" && key != "now" {
			continue
		}
		at, err := f.Time(key, "", zone, now)
		if err != nil {
			return exchange.InvalidParams("Invalid value %s for param %s: %v", exchange.Quoted(f.Get(key)), key, err)
		}
		if times[key] = at; key == "now" {
			now = at
		}
	}
	from, until := times["from"], times["until"]
	if !from.IsZero() && !until.IsZero() && from.After(until) {
		return exchange.InvalidParams("Failed to instantiate find query: Invalid interval start=%d end=%d", from.Unix(), until.Unix())
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
func (a *finder) lookUp(ctx context.Context, pattern string) ([]findNode, error) {
	var nodes []findNode
	parent, only := emptyEnd(pattern)
	if !only {
		found, err := a.shown(ctx, pattern, forest.FindOptions{Limit: a.limits.Nodes})
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
	found, err := a.trees.Find(ctx, parent, forest.FindOptions{Limit: a.limits.Nodes})
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
func (a *finder) taggedNode(ctx context.Context, query string) ([]findNode, error) {
	ls := translate.PathLabels(query)
	if ls.IsEmpty() || translate.IsPlain(ls) || translate.LabelsPath(ls) != query {
		return nil, nil
	}
	refs, err := a.tags.refsOf(ctx, ls)
	if err != nil || len(refs) == 0 {
		return nil, err
	}
	return []findNode{{path: query, name: query[strings.LastIndexByte(query, '.')+1:], leaf: true}}, nil
}

func appendNodes(nodes []findNode, n forest.Node) []findNode {
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

// writer returns what writes the nodes in the format asked for.
func (s *search) writer() (func([]findNode) (func(*pyjson.Writer), error), error) {
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
	return nil, exchange.Refuse(http.StatusBadRequest, "Invalid value for 'format' parameter")
}
