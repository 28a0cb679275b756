package api

import (
	"net/http"
	"slices"

	"github.com/tsdbridge/tsdbridge/graphite/exchange"
	"github.com/tsdbridge/tsdbridge/graphite/pyjson"
)

// expand answers /metrics/expand: the paths that patterns match, of all patterns together or of
// each.
func (a *finder) expand(r *exchange.Request) (*exchange.Reply, error) {
	if _, err := r.Params.Integer("local", 0); err != nil {
		return nil, err
	}
	group, err := r.Params.Integer("groupByExpr", 0)
	if err != nil {
		return nil, err
	}
	leaves, err := r.Params.Integer("leavesOnly", 0)
	if err != nil {
		return nil, err
	}
	if _, err := r.Params.JSONP(); err != nil {
		return nil, err
	}
	var all []string
	groups := pyjson.Object{}
	queries := r.Params["query"]
	if most := a.limits.Targets; most > 0 && len(queries) > most {
		return nil, exchange.Refuse(http.StatusUnprocessableEntity, "%d queries, at most %d are answered in one request", len(queries), most)
	}
	for i, query := range queries {
		if slices.Contains(queries[:i], query) {
			continue
		}
		paths, err := a.expandQuery(r, query, leaves != 0)
		if err != nil {
			return nil, err
		}
		all, groups = append(all, paths...), append(groups, pyjson.Member{Key: query, Value: paths})
	}
	if group != 0 {
		return r.MetricsReply(func(j *pyjson.Writer) { j.Value(pyjson.Object{{Key: "results", Value: groups}}) })
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return r.MetricsReply(func(j *pyjson.Writer) { j.Value(pyjson.Object{{Key: "results", Value: all}}) })
}

// expandQuery lists each path once, in order. The empty query is the root, whose path is empty.
func (a *finder) expandQuery(r *exchange.Request, query string, leavesOnly bool) ([]string, error) {
	paths := []string{}
	if query == "" {
		if !leavesOnly {
			paths = append(paths, "")
		}
		return paths, nil
	}
	nodes, err := a.lookUp(r.Context(), query)
	if err != nil {
		return nil, err
	}
	for _, n := range nodes {
		if (n.leaf || !leavesOnly) && (len(paths) == 0 || paths[len(paths)-1] != n.path) {
			paths = append(paths, n.path)
		}
	}
	return paths, nil
}
