package status

import (
	"net/http"

	"github.com/tsdbridge/tsdbridge/prometheus/reply"
	"github.com/tsdbridge/tsdbridge/refused"
)

// refusedPath lists samples of what was refused at the doors, the last one first:
//
//	GET /api/v1/status/refused[?door=D][&limit=N]
const refusedPath = "/api/v1/status/refused"

// refusals is the data of the answer.
type refusals struct {
	Doors   []refused.Door   `json:"doors"`
	Samples []refused.Sample `json:"samples"`
}

func (p *Pages) refused(w http.ResponseWriter, r *http.Request) {
	limit, err := numberOf(r, "limit", 100, 1000)
	if err != nil {
		reply.BadRequest(w, err)
		return
	}
	data := refusals{p.Refused.Doors(), p.Refused.Samples(r.URL.Query().Get("door"), limit)}
	reply.JSON(w, http.StatusOK, reply.Frame{Status: "success", Data: data})
}
