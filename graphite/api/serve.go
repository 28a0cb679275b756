package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/graphite/exchange"
	"github.com/tsdbridge/tsdbridge/graphite/pyjson"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/internal/netserver"
	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/internal/tracing"
)

// serve wraps an endpoint in what all have in common: parameters, limits, metrics, errors.
func (a *API) serve(route route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := a.o.Now()
		w.Header().Set("X-Content-Type-Options", "nosniff")
		out, err := a.answer(route, w, r)
		code := http.StatusOK
		if err != nil {
			code = a.fail(w, r, route, err)
		} else {
			a.sendAll(w, r, out)
		}
		a.metrics.done(route.endpoint, code, a.o.Now().Sub(begin))
	})
}

// answer computes a reply. It has a turn while it does.
func (a *API) answer(route route, w http.ResponseWriter, r *http.Request) (out *exchange.Reply, err error) {
	if !route.allows(r.Method) {
		return nil, exchange.Refuse(http.StatusMethodNotAllowed, "%v", netserver.NotAllowed(w, r, strings.Join(route.methods, ", ")))
	}
	if route.changes && a.foreign.Check(r) != nil {
		return nil, errForeignPage
	}
	ctx := r.Context()
	if limit := a.o.Limits.timeout(route); limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	if !route.instant || len(r.URL.RawQuery)+int(max(r.ContentLength, 0)) > query.FreeBytes {
		turn, err := a.turns.Begin(ctx)
		if err != nil {
			return nil, busy(err)
		}
		defer turn.End()
		ctx = query.WithTurn(ctx, turn)
	}
	form, body, err := a.parameters(ctx, w, r, route)
	if err != nil {
		return nil, err
	}
	defer func() {
		if p := recover(); p != nil {
			a.o.Logger.Error("graphite request panicked; report this defect with the stack", "endpoint", route.endpoint, "query", python.Excerpt(form.Encode(), 1000), "panic", p, "stack", string(debug.Stack()))
			out, err = nil, exchange.Refuse(http.StatusInternalServerError, "internal error; the log says more")
		}
	}()
	out, err = route.answer(&exchange.Request{Request: r.WithContext(ctx), Params: form, Message: body})
	if err != nil && ctx.Err() != nil && exchange.StatusOf(err) >= http.StatusInternalServerError {
		err = ctx.Err() // the error of the store only follows from it
	}
	return out, err
}

// timeout is how long a request may take; 0: no limit.
func (l *Limits) timeout(route route) time.Duration {
	if route.changes {
		return l.EditTimeout
	}
	return l.Timeout
}

// errForeignPage is what scripts in pages of other origins get that want to change something.
var errForeignPage = exchange.Refuse(http.StatusForbidden, "pages of other origins cannot change anything here")

// parameters reads the parameters, and a body that is none of them, in the time that the request has.
func (a *API) parameters(ctx context.Context, w http.ResponseWriter, r *http.Request, route route) (exchange.Form, []byte, error) {
	if end, ok := ctx.Deadline(); ok && r.ContentLength != 0 {
		control := http.NewResponseController(w)
		_ = control.SetReadDeadline(end) // of a test's recorder there is none
		defer func() { _ = control.SetReadDeadline(time.Time{}) }()
	}
	return exchange.ReadForm(w, r, route.bodyBytes)
}

// busy is why a request ended while it waited.
func busy(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return exchange.Refuse(http.StatusServiceUnavailable, "too many requests are being computed (--query.max-concurrency)")
	}
	return err
}

// fail sends an error and returns its status.
func (a *API) fail(w http.ResponseWriter, r *http.Request, route route, err error) int {
	if ctx := r.Context().Err(); ctx != nil {
		err = ctx // other errors only follow from it
	}
	code := exchange.StatusOf(err)
	if code >= http.StatusInternalServerError && code != http.StatusNotImplemented && !errors.Is(err, query.ErrBusy) {
		a.o.Logger.Error("graphite request failed; see /-/ready if the tables are away, otherwise report it", "endpoint", route.endpoint, "status", code, "err", err)
	}
	text, contentType := exchange.TextOf(err), "text/plain; charset=utf-8"
	if route.jsonErrors {
		var body pyjson.Writer
		body.Value(pyjson.Object{{Key: "error", Value: exchange.ReasonOf(err)}})
		text, contentType = string(body.Buf), pyjson.ContentType
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(code)
	_, _ = fmt.Fprint(w, text)
	return code
}

// sendAll writes a reply, and gives up what it holds.
func (a *API) sendAll(w http.ResponseWriter, r *http.Request, p *exchange.Reply) {
	if p.Release != nil {
		defer p.Release()
	}
	a.send(w, r, p)
}

// send writes a reply. Errors are the client's: it went away. It has a turn while it writes JSON,
// not while the client reads it.
func (a *API) send(w http.ResponseWriter, r *http.Request, p *exchange.Reply) {
	for k, v := range p.Header {
		w.Header().Set(k, v)
	}
	contentType := p.ContentType
	if p.JSONP != "" {
		contentType = strings.Replace(contentType, pyjson.ContentType, "text/javascript", 1)
	}
	w.Header().Set("Content-Type", contentType)
	if r.Method == http.MethodHead {
		return
	}
	turn := a.turns.Later() // A short answer is written without.
	defer turn.End()
	paced := newPacedWriter(r.Context(), w, turn)
	defer paced.done()
	_, encoding := tracing.Start(r.Context(), "encode")
	defer encoding.End(nil)
	body := pyjson.New(paced)
	body.Pretty, body.Raw = p.Pretty, p.Raw
	if p.JSONP != "" {
		body.Text(p.JSONP)
	}
	p.Write(body)
	if p.JSONP != "" {
		body.Text(")")
	}
	body.Flush()
}
