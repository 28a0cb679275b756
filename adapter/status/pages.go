// Package status is the pages that tell how a running adapter is: whether it is ready, its engine, its log, what it refuses, and
// which series came and fell silent. It changes nothing.
package status

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/tsdbridge/tsdbridge/internal/logging"
	"github.com/tsdbridge/tsdbridge/internal/rejections"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/translate"
)

// logPath lists the last warnings and errors of the log, the last one first.
const logPath = "/api/v1/status/log"

// Pages are the pages about an adapter.
type Pages struct {
	Store   *store.Store
	Names   *translate.Translator
	Refused *rejections.Log
	Log     *logging.Recent
	Engine  Engine
	Now     func() time.Time
}

// Routes mounts the pages, those that read the index on queries.
func (p *Pages) Routes(r, queries chi.Router) {
	r.Get(logPath, p.log)
	r.Get(refusedPath, p.refused)
	r.Get(enginePath, p.Engine.serve)
	queries.Get(phrasesPath, p.phrases)
	queries.Get(growthPath, p.growth)
	queries.Get(silentPath, p.silent)
}

func (p *Pages) log(w http.ResponseWriter, _ *http.Request) {
	httpapi.JSON(w, http.StatusOK, httpapi.Frame{Status: "success", Data: p.Log.Records()})
}

// numberOf reads a parameter that is a number from 1 on.
func numberOf(r *http.Request, name string, usual, most int) (int, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("%s=%s is no number from 1 to %d", name, strconv.Quote(httpapi.Cut(text, 40)), most)
	}
	return n, nil
}
