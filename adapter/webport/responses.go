package webport

import (
	"context"
	"net/http"
	"strconv"

	"github.com/go-chi/chi/v5/middleware"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// A responseCounter counts the answers of the HTTP port, by their API and status.
type responseCounter struct{ answers *prometheus.CounterVec }

// otherAPI is the label of answers that no API gave: pages, status, and what is refused before.
const otherAPI = "other"

func newResponseCounter(r prometheus.Registerer) responseCounter {
	vec := promauto.With(r).NewCounterVec(prometheus.CounterOpts{
		Name: "tsdbridge_web_responses_total", Help: "Answers of the HTTP port, by API and status.",
	}, []string{"api", "code"})
	for _, api := range []string{"admin", "graphite", "opentsdb", otherAPI, "prometheus", "remote write"} {
		vec.WithLabelValues(api, "200")
	}
	return responseCounter{vec}
}

type answeringKey struct{}

// handler counts the answers of next, which is all that answers.
func (c responseCounter) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, api := middleware.NewWrapResponseWriter(w, r.ProtoMajor), otherAPI
		defer func() {
			code := answer.Status()
			if code == 0 {
				code = http.StatusOK
			}
			c.answers.WithLabelValues(api, strconv.Itoa(code)).Inc()
		}()
		next.ServeHTTP(answer, r.WithContext(context.WithValue(r.Context(), answeringKey{}, &api)))
	})
}

// AnsweredBy has the answers of a handler counted as those of an API.
func AnsweredBy(api string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if of, ok := r.Context().Value(answeringKey{}).(*string); ok {
				*of = api
			}
			next.ServeHTTP(w, r)
		})
	}
}
