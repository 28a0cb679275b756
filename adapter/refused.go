package adapter

import (
	"fmt"
	"net/http"
	"strconv"

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

func (a *Adapter) showRefused(w http.ResponseWriter, r *http.Request) {
	limit, err := limitOf(r, 100, 1000)
	if err != nil {
		reply.BadRequest(w, err)
		return
	}
	data := refusals{a.refused.Doors(), a.refused.Samples(r.URL.Query().Get("door"), limit)}
	reply.JSON(w, http.StatusOK, reply.Frame{Status: "success", Data: data})
}

// limitOf reads the parameter limit.
func limitOf(r *http.Request, usual, most int) (int, error) { return numberOf(r, "limit", usual, most) }

// numberOf reads a parameter that is a number from 1 on.
func numberOf(r *http.Request, name string, usual, most int) (int, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("%s=%s is no number from 1 to %d", name, strconv.Quote(reply.Cut(text, 40)), most)
	}
	return n, nil
}
