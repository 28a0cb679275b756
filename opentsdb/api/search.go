package api

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	"github.com/tsdbridge/tsdbridge/opentsdb/query"
	"github.com/tsdbridge/tsdbridge/storage"
)

// search answers /api/search/lookup, and the other searches as a TSD without a search plugin.
func (a *API) search(w http.ResponseWriter, r *httpapi.Request) error {
	kind := r.Below()
	switch kind {
	case "lookup":
		return a.lookup(w, r)
	case "tsmeta", "tsmeta_summary", "tsuids", "uidmeta", "annotation":
		return httpapi.Error{Status: http.StatusBadRequest, Message: "Searching is not enabled", Details: "Searching has not been enabled on this TSD"}
	}
	return httpapi.Error{Status: http.StatusBadRequest, Message: "Invalid search query type supplied", Details: "Unknown type: " + kind}
}

// foundSeries is a series in the answer to a lookup.
type foundSeries struct {
	TSUID  string            `json:"tsuid"`
	Metric string            `json:"metric"`
	Tags   map[string]string `json:"tags"`
}

// lookupAnswer is the answer to a lookup, in the order of a TSD's fields.
type lookupAnswer struct {
	Type         string            `json:"type"`
	Metric       string            `json:"metric,omitempty"`
	Tags         []query.LookupTag `json:"tags"`
	Limit        int               `json:"limit"`
	Time         float64           `json:"time"` // milliseconds
	Results      []foundSeries     `json:"results"`
	StartIndex   int               `json:"startIndex"`
	TotalResults int               `json:"totalResults"`
}

func (a *API) lookup(w http.ResponseWriter, r *httpapi.Request) error {
	begin := a.o.Now()
	asked, err := parseLookup(w, r)
	if err != nil {
		return err
	}
	turn, err := a.kept.evaluator.Turn(r.Context())
	if err != nil {
		return err
	}
	defer turn.End()
	found, err := a.o.Queries.Engine.Lookup(r.Context(), asked)
	if lost, ok := errors.AsType[storage.NamelessError](err); ok {
		return httpapi.Error{Status: http.StatusNotFound, Message: "Unable to resolve one or more TSUIDs", Details: lost.Error()}
	}
	if unknown, ok := errors.AsType[query.UnknownNameError](err); ok {
		return httpapi.Error{Status: http.StatusNotFound, Message: "Unable to resolve one or more UIDs", Details: unknown.Error()}
	}
	if err != nil {
		return err
	}
	out := lookupAnswer{Type: "LOOKUP", Metric: asked.Metric, Tags: asked.Tags, Limit: asked.Limit, StartIndex: asked.StartIndex, TotalResults: len(found)}
	if out.Tags == nil {
		out.Tags = []query.LookupTag{}
	}
	out.Results = make([]foundSeries, 0, len(found))
	for _, s := range found {
		tags := make(map[string]string, len(s.Tags))
		for _, tag := range s.Tags {
			tags[tag.Key] = tag.Value
		}
		out.Results = append(out.Results, foundSeries{fmt.Sprintf("%X", s.TSUID), s.Metric, tags})
	}
	out.Time = float64(a.o.Now().Sub(begin).Milliseconds())
	httpapi.WriteJSON(w, r.Request, http.StatusOK, out)
	return nil
}

func parseLookup(w http.ResponseWriter, r *httpapi.Request) (*query.Lookup, error) {
	if r.Verb != http.MethodPost {
		return query.ParseLookup(r.URL.Query())
	}
	body, err := httpapi.ReadBody(w, r)
	if err != nil {
		return nil, err
	}
	return query.ParseLookupJSON(body)
}
