package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/tsdbridge/tsdbridge/opentsdb/query"
	"github.com/tsdbridge/tsdbridge/opentsdb/reply"
	"github.com/tsdbridge/tsdbridge/running"
	"github.com/tsdbridge/tsdbridge/turns"
)

// maxQueryBytes bounds the body of a query.
const maxQueryBytes = 4 << 20

// mostShown is how much of a query a list of queries shows, in bytes.
const mostShown = 4 << 10

// query answers /api/query.
func (a *API) query(w http.ResponseWriter, r *request) error {
	if r.method == http.MethodDelete {
		return reply.Error{
			Status: http.StatusBadRequest, Message: "Bad request",
			Details: "Deleting data is not enabled (tsd.http.query.allow_delete=false)",
		}
	}
	switch {
	case len(r.path) > 0 && strings.EqualFold(r.path[0], "last"):
		return a.last(w, r)
	case len(r.path) > 0:
		return errEndpoint
	}
	parsed, text, err := parseQuery(w, r)
	if err != nil {
		return err
	}
	if err := parsed.Check(a.o.Now()); err != nil {
		return err
	}
	if parsed.Delete {
		return query.RequestError{Message: "Deleting data is not enabled (tsd.http.query.allow_delete=false)"}
	}
	answer, err := a.evaluated(r, parsed, text)
	if err != nil {
		return err
	}
	before, after := reply.JSONP(r.Request)
	w.Header().Set("Content-Type", reply.ContentType)
	// A client that is gone loses the answer.
	_, _ = io.WriteString(w, before)
	_, _ = answer.WriteTo(w)
	_, _ = io.WriteString(w, after)
	return nil
}

// parseQuery reads a query from the body or from the parameters. text describes it.
func parseQuery(w http.ResponseWriter, r *request) (parsed *query.Request, text string, err error) {
	if r.method != http.MethodPost {
		parsed, err = query.ParseParameters(r.URL.Query())
		return parsed, r.URL.RawQuery, err
	}
	body, err := readBody(w, r)
	if err != nil {
		return nil, "", err
	}
	parsed, err = query.ParseJSON(body)
	if parsed != nil {
		parsed.Arrays = r.URL.Query().Has("arrays")
	}
	return parsed, string(body), err
}

// readBody reads the body of a request that is not a put.
func readBody(w http.ResponseWriter, r *request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxQueryBytes))
	if err != nil {
		return nil, reply.Error{Status: http.StatusRequestEntityTooLarge, Message: "Request too large", Details: err.Error()}
	}
	return body, nil
}

// evaluated computes the answer, as a query that can be ended by its id.
func (a *API) evaluated(r *request, parsed *query.Request, text string) (*query.Answer, error) {
	if len(text) > mostShown {
		text = text[:mostShown]
	}
	ctx, q := a.o.Running.Begin(r.Context(), running.Description{Language: "opentsdb", Text: strings.ToValidUTF8(text, "?"), Client: r.RemoteAddr})
	defer q.End()
	turn, err := a.turns.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer turn.End()
	answer, err := a.o.Engine.Answer(turns.With(ctx, turn), parsed)
	if err != nil && ctx.Err() != nil && errors.Is(context.Cause(ctx), running.ErrEnded) {
		return nil, running.ErrEnded
	}
	return answer, err
}
