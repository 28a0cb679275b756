package status

import (
	"cmp"
	"net/http"

	"github.com/tsdbridge/tsdbridge/internal/rejections"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
)

// refusedPath lists samples of the points that were rejected, the last one first:
//
//	GET /api/v1/status/refused[?source=S][&limit=N]
//
// Until 0.2.0 the parameter and the fields have their former names too: door, doors.
const refusedPath = "/api/v1/status/refused"

// refusals is the data of the answer.
type refusals struct {
	Sources []rejections.Source `json:"sources"`
	Doors   []rejections.Source `json:"doors"`
	Samples []rejections.Sample `json:"samples"`
}

func (p *Pages) refused(w http.ResponseWriter, r *http.Request) {
	limit, err := numberOf(r, "limit", 100, 1000)
	if err != nil {
		httpapi.BadRequest(w, err)
		return
	}
	query := r.URL.Query()
	sources := p.Refused.Sources()
	data := refusals{sources, sources, p.Refused.Samples(cmp.Or(query.Get("source"), query.Get("door")), limit)}
	httpapi.JSON(w, http.StatusOK, httpapi.Frame{Status: "success", Data: data})
}
