package queries

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	"github.com/tsdbridge/tsdbridge/opentsdb/query"
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
func (a *API) last(w http.ResponseWriter, r *httpapi.Request) error {
	asked, key, err := parseLast(w, r)
	if err != nil {
		return err
	}
	return a.answered(w, r, question{text: "last " + r.URL.RawQuery, key: "last " + key, compute: func(ctx context.Context) (io.WriterTo, error) {
		points, err := a.o.Engine.Last(ctx, asked)
		return lastPoints{asked, points}, err
	}})
}

// lastPoints is the answer to a request for newest points.
type lastPoints struct {
	asked  *query.LastRequest
	points []query.LastPoint
}

// WriteTo prints it in JSON.
func (l lastPoints) WriteTo(w io.Writer) (int64, error) {
	out := make([]lastPoint, 0, len(l.points))
	for _, p := range l.points {
		shown := lastPoint{Timestamp: p.Time, Value: p.Value, TSUID: fmt.Sprintf("%X", p.TSUID)}
		if l.asked.ResolveNames {
			shown.Metric, shown.Tags = p.Metric, map[string]string{}
			for _, tag := range p.Tags {
				shown.Tags[tag.Key] = tag.Value
			}
		}
		out = append(out, shown)
	}
	body, err := httpapi.Marshal(out)
	if err != nil {
		panic("opentsdb: encode answer: " + err.Error()) // of our own strings
	}
	n, err := w.Write(body)
	return int64(n), err
}

// parseLast reads a request from the body or from the parameters. key is what it asks.
func parseLast(w http.ResponseWriter, r *httpapi.Request) (asked *query.LastRequest, key string, err error) {
	if r.Verb != http.MethodPost {
		asked, err = query.ParseLast(r.URL.Query())
		return asked, r.ParametersKey(), err
	}
	body, err := httpapi.ReadBody(w, r)
	if err != nil {
		return nil, "", err
	}
	asked, err = query.ParseLastJSON(body)
	return asked, "POST " + string(body), err
}
