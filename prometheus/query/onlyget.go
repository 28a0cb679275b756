package query

import (
	"net/http"

	"github.com/grafana/regexp"
	"github.com/prometheus/prometheus/util/httputil"
)

// onlyGet begins an answer for pages of the origins that may ask, as the module does, and refuses all
// methods but GET. It reports whether there is something to answer.
func onlyGet(w http.ResponseWriter, r *http.Request, origins *regexp.Regexp) bool {
	httputil.SetCORS(w, origins, r)
	if r.Method == http.MethodGet {
		return true
	}
	w.Header().Set("Allow", http.MethodGet)
	http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
	return false
}
