package put

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/tsdbridge/tsdbridge/internal/rejections"
	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	"github.com/tsdbridge/tsdbridge/storage"
)

// outcome turns what the store said into an answer.
func (p *request) outcome(r *http.Request, err error) *outcome {
	keepBad(p.api.puts.o.Refused, r, p.content.bytes, p.points.bad)
	a := newOutcome(p.flags, p.points.points, len(p.points.bad), err)
	if p.flags.details {
		a.explain(p.content.bytes, p.points.bad, func(b []byte) any { return echo(b, p.points.histograms != nil) })
	}
	p.points.job.Release()
	return a
}

// keptBad is how many bad points of a request are kept.
const keptBad = 5

// keepBad keeps the first points of a body that were refused. All are counted with the first.
func keepBad(kept *rejections.Log, r *http.Request, body []byte, bad []badPoint) {
	points := len(bad)
	for _, b := range bad[:min(len(bad), keptBad)] {
		kept.Add(r.Context(), rejections.Sample{Source: rejections.OpenTSDBHTTP, Client: r.RemoteAddr, Reason: b.err.Error(), Points: points}, func() string {
			return string(body[b.from:min(b.to, b.from+maxKept)])
		})
		points = 0
	}
}

// explain adds what is wrong with points of a body, in their order there. echo returns one as a TSD shows
// it.
func (a *outcome) explain(body []byte, bad []badPoint, echo func([]byte) any) {
	slices.SortStableFunc(bad, func(a, b badPoint) int { return a.from - b.from })
	for _, b := range bad {
		a.errors = append(a.errors, refusedPoint{Datapoint: echo(body[b.from:b.to]), Error: problemOf(b.err)})
	}
}

// problemOf is what a TSD says of a point that was refused.
func problemOf(err error) string {
	if _, ok := errors.AsType[noName](err); ok {
		return "Unknown metric"
	}
	if _, ok := errors.AsType[noInterval](err); ok {
		return "Unexpected exception"
	}
	return err.Error()
}

// outcome is what became of the points of a request.
type outcome struct {
	flags                     flags
	success, failed, timeouts int
	errors                    []refusedPoint // of points that were refused, when details are wanted
	err                       error          // of all others
}

// newOutcome returns the answer to points of which some were refused; err concerns the others.
func newOutcome(flags flags, points, refused int, err error) *outcome {
	if err != nil {
		return &outcome{flags: flags, failed: points, err: err}
	}
	return &outcome{flags: flags, success: points - refused, failed: refused}
}

type refusedPoint struct {
	Datapoint any    `json:"datapoint"` // nil of what concerns all of them
	Error     string `json:"error"`
}

// status is that of the answer. A TSD answers 200 when its store fails; here that is an error of
// ours, and the client tries again.
func (a *outcome) status() int {
	switch {
	case a.err != nil && !storage.IsRefusal(a.err):
		return http.StatusServiceUnavailable
	case a.failed > 0 || a.timeouts > 0:
		return http.StatusBadRequest
	case a.flags.summary || a.flags.details:
		return http.StatusOK
	}
	return http.StatusNoContent
}

func (a *outcome) write(w http.ResponseWriter, r *http.Request) {
	status := a.status()
	switch {
	case a.flags.summary || a.flags.details:
		if status == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", httpapi.RetryAfter())
		}
		httpapi.WriteJSON(w, r, status, a.content())
	case status == http.StatusNoContent:
		httpapi.Empty(w, status)
	default:
		httpapi.WriteError(w, r, a.problem(status))
	}
}

// content returns the answer that summary and details ask for.
func (a *outcome) content() map[string]any {
	content := map[string]any{"success": a.success, "failed": a.failed}
	if a.flags.limited {
		content["timeouts"] = a.timeouts
	}
	if a.flags.details {
		refused := append([]refusedPoint{}, a.errors...) // an array, if an empty one
		if a.err != nil {
			refused = append(refused, refusedPoint{Error: "Storage exception: " + a.err.Error()})
		}
		content["errors"] = refused
	}
	return content
}

const askForDetails = `Please see the TSD logs or append "details" to the put request`

// problem is the answer to a client that asked for neither.
func (a *outcome) problem(status int) error {
	switch {
	case status == http.StatusServiceUnavailable:
		return httpapi.Error{Status: status, Message: "The store did not take the points, try again later", Details: a.err.Error()}
	case a.timeouts > 0:
		return httpapi.Error{Status: status, Message: fmt.Sprintf("The put call has timedout with %d successful writes, %d failed writes and %d timed out writes.",
			a.success, a.failed, a.timeouts), Details: askForDetails}
	}
	return httpapi.Error{Status: status, Message: "One or more data points had errors", Details: askForDetails}
}
