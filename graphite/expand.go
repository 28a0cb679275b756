package graphite

import (
	"net/http"
	"slices"
)

// expand answers /metrics/expand: the paths that patterns match, of all patterns together or of
// each.
func (a *api) expand(r *request) (*reply, error) {
	if _, err := r.form.integer("local", 0); err != nil {
		return nil, err
	}
	group, err := r.form.integer("groupByExpr", 0)
	if err != nil {
		return nil, err
	}
	leaves, err := r.form.integer("leavesOnly", 0)
	if err != nil {
		return nil, err
	}
	if _, err := r.form.call(); err != nil {
		return nil, err
	}
	var all []string
	groups := object{}
	queries := r.form["query"]
	if most := a.o.Limits.Targets; most > 0 && len(queries) > most {
		return nil, refuse(http.StatusUnprocessableEntity, "%d queries, at most %d are answered in one request", len(queries), most)
	}
	for i, query := range queries {
		if slices.Contains(queries[:i], query) {
			continue
		}
		paths, err := a.expandQuery(r, query, leaves != 0)
		if err != nil {
			return nil, err
		}
		all, groups = append(all, paths...), append(groups, member{query, paths})
	}
	if group != 0 {
		return r.metricsReply(func(j *jsonWriter) { j.value(object{{"results", groups}}) })
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return r.metricsReply(func(j *jsonWriter) { j.value(object{{"results", all}}) })
}

// expandQuery lists each path once, in order. The empty query is the root, whose path is empty.
func (a *api) expandQuery(r *request, query string, leavesOnly bool) ([]string, error) {
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
