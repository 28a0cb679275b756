package adapter

import (
	"net/http"

	"github.com/tsdbridge/tsdbridge/prometheus/reply"
)

// lastLogPath lists the last warnings and errors of the log, the last one first.
const lastLogPath = "/api/v1/status/log"

// keptLog is how many warnings and errors are kept.
const keptLog = 200

func (a *Adapter) lastLog(w http.ResponseWriter, _ *http.Request) {
	reply.JSON(w, http.StatusOK, reply.Frame{Status: "success", Data: a.log.Records()})
}
