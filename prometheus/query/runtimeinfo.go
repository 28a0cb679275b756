package query

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"time"

	"github.com/prometheus/common/model"
	v1 "github.com/prometheus/prometheus/web/api/v1"
)

// buildInfo returns the version of Prometheus whose API this is, and the revision of this program.
func (o Options) buildInfo() *v1.PrometheusVersion {
	return &v1.PrometheusVersion{Version: promVersion, Revision: o.Revision, GoVersion: runtime.Version()}
}

// runtimeInfo describes this process. Nothing is corrupt while it runs: a damaged log ends the start, and
// damaged rows fail the queries that read them.
func (o Options) runtimeInfo() (v1.RuntimeInfo, error) {
	success, last := true, o.Started
	if o.LastReload != nil {
		success, last = o.LastReload()
	}
	directory, err := os.Getwd()
	if err != nil {
		directory = "<error retrieving current working directory>" // as in Prometheus
	}
	host, err := os.Hostname()
	return v1.RuntimeInfo{
		StartTime:           o.Started.UTC(),
		CWD:                 directory,
		Hostname:            host,
		ServerTime:          time.Now().UTC(),
		ReloadConfigSuccess: success,
		LastConfigTime:      last.UTC().Truncate(time.Second),
		GoroutineCount:      runtime.NumGoroutine(),
		GOMAXPROCS:          runtime.GOMAXPROCS(0),
		GOMEMLIMIT:          debug.SetMemoryLimit(-1),
		GOGC:                gogc(),
		GODEBUG:             os.Getenv("GODEBUG"),
		StorageRetention:    o.retention(),
	}, err
}

// gogc returns the percentage that the collector of garbage has. The flags and the memory decide it, in addition
// to the environment.
func gogc() string {
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	if metrics.Read(sample); sample[0].Value.Kind() != metrics.KindUint64 {
		return os.Getenv("GOGC")
	}
	if percent := sample[0].Value.Uint64(); percent < 1<<31 {
		return strconv.FormatUint(percent, 10)
	}
	return "off"
}

// retention returns how long points are kept as Prometheus writes it; "": for ever.
func (o Options) retention() string {
	if o.Retention == 0 {
		return ""
	}
	return model.Duration(o.Retention).String()
}
