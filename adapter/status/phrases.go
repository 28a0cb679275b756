package status

import (
	"errors"
	"net/http"

	"github.com/tsdbridge/tsdbridge/adapter/querytranslate"
	"github.com/tsdbridge/tsdbridge/graphite/tagspec"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/storage"
)

// phrasesPath says a query in all languages:
//
//	GET /api/v1/status/phrases?language=promql|graphite|opentsdb&query=Q
const phrasesPath = "/api/v1/status/phrases"

// maxPhrase is how many bytes a query may have.
const maxPhrase = 8 << 10

// A phrased is a query in one language, or why there is none.
type phrased struct {
	Query string `json:"query,omitempty"`
	Why   string `json:"why,omitempty"`
}

func (p *Pages) phrases(w http.ResponseWriter, r *http.Request) {
	language, text := querytranslate.Language(r.FormValue("language")), r.FormValue("query")
	if len(text) > maxPhrase {
		httpapi.BadRequest(w, errors.New("the query is longer than 8 KiB"))
		return
	}
	speaker := querytranslate.Speaker{Names: p.Names, Tag: tagspec.Tag, Dotted: func(metric string) bool {
		exist, err := p.Store.Catalog().Exists(r.Context(), []storage.Series{p.Names.FromPath(metric)})
		return err == nil && exist[0] && p.Names.Plain(p.Names.FromPath(metric))
	}}
	q, err := speaker.Read(language, text)
	if err != nil && !errors.Is(err, querytranslate.ErrNotExpressible) {
		httpapi.BadRequest(w, err)
		return
	}
	all := map[querytranslate.Language]phrased{}
	for _, l := range querytranslate.Languages() {
		said, failed := "", err
		switch {
		case l == language:
			said, failed = text, nil
		case err == nil:
			said, failed = speaker.Say(l, q)
		}
		if failed != nil {
			all[l] = phrased{Why: querytranslate.Reason(failed)}
			continue
		}
		all[l] = phrased{Query: said}
	}
	httpapi.JSON(w, http.StatusOK, httpapi.Frame{Status: "success", Data: all})
}
