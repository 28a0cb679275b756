package adapter

import (
	"regexp"
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// release is the version of this source.
const release = "0.1.0"

// stamped is the revision if the build gives it, for sources without a repository around them:
//
//	go build -ldflags "-X github.com/tsdbridge/tsdbridge/adapter.stamped=REVISION"
var stamped string

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
	if stamped != "" || !ok {
		return stamped
	}
	return revisionOf(info)
}

// pseudoVersion is a version of a module that no tag has: it ends in time and revision.
var pseudoVersion = regexp.MustCompile(`[-.]\d{14}-([0-9a-f]{12})$`)

// revisionOf finds the commit in what go build writes, or in the version that go install was asked for.
func revisionOf(info *debug.BuildInfo) string {
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	if m := pseudoVersion.FindStringSubmatch(info.Main.Version); m != nil {
		return m[1]
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
