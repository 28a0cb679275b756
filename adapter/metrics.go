package adapter

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5/middleware"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	dto "github.com/prometheus/client_model/go"
)

// registerState registers the metrics that tell whether the process serves.
func (a *Adapter) registerState(status *statusHandler) {
	f := promauto.With(a.registry)
	gauge := func(name, help string, value func() float64) {
		f.NewGaugeFunc(prometheus.GaugeOpts{Name: "tsdbridge_" + name, Help: help}, value)
	}
	gauge("ready", "1 if queries can be answered and the tables are reachable, as /-/ready tells; else 0.", func() float64 {
		return truth(status.check(context.Background()) == nil)
	})
	gauge("store_refuses_writes", "1 while points are refused with 503: no space on the disk or in the log, or the store is away and memory is full.", func() float64 {
		return truth(a.store.Refuses() != nil)
	})
	gauge("time_seconds", "The clock of this machine, in seconds since 1970.", func() float64 {
		return float64(a.o.Now().UnixMilli()) / 1000
	})
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// responseCounter counts the answers of the HTTP port by their API and status. Those of remote write, which have
// metrics of their own, do not come here.
func (a *Adapter) responseCounter() (of func(api string) func(http.Handler) http.Handler) {
	vec := promauto.With(a.registry).NewCounterVec(prometheus.CounterOpts{
		Name: "tsdbridge_web_responses_total", Help: "Answers of the HTTP port, by API and status, but for those of remote write.",
	}, []string{"api", "code"})
	return func(api string) func(http.Handler) http.Handler {
		vec.WithLabelValues(api, "200")
		return func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				answer := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
				defer func() {
					code := answer.Status()
					if code == 0 {
						code = http.StatusOK
					}
					vec.WithLabelValues(api, strconv.Itoa(code)).Inc()
				}()
				next.ServeHTTP(answer, r)
			})
		}
	}
}

// gatherer returns the metrics of the process and of its libraries, without those of libraries that do nothing
// here.
func (a *Adapter) gatherer() prometheus.Gatherer {
	unused := []string{"prometheus_remote_storage_", "prometheus_template_"}
	if a.o.Engine != EngineHBase {
		unused = append(unused, "gohbase_")
	}
	libraries := prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		all, err := prometheus.DefaultGatherer.Gather()
		return slices.DeleteFunc(all, func(f *dto.MetricFamily) bool {
			return slices.ContainsFunc(unused, func(prefix string) bool { return strings.HasPrefix(f.GetName(), prefix) })
		}), err
	})
	return prometheus.Gatherers{a.registry, libraries}
}
