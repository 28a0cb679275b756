package api

import (
	"fmt"
	"net/http"

	"github.com/tsdbridge/tsdbridge/opentsdb/query"
	"github.com/tsdbridge/tsdbridge/opentsdb/reply"
	"github.com/tsdbridge/tsdbridge/running"
	"github.com/tsdbridge/tsdbridge/turns"
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
	ctx, q := a.o.Running.Begin(r.Context(), running.Description{Language: "opentsdb", Text: "last " + r.URL.RawQuery, Client: r.RemoteAddr})
	defer q.End()
	turn, err := a.turns.Begin(ctx)
	if err != nil {
		return err
	}
	defer turn.End()
	points, err := a.o.Engine.Last(turns.With(ctx, turn), asked)
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
