package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/tsdbridge/tsdbridge/opentsdb/reply"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Names lists the names of tsdb-uid and assigns UIDs.
type Names interface {
	Lookup(ctx context.Context, kind schema.Kind, names []string) ([]string, error)
	// Assign returns the UIDs of names, in order; errs is nil or has an error for each name.
	Assign(ctx context.Context, kind schema.Kind, names []string) (uids []string, errs []error)
	// Suggest returns the first names with a prefix, in order, at most so many.
	Suggest(ctx context.Context, kind schema.Kind, prefix string, most int) ([]string, error)
}

// defaultSuggestions is how many names there are without a max.
const defaultSuggestions = 25

// mostSuggestions bounds the names of one answer.
const mostSuggestions = 100_000

// suggest answers /api/suggest.
func (a *API) suggest(w http.ResponseWriter, r *request) error {
	names, err := a.suggested(w, r)
	if err != nil {
		return err
	}
	reply.WriteJSON(w, r.Request, http.StatusOK, names)
	return nil
}

func (a *API) suggested(w http.ResponseWriter, r *request) ([]string, error) {
	p, err := suggestParameters(w, r)
	if err != nil {
		return nil, err
	}
	kind, ok := map[string]schema.Kind{"metrics": schema.Metric, "tagk": schema.Tagk, "tagv": schema.Tagv}[p.Type]
	if !ok {
		return nil, reply.BadRequest("Invalid 'type' parameter:" + p.Type)
	}
	if p.Max <= 0 {
		p.Max = defaultSuggestions
	}
	names, err := a.o.Names.Suggest(r.Context(), kind, p.Q, min(p.Max, mostSuggestions))
	return append([]string{}, names...), err // a list, if an empty one
}

type suggestion struct {
	Type, Q string
	Max     int
}

func suggestParameters(w http.ResponseWriter, r *request) (p suggestion, err error) {
	if r.method == http.MethodPost {
		body, err := readBody(w, r)
		if err != nil {
			return p, err
		}
		if err := json.Unmarshal(body, &p); err != nil {
			return p, reply.Error{Status: http.StatusBadRequest, Message: "Unable to parse the given JSON", Details: err.Error()}
		}
	} else {
		v := r.URL.Query()
		p.Type, p.Q = v.Get("type"), v.Get("q")
		if text := v.Get("max"); text != "" {
			if p.Max, err = strconv.Atoi(text); err != nil {
				return p, reply.BadRequest("Unable to parse 'max' as a number")
			}
		}
	}
	if p.Type == "" {
		return p, reply.BadRequest("Missing parameter <code>type</code>")
	}
	return p, nil
}
