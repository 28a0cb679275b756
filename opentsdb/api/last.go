package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/tsdbridge/tsdbridge/opentsdb/query"
	"github.com/tsdbridge/tsdbridge/opentsdb/reply"
)

// lastPoint is the newest point of a series, in the order of a TSD's fields. Its names are there if
// they were asked for.
type lastPoint struct {
	Metric    string            `json:"metric,omitempty"`
	Timestamp int64             `json:"timestamp"`
	Value     string            `json:"value"`
	Tags      map[string]string `json:"tags,omitempty"`
	TSUID     string            `json:"tsuid"`
}

// last answers /api/query/last.
func (a *API) last(w http.ResponseWriter, r *request) error {
	asked, err := parseLast(w, r)
	if err != nil {
		return err
	}
	var points []query.LastPoint
	err = a.computed(r, "last "+r.URL.RawQuery, func(ctx context.Context) error {
		points, err = a.o.Engine.Last(ctx, asked)
		return err
	})
	if err != nil {
		return err
	}
	out := make([]lastPoint, 0, len(points))
	for _, p := range points {
		shown := lastPoint{Timestamp: p.Time, Value: p.Value, TSUID: fmt.Sprintf("%X", p.TSUID)}
		if asked.ResolveNames {
			shown.Metric, shown.Tags = p.Metric, map[string]string{}
			for _, tag := range p.Tags {
				shown.Tags[tag.Key] = tag.Value
			}
		}
		out = append(out, shown)
	}
	reply.WriteJSON(w, r.Request, http.StatusOK, out)
	return nil
}

func parseLast(w http.ResponseWriter, r *request) (*query.LastRequest, error) {
	if r.method != http.MethodPost {
		return query.ParseLast(r.URL.Query())
	}
	body, err := readBody(w, r)
	if err != nil {
		return nil, err
	}
	return query.ParseLastJSON(body)
}
