package api

import (
	"context"
	"net/http"
	"strconv"

	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	"github.com/tsdbridge/tsdbridge/opentsdb/jackson"
	"github.com/tsdbridge/tsdbridge/storage"
)

// Names lists the names of tsdb-uid.
type Names interface {
	// Suggest returns the first names with a prefix, in order, at most so many.
	Suggest(ctx context.Context, kind storage.NameKind, prefix string, most int) ([]string, error)
}

// defaultSuggestions is how many names there are without a max.
const defaultSuggestions = 25

// mostSuggestions bounds the names of one answer.
const mostSuggestions = 100_000

// suggest answers /api/suggest.
func (a *API) suggest(w http.ResponseWriter, r *httpapi.Request) error {
	names, err := a.suggested(w, r)
	if err != nil {
		return err
	}
	httpapi.WriteJSON(w, r.Request, http.StatusOK, names)
	return nil
}

func (a *API) suggested(w http.ResponseWriter, r *httpapi.Request) ([]string, error) {
	p, err := suggestParameters(w, r)
	if err != nil {
		return nil, err
	}
	kind, ok := map[string]storage.NameKind{"metrics": storage.MetricName, "tagk": storage.TagKeyName, "tagv": storage.TagValueName}[p.Type]
	if !ok {
		return nil, httpapi.BadRequest("Invalid 'type' parameter:" + p.Type)
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

// reader reads texts, of which the others do not matter. So is max, the text of a number.
func (p *suggestion) reader(most *string) jackson.Reader {
	known := jackson.Fields{"type": jackson.Text(&p.Type), "q": jackson.Text(&p.Q), "max": jackson.Text(most)}
	return jackson.Any(func(name string) jackson.Reader {
		if read, ok := known[name]; ok {
			return read
		}
		return jackson.Text(new(string))
	})
}

func suggestParameters(w http.ResponseWriter, r *httpapi.Request) (p suggestion, err error) {
	most := ""
	if r.Verb == http.MethodPost {
		body, err := httpapi.ReadBody(w, r)
		if err != nil {
			return p, err
		}
		if err := jackson.Read(body, p.reader(&most)); err != nil {
			return p, httpapi.BadJSON(err)
		}
	} else {
		v := r.URL.Query()
		p.Type, p.Q, most = v.Get("type"), v.Get("q"), v.Get("max")
	}
	if most != "" {
		n, err := strconv.ParseInt(most, 10, 32)
		if err != nil {
			return p, httpapi.BadRequest("Unable to parse 'max' as a number")
		}
		p.Max = int(n)
	}
	if p.Type == "" {
		return p, httpapi.BadRequest("Missing parameter <code>type</code>")
	}
	return p, nil
}
