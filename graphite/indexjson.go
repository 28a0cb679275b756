package graphite

import (
	"github.com/tsdbridge/tsdbridge/tree/forest"
)

// index answers /metrics/index.json: the paths of all leaves. Tagged series have none.
func (a *api) index(r *request) (*reply, error) {
	if _, err := r.form.integer("local", 0); err != nil {
		return nil, err
	}
	nodes, err := a.shown(r.Context(), "**", forest.FindOptions{Leaves: true, Limit: a.o.Limits.Nodes})
	if err != nil {
		return nil, err
	}
	out, err := r.metricsReply(func(j *jsonWriter) {
		j.open('[')
		for _, n := range nodes {
			if len(n.Series) > 0 {
				j.string(n.Path)
			}
		}
		j.shut(']')
	})
	if err == nil {
		out.header = nil
	}
	return out, err
}
