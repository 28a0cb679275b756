package api

import (
	"github.com/tsdbridge/tsdbridge/graphite/exchange"
	"github.com/tsdbridge/tsdbridge/graphite/pyjson"
	"github.com/tsdbridge/tsdbridge/tree/forest"
)

// index answers /metrics/index.json: the paths of all leaves. Tagged series have none.
func (a *finder) index(r *exchange.Request) (*exchange.Reply, error) {
	if _, err := r.Params.Integer("local", 0); err != nil {
		return nil, err
	}
	nodes, err := a.shown(r.Context(), "**", forest.FindOptions{Leaves: true, Limit: a.limits.Nodes})
	if err != nil {
		return nil, err
	}
	out, err := r.MetricsReply(func(j *pyjson.Writer) {
		j.Open('[')
		for _, n := range nodes {
			if len(n.Series) > 0 {
				j.String(n.Path)
			}
		}
		j.Shut(']')
	})
	if err == nil {
		out.Header = nil
	}
	return out, err
}
