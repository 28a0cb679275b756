package put

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/netserver"
	"github.com/tsdbridge/tsdbridge/internal/rejections"
	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	"github.com/tsdbridge/tsdbridge/opentsdb/jackson"
	"github.com/tsdbridge/tsdbridge/storage"
)

// putRequest is one request of /api/put, in memory that later ones use again.
type putRequest struct {
	api     *Handler
	flags   putFlags
	content body
	points  putBody
	entered bool // it counts as one under way
}

// putFlags are what the query string asks for.
type putFlags struct {
	summary, details bool
	timeout          time.Duration // 0: none. A TSD honours it with sync only; here all puts are
	limited          bool          // timeout was given
}

func readPutFlags(query string) (f putFlags, err error) {
	if query == "" {
		return f, nil
	}
	q, err := httpapi.Parameters(query)
	if err != nil {
		return f, err
	}
	f.summary, f.details = q.Has("summary"), q.Has("details")
	if text := q.Get("sync_timeout"); q.Has("sync") && text != "" {
		ms, err := strconv.Atoi(text)
		if err != nil || ms < 0 || ms > int(time.Hour/time.Millisecond) {
			return f, httpapi.Error{Status: http.StatusBadRequest, Message: "Invalid sync_timeout", Details: text}
		}
		f.timeout, f.limited = time.Duration(ms)*time.Millisecond, ms > 0
	}
	return f, nil
}

// putRequests are those that are idle.
var putRequests = sync.Pool{New: func() any { return new(putRequest) }}

const (
	// pooledBody is how many bytes a request may have and still keep its memory, pooledPoints how
	// many unusual points.
	pooledBody   = 1 << 20
	pooledPoints = 64 << 10
)

func (p *putRequest) release() {
	if cap(p.content.bytes) > pooledBody || cap(p.points.bad) > pooledPoints || cap(p.points.origin) > pooledPoints {
		return
	}
	clear(p.points.bad)
	*p = putRequest{
		content: body{bytes: p.content.bytes[:0]},
		points:  putBody{key: p.points.key, origin: p.points.origin[:0], bad: p.points.bad[:0]},
	}
	putRequests.Put(p)
}

// servePut is PutDataPointRpc.execute of OpenTSDB 2.4, and HistogramDataPointRpc.execute.
func (a *Handler) servePut(w http.ResponseWriter, r *http.Request, ofHistograms bool) {
	if ofHistograms && !a.puts.o.Codecs.Enabled {
		httpapi.WriteError(w, r, httpapi.Error{Status: http.StatusServiceUnavailable, Message: noHistograms})
		return
	}
	if err := a.mayPut(r); err != nil {
		httpapi.WriteError(w, r, err)
		return
	}
	p := putRequests.Get().(*putRequest)
	p.api, p.content.share, p.content.turns = a, &netserver.Share{Gate: a.gate}, a.turns
	if ofHistograms {
		p.points.histograms, p.points.careful = &Histograms{}, true
	}
	answer, err := p.serve(w, r)
	if err != nil {
		httpapi.WriteError(w, r, err)
	} else {
		answer.write(w, r)
	}
	if answer == nil || answer.timeouts == 0 { // else the store still has its points
		p.done()
	}
}

// mayPut returns why a request is refused before its body is read.
func (a *Handler) mayPut(r *http.Request) error {
	if m := httpapi.Method(r); m != http.MethodPost {
		return httpapi.NotAllowed(m, http.MethodPost)
	}
	return a.origins.Check(r)
}

// done is called when nothing of the request is in use any more.
func (p *putRequest) done() {
	p.content.share.Release()
	if p.entered {
		p.api.gate.Leave()
	}
	p.release()
}

// serve reads a request and stores its points. An error concerns the request as a whole. The
// request counts as one under way once its body has arrived: a slow sender holds the memory of the
// bytes that have arrived, and blocks no others.
func (p *putRequest) serve(w http.ResponseWriter, r *http.Request) (*putAnswer, error) {
	var err error
	if p.flags, err = readPutFlags(r.URL.RawQuery); err != nil {
		return nil, err
	}
	if err := p.content.read(w, r, p.api.o.BodyBytes); err != nil {
		return nil, err
	}
	if p.entered = p.api.gate.Enter(); !p.entered {
		return nil, errBusy
	}
	conn := netserver.ConnOf(r.Context())
	conn.Begin()
	defer conn.End(true)
	j := p.api.puts.job(&p.api.puts.http)
	p.points.job, p.points.limit, p.points.Scanner = j, p.api.o.Points, jackson.Scanner{B: p.content.bytes}
	if p.points.histograms != nil {
		p.points.limit = min(p.points.limit, maxHistograms)
	}
	if err := p.parseInTurn(r.Context()); err != nil {
		j.Release()
		return nil, err
	}
	return p.answer(r), nil
}

// largeBody is how many bytes a body has that is worth a turn of its own to be parsed.
const largeBody = 256 << 10

// parseInTurn is parse for bodies of any size. Only a few large bodies are parsed at once.
func (p *putRequest) parseInTurn(ctx context.Context) error {
	if len(p.content.bytes) <= largeBody {
		return p.parse()
	}
	ctx, cancel := context.WithTimeout(ctx, unpackTimeout)
	defer cancel()
	turn, err := p.content.turns.Begin(ctx)
	if err != nil {
		return errBusy
	}
	defer turn.End()
	return p.parse()
}

