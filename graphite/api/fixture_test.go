package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/graphite/events"
	"github.com/tsdbridge/tsdbridge/graphite/graphitetest"
)

// webNow is about the time at which the recorded requests without now were made.
const webNow = graphitetest.Now

// web is the API over a store in memory.
type web struct {
	*graphitetest.Store

	api    *API
	router chi.Router
}

// newWeb returns an API over an empty store. Options may be changed before the API is made.
func newWeb(t testing.TB, change ...func(*Options)) *web {
	t.Helper()
	return newWebOver(graphitetest.New(t), change...)
}

// newWebOver returns the API over a store.
func newWebOver(store *graphitetest.Store, change ...func(*Options)) *web {
	options := Options{
		Store: store, Catalog: store.Catalog(), Documents: store.Documents(), Archives: store.Archives(), Trees: store.Trees, Names: store.Names, Events: events.New(store.Annotations()), Registrar: store, Deleter: store, Limits: DefaultLimits(),
		Registerer: prometheus.NewRegistry(), Now: func() time.Time { return time.Unix(webNow, 0) },
	}
	for _, c := range change {
		c(&options)
	}
	w := &web{Store: store, api: New(options), router: chi.NewRouter()}
	w.api.Routes(w.router)
	return w
}

// mount applies changed options.
func (w *web) mount() {
	w.api.divide(w.api.finder.sent)
	w.router = chi.NewRouter()
	w.api.Routes(w.router)
}

// get sends a request.
func (w *web) get(url string) *httptest.ResponseRecorder {
	return w.do(httptest.NewRequest(http.MethodGet, url, nil))
}

func (w *web) do(r *http.Request) *httptest.ResponseRecorder {
	out := httptest.NewRecorder()
	w.router.ServeHTTP(out, r)
	return out
}

// post sends a form.
func (w *web) post(url, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, url, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return w.do(r)
}
