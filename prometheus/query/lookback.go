package query

import (
	"fmt"
	"net/http"

	"github.com/prometheus/prometheus/promql"

	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/limits"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/lookback"
)

// lookbackParameter gives a query rules of its own, in the words of --query.lookback. "off" is none.
const lookbackParameter = "lookback"

// lookbacks returns an engine that looks back as far as the series' rules tell.
func (a *API) lookbacks(next promql.QueryEngine) promql.QueryEngine {
	rules, _ := lookback.Parse(a.o.Lookbacks) // checked by Validate
	return &lookback.Engine{Next: next, Rules: rules, Base: a.o.Lookback, Steps: a.o.Steps, Parser: a.parser}
}

// withLookbacks gives a query the rules that its request names.
func withLookbacks(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		texts := r.Form[lookbackParameter]
		if len(texts) == 0 {
			next.ServeHTTP(w, r)
			return
		}
		var rules lookback.Rules
		if len(texts) != 1 || texts[0] != "off" {
			err := limits.Regexps(texts...)
			if err == nil {
				rules, err = lookback.Parse(texts)
			}
			if err != nil {
				httpapi.APIError(w, badData(fmt.Errorf("invalid parameter %q: %w", lookbackParameter, err)))
				return
			}
		}
		next.ServeHTTP(w, r.WithContext(lookback.With(r.Context(), rules)))
	})
}
