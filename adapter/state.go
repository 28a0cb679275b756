package adapter

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	dto "github.com/prometheus/client_model/go"

	"github.com/tsdbridge/tsdbridge/adapter/status"
	"github.com/tsdbridge/tsdbridge/adapter/tables"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// registerState registers the metrics that tell whether the process serves.
func (a *Adapter) registerState(probe *status.Probe) {
	f := promauto.With(a.registry)
	gauge := func(name, help string, value func() float64) {
		f.NewGaugeFunc(prometheus.GaugeOpts{Name: "tsdbridge_" + name, Help: help}, value)
	}
	gauge("ready", "1 if queries can be answered and the tables are reachable, as /-/ready reports; else 0.", func() float64 {
		return truth(probe.Check(context.Background()) == nil)
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

// describe writes the state of the parts: whether points are taken, and if not why; which files are
// damaged; the trees.
func (a *Adapter) describe(w io.Writer) {
	if err := a.store.Refuses(); err != nil {
		fmt.Fprintf(w, "writes refused: %v\n", err)
	} else {
		fmt.Fprintln(w, "writes: taken")
	}
	if a.webConfig != nil {
		if err := a.webConfig.Broken(); err != nil {
			fmt.Fprintf(w, "web configuration ignored, the passwords and certificates from before stay in use: %s: %v\n", a.o.WebConfigFile, err)
		}
	}
	if engine, ok := a.db.(kv.Local); ok {
		for _, file := range engine.Damaged() {
			fmt.Fprintf(w, "damaged: %s\n", file)
		}
	}
	if closed, ok := a.store.ClosedRows(); ok {
		fmt.Fprintln(w, closed)
	}
	a.trees.Describe(w)
}

// gatherer returns the metrics of the process and of its libraries, without those of libraries that do nothing
// here.
func (a *Adapter) gatherer() prometheus.Gatherer {
	unused := []string{"prometheus_remote_storage_", "prometheus_template_"}
	if a.o.Engine != tables.EngineHBase {
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
