package put

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/netserver"
	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	"github.com/tsdbridge/tsdbridge/opentsdb/jackson"
)

// request is one request of /api/put, in memory that later ones use again.
type request struct {
	api     *Handler
	flags   flags
	content body
	points  walker
	entered bool // it counts as one under way
}

// flags are what the query string asks for.
type flags struct {
	summary, details bool
	timeout          time.Duration // 0: none. A TSD honours it with sync only; here all puts are
	limited          bool          // timeout was given
}

func readFlags(query string) (f flags, err error) {
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

// requests are those that are idle.
var requests = sync.Pool{New: func() any { return new(request) }}

const (
	// pooledBody is how many bytes a request may have and still keep its memory, pooledPoints how
	// many unusual points.
	pooledBody   = 1 << 20
	pooledPoints = 64 << 10
)

func (p *request) release() {
	if cap(p.content.bytes) > pooledBody || cap(p.points.bad) > pooledPoints || cap(p.points.origin) > pooledPoints {
		return
	}
	clear(p.points.bad)
	*p = request{
		content: body{bytes: p.content.bytes[:0]},
		points:  walker{key: p.points.key, origin: p.points.origin[:0], bad: p.points.bad[:0]},
	}
	requests.Put(p)
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
	p := requests.Get().(*request)
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
func (p *request) done() {
	p.content.share.Release()
	if p.entered {
		p.api.gate.Leave()
	}
	p.release()
}

// serve reads a request and stores its points. An error concerns the request as a whole. The
// request counts as one under way once its body has arrived: a slow sender holds the memory of the
// bytes that have arrived, and blocks no others.
func (p *request) serve(w http.ResponseWriter, r *http.Request) (*outcome, error) {
	var err error
	if p.flags, err = readFlags(r.URL.RawQuery); err != nil {
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
func (p *request) parseInTurn(ctx context.Context) error {
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
func (p *request) parse() error {
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
func (p *request) answer(r *http.Request) *outcome {
	ctx, cancel := netserver.WithTimeout(context.WithoutCancel(r.Context()), p.api.o.Timeout)
	if !p.flags.limited {
		defer cancel()
		return p.outcome(r, p.store(ctx))
	}
	answer := make(chan *outcome, 1)
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
		late := &outcome{flags: p.flags, timeouts: p.points.points}
		go func() {
			<-answer
			p.done()
		}()
		return late
	}
}

// store stores the points. An error concerns all points that were not refused.
func (p *request) store(ctx context.Context) error {
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
func (p *request) storeHistograms(ctx context.Context) error {
	j, h := p.points.job, p.points.histograms
	h.refused = len(p.points.bad)
	err := j.in.storeHistograms(ctx, h, p.points.refuseUnknown)
	j.protocol.countHistograms(h, len(p.points.bad)-h.refused, err)
	return err
}
