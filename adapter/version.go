package adapter

import (
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// release is the version of this source.
const release = "0.1.0"

// Version returns the release with the revision that the binary was built from, as far as the build
// knows it.
func Version() string {
	if r := revision(); r != "" {
		return release + "+" + r[:min(len(r), 12)]
	}
	return release
}

// revision returns the commit that the binary was built from, "" if the build does not know it (go
// run does not).
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}

// registerBuildInfo registers the metric that describes this binary, always 1.
func registerBuildInfo(reg prometheus.Registerer) {
	promauto.With(reg).NewGauge(prometheus.GaugeOpts{
		Name: "tsdbridge_build_info", Help: "What this binary was built from; always 1.",
		ConstLabels: prometheus.Labels{
			"version": release, "revision": revision(), "goversion": runtime.Version(), "goos": runtime.GOOS, "goarch": runtime.GOARCH,
		},
	}).Set(1)
}
