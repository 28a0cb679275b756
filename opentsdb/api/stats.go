package api

import (
	"net/http"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/tsdbridge/tsdbridge/opentsdb/api/evaluation"
	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
)

// stats answers /api/stats and what is below it.
func (a *API) stats(w http.ResponseWriter, r *httpapi.Request) error {
	switch r.Below() {
	case "query":
		httpapi.WriteJSON(w, r.Request, http.StatusOK, a.queryStats())
	case "jvm":
		httpapi.WriteJSON(w, r.Request, http.StatusOK, a.processStats())
	case "threads":
		httpapi.WriteJSON(w, r.Request, http.StatusOK, []any{threads()})
	case "region_clients":
		httpapi.WriteJSON(w, r.Request, http.StatusOK, []any{}) // /metrics has what is known of the connections to HBase
	default:
		now, all := a.o.Now(), []any{}
		for _, s := range a.Statistics() {
			all = append(all, s.Document(now, a.o.Host))
		}
		httpapi.WriteJSON(w, r.Request, http.StatusOK, all)
	}
	return nil
}

// Statistics returns what the API and the process count, by the names of a TSD. Those of its JVM and of
// HBase's client have no counterpart and are left out.
func (a *API) Statistics() []httpapi.Statistic {
	var all []httpapi.Statistic
	if a.o.Statistics != nil {
		all = a.o.Statistics()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	all = append(
		all,
		httpapi.Statistic{Name: "rpc.received", Value: a.kept.requests.Load(), Tags: "type=http"},
		httpapi.Statistic{Name: "rpc.exceptions", Value: a.kept.exceptions.Load()},
	)
	return append(
		append(all, a.kept.evaluator.Statistics()...),
		httpapi.Statistic{Name: "jvm.ramfree", Value: int64(m.HeapIdle)}, //nolint:gosec // far below 2^63
		httpapi.Statistic{Name: "jvm.ramused", Value: int64(m.HeapInuse)},
		httpapi.Statistic{Name: "jvm.thread.count", Value: int64(runtime.NumGoroutine())},
	)
}

// oldStats answers /stats: lines, or a list of lines.
func (a *API) oldStats(w http.ResponseWriter, r *httpapi.Request) error {
	now := a.o.Now()
	var text []byte
	lines := []string{}
	for _, s := range a.Statistics() {
		line := s.Line(nil, now, a.o.Host)
		text = append(text, line...)
		lines = append(lines, string(line[:len(line)-1]))
	}
	if r.URL.Query().Has("json") {
		return httpapi.WriteOld(w, r, lines)
	}
	w.Header().Set("Content-Type", "text/plain")
	_, _ = w.Write(text) // a client that is gone loses the answer
	return nil
}

// queryStats are the queries under way and those that ended last.
func (a *API) queryStats() any {
	under, completed := []any{}, []any{}
	for _, q := range a.kept.evaluator.Running() {
		under = append(under, map[string]any{
			"query": q.Text, "queryStartTimestamp": q.Started.UnixMilli(), "elapsed": milliseconds(time.Since(q.Started)), "remote": q.Client, "id": q.ID,
		})
	}
	for _, f := range a.kept.evaluator.Completed() {
		status, exception := http.StatusOK, "null" // as a TSD prints it
		if f.Err != nil {
			e := evaluation.StatusOf(f.Err)
			status, exception = e.Status, e.Message
		}
		completed = append(completed, map[string]any{
			"query": f.Text, "exception": exception, "executed": 1, "remote": f.Client,
			"httpResponse":        map[string]any{"code": status, "reasonPhrase": http.StatusText(status)},
			"queryStartTimestamp": f.Begin.UnixMilli(), "queryCompletedTimestamp": f.End.UnixMilli(),
			"stats": map[string]any{"dpsPreFilter": f.Samples, "processingPreWriteTime": milliseconds(f.End.Sub(f.Begin))},
		})
	}
	return map[string]any{"running": under, "completed": completed}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// processStats are those of a Go process where a TSD shows its JVM.
func (a *API) processStats() any {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return map[string]any{
		"runtime": map[string]any{
			"startTime": a.kept.begun.UnixMilli(), "uptime": a.o.Now().Sub(a.kept.begun).Milliseconds(), "vmName": "Go", "vmVendor": "", "vmVersion": runtime.Version(),
		},
		"memory": map[string]any{
			"heapMemoryUsage":            map[string]any{"init": 0, "used": m.HeapAlloc, "committed": m.HeapSys - m.HeapReleased, "max": debug.SetMemoryLimit(-1)},
			"nonHeapMemoryUsage":         map[string]any{"init": 0, "used": m.Sys - m.HeapSys, "committed": m.Sys - m.HeapSys, "max": -1},
			"objectsPendingFinalization": 0,
		},
		"gc":    map[string]any{"go": map[string]any{"collectionCount": m.NumGC, "collectionTime": m.PauseTotalNs / uint64(time.Millisecond)}},
		"pools": map[string]any{},
		"os":    map[string]any{"systemLoadAverage": -1}, // a JVM's value for "not known"
	}
}

// threads stands for all goroutines. Their stacks are at /debug/pprof, which a flag opens.
func threads() any {
	return map[string]any{
		"threadID": 0, "name": "goroutines", "state": "RUNNABLE", "interrupted": false, "priority": 0, "stack": []string{}, "count": runtime.NumGoroutine(),
	}
}
