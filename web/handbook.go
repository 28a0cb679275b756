package web

import (
	"net/http"
	"path"
	"sync"

	"github.com/go-chi/chi/v5"

	"github.com/tsdbridge/tsdbridge/docs"
	"github.com/tsdbridge/tsdbridge/docs/site"
)

// handbookPath is where the handbook is.
const handbookPath = "/docs/"

// handbookPolicies are the Content-Security-Policies of the files of the handbook by their kind. The pictures have
// styles in themselves.
var handbookPolicies = map[string]string{
	".html": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	".svg":  "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
}

// handbook returns the files of the handbook. They are rendered when the first one is asked for.
var handbook = sync.OnceValue(func() map[string]asset {
	files, err := site.Render(docs.Files)
	if err != nil {
		panic(err) // they are in the binary, and a test renders them
	}
	all := map[string]asset{}
	for name, content := range files {
		all[name] = newAsset(name, content)
	}
	return all
})

// routeHandbook serves the handbook.
func routeHandbook(r chi.Router) {
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		r.MethodFunc(method, "/docs", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "docs/") // relative: the path may have a prefix that was cut off
			w.WriteHeader(http.StatusPermanentRedirect)
		})
		r.MethodFunc(method, handbookPath+"*", serveHandbook)
	}
}

func serveHandbook(w http.ResponseWriter, r *http.Request) {
	name := chi.URLParam(r, "*")
	if name == "" {
		name = "index.html"
	}
	a, ok := handbook()[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	policy, ok := handbookPolicies[path.Ext(name)]
	if !ok {
		policy = assetPolicy
	}
	a.serve(w, r, policy)
}
