package query

import (
	"net/http"

	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/limits"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/lookback"
)

// lookbackParameter gives a query rules of its own, in the words of --query.lookback. "off" is none.
const lookbackParameter = "lookback"

// lookbackRules reads the values of lookbackParameter.
func lookbackRules(texts []string) (lookback.Rules, error) {
	if len(texts) == 0 || len(texts) == 1 && texts[0] == "off" {
		return nil, nil
	}
	err := limits.Regexps(texts...)
	if err != nil {
		return nil, badData(invalid(lookbackParameter, err))
	}
	rules, err := lookback.Parse(texts)
	if err != nil {
		return nil, badData(invalid(lookbackParameter, err))
	}
	return rules, nil
}

// withLookbacks gives a query the rules that its request names.
func withLookbacks(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		texts := r.Form[lookbackParameter]
		if len(texts) == 0 {
			next.ServeHTTP(w, r)
			return
		}
		rules, err := lookbackRules(texts)
		if err != nil {
			httpapi.APIError(w, err)
			return
		}
		next.ServeHTTP(w, r.WithContext(lookback.With(r.Context(), rules)))
	})
}