// parse walks over the body. Nothing of a malformed body is stored.
func (p *putRequest) parse() error {
	return parsePuts(&p.points.Scanner, func() (int, error) {
		err := p.points.walk()
		return p.points.points, err
	})
}

// parsePuts reads the body of a put by walk, which returns how many points it had. Errors are a TSD's.
func parsePuts(s *jackson.Scanner, walk func() (points int, err error)) error {
	switch first := s.Space(); {
	case s.I == len(s.B):
		return httpapi.Error{Status: http.StatusBadRequest, Message: "Missing request content"}
	case first != '{' && first != '[':
		return httpapi.Error{Status: http.StatusBadRequest, Message: "The JSON must start as an object or an array"}
	}
	points, err := walk()
	switch {
	case errors.Is(err, errTooMany):
		return httpapi.Error{Status: http.StatusRequestEntityTooLarge, Message: "Request too large", Details: err.Error()}
	case err != nil:
		return httpapi.Error{Status: http.StatusBadRequest, Message: "Unable to parse the given JSON", Details: err.Error()}
	case points == 0:
		return httpapi.Error{Status: http.StatusBadRequest, Message: "No datapoints found in content"}
	}
	return nil
}

// answer stores the points and returns what became of them. A client that goes away does not stop
// it.
func (p *putRequest) answer(r *http.Request) *putAnswer {
	ctx, cancel := netserver.WithTimeout(context.WithoutCancel(r.Context()), p.api.o.Timeout)
	if !p.flags.limited {
		defer cancel()
		return p.outcome(r, p.store(ctx))
	}
	answer := make(chan *putAnswer, 1)
	go func() {
		defer cancel()
		answer <- p.outcome(r, p.store(ctx))
	}()
	timer := time.NewTimer(p.flags.timeout)
	defer timer.Stop()
	select {
	case a := <-answer:
		return a
	case <-timer.C:
		late := &putAnswer{flags: p.flags, timeouts: p.points.points}
		go func() {
			<-answer
			p.done()
		}()
		return late
	}
}

// store stores the points. An error concerns all points that were not refused.
func (p *putRequest) store(ctx context.Context) error {
	j := p.points.job
	if p.points.histograms != nil {
		return p.storeHistograms(ctx)
	}
	err := j.in.Store(ctx, j.Job)
	j.EachRefused(p.points.refuseUnknown)
	j.protocol.Count(j.Job, err)
	return err
}

// storeHistograms is store for histograms.
func (p *putRequest) storeHistograms(ctx context.Context) error {
	j, h := p.points.job, p.points.histograms
	h.refused = len(p.points.bad)
	err := j.in.storeHistograms(ctx, h, p.points.refuseUnknown)
	j.protocol.countHistograms(h, len(p.points.bad)-h.refused, err)
	return err
}

// outcome turns what the store said into an answer.
func (p *putRequest) outcome(r *http.Request, err error) *putAnswer {
	keepBad(p.api.puts.o.Refused, r, p.content.bytes, p.points.bad)
	a := newPutAnswer(p.flags, p.points.points, len(p.points.bad), err)
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
func (a *putAnswer) explain(body []byte, bad []badPoint, echo func([]byte) any) {
	slices.SortStableFunc(bad, func(a, b badPoint) int { return a.from - b.from })
	for _, b := range bad {
		a.errors = append(a.errors, pointError{Datapoint: echo(body[b.from:b.to]), Error: problemOf(b.err)})
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

// putAnswer is what became of the points of a request.
type putAnswer struct {
	flags                     putFlags
	success, failed, timeouts int
	errors                    []pointError // of points that were refused, when details are wanted
	err                       error        // of all others
}

// newPutAnswer returns the answer to points of which some were refused; err concerns the others.
func newPutAnswer(flags putFlags, points, refused int, err error) *putAnswer {
	if err != nil {
		return &putAnswer{flags: flags, failed: points, err: err}
	}
	return &putAnswer{flags: flags, success: points - refused, failed: refused}
}

type pointError struct {
	Datapoint any    `json:"datapoint"` // nil of what concerns all of them
	Error     string `json:"error"`
}

// status is that of the answer. A TSD answers 200 when its store fails; here that is an error of
// ours, and the client tries again.
func (a *putAnswer) status() int {
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

func (a *putAnswer) write(w http.ResponseWriter, r *http.Request) {
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
func (a *putAnswer) content() map[string]any {
	content := map[string]any{"success": a.success, "failed": a.failed}
	if a.flags.limited {
		content["timeouts"] = a.timeouts
	}
	if a.flags.details {
		refused := append([]pointError{}, a.errors...) // an array, if an empty one
		if a.err != nil {
			refused = append(refused, pointError{Error: "Storage exception: " + a.err.Error()})
		}
		content["errors"] = refused
	}
	return content
}

const askForDetails = `Please see the TSD logs or append "details" to the put request`

// problem is the answer to a client that asked for neither.
func (a *putAnswer) problem(status int) error {
	switch {
	case status == http.StatusServiceUnavailable:
		return httpapi.Error{Status: status, Message: "The store did not take the points, try again later", Details: a.err.Error()}
	case a.timeouts > 0:
		return httpapi.Error{Status: status, Message: fmt.Sprintf("The put call has timedout with %d successful writes, %d failed writes and %d timed out writes.",
			a.success, a.failed, a.timeouts), Details: askForDetails}
	}
	return httpapi.Error{Status: status, Message: "One or more data points had errors", Details: askForDetails}
}
