package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

const (
	prometheusModule = "github.com/prometheus/prometheus"
	victoriaPackage  = "victoria-metrics" // of Debian, and the name of its program
)

// programs are the servers that the benchmarks start. A peer that is not available stays empty, and
// missing has the reason.
type programs struct {
	ours, victoria, prometheus program
	otherVictorias             []program        // further versions, for queries
	missing                    map[string]error // by name
}

const (
	oursName       = "tsdbridge"
	victoriaName   = "VictoriaMetrics"
	prometheusName = "Prometheus"
)

// find builds the adapter from the checkout, unless one is named, and Prometheus from the module
// that go.mod names, and looks for VictoriaMetrics.
func find(ctx context.Context, dir string, o options) (*programs, error) {
	p := &programs{missing: map[string]error{}}
	var err error
	if p.ours, err = findOurs(ctx, dir, o); err != nil {
		return nil, err
	}
	if path, version, err := prometheusBinary(ctx); err != nil {
		p.missing[prometheusName] = err
	} else {
		p.prometheus = prometheusProgram(path, version)
	}
	victoria, others, _ := strings.Cut(o.victoria, ",")
	for other := range strings.FieldsFuncSeq(others, func(r rune) bool { return r == ',' }) {
		more, err := victoriaProgram(ctx, other)
		if err != nil {
			return nil, err
		}
		more.name += " (" + more.version + ")"
		p.otherVictorias = append(p.otherVictorias, more)
	}
	if path, err := exec.LookPath(victoria); err != nil {
		p.missing[victoriaName] = fmt.Errorf("%w (Debian: apt-get install victoria-metrics, or -victoria-metrics=PATH)", err)
	} else if p.victoria, err = victoriaProgram(ctx, path); err != nil {
		p.missing[victoriaName] = err
	}
	return p, nil
}

func findOurs(ctx context.Context, dir string, o options) (program, error) {
	if o.ours != "" {
		path, err := filepath.Abs(o.ours)
		return ours(path, o.ours), err
	}
	path := filepath.Join(dir, oursName)
	_, err := goTool(ctx, "build", "-o", path, ".")
	return ours(path, checkout(ctx)), err
}

// goTool runs the go command in the adapter's module and returns what it prints.
func goTool(ctx context.Context, args ...string) (string, error) {
	dir, err := output(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/tsdbridge/tsdbridge")
	if err != nil {
		return "", err
	}
	return output(ctx, "go", append([]string{"-C", dir}, args...)...)
}

// output runs a program and returns what it prints.
func output(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, bytes.TrimSpace(complaints.Bytes()))
	}
	return strings.TrimSpace(string(out)), nil
}

// checkout returns the commit that is measured.
func checkout(ctx context.Context) string {
	version, err := output(ctx, "git", "describe", "--always", "--dirty")
	if err != nil {
		return "unknown commit"
	}
	return version
}

// ours returns the adapter on the embedded engine. What it acknowledges is on disk.
func ours(path, version string) program {
	return program{
		name: oursName, path: path, version: version, write: "/api/v1/write", otlp: "/api/v1/otlp/v1/metrics", put: "/api/put", one: true,
		ready: "/-/ready",
		count: countByReading,
		args: func(data string, a addresses) []string {
			return []string{
				"--web.listen-address=" + a.http, "--carbon.listen-address=" + a.carbon, "--no-carbon.udp",
				"--opentsdb.listen-address=" + a.telnet, "--storage.path=" + data, "--write.mode=buffered",
			}
		},
		compact: func(ctx context.Context, s *server) error {
			_, err := output(ctx, s.path, "tables", "compact", "--storage.path="+s.data())
			return err
		},
	}
}

// builtVersion returns the version of a VictoriaMetrics that prints none: one built from its module, or Debian's.
func builtVersion(ctx context.Context, path string) string {
	if info, err := buildinfo.ReadFile(path); err == nil && strings.HasPrefix(info.Main.Version, "v") {
		return info.Main.Version
	}
	version, err := output(ctx, "dpkg-query", "-W", "-f", "${Package} ${Version}", victoriaPackage)
	if err != nil {
		return "unknown version"
	}
	return version
}

func victoriaProgram(ctx context.Context, path string) (program, error) {
	version, err := output(ctx, path, "-version")
	if err == nil && version == "" {
		version = builtVersion(ctx, path)
	}
	return program{
		name: victoriaName, path: path, version: version, write: "/api/v1/write", otlp: "/opentelemetry/v1/metrics", put: "/api/put", ready: "/health",
		count: countByQuery,
		args: func(data string, a addresses) []string {
			return []string{
				"-storageDataPath=" + data, "-retentionPeriod=10y", "-httpListenAddr=" + a.http, "-graphiteListenAddr=" + a.carbon,
				"-opentsdbListenAddr=" + a.telnet, "-opentsdbHTTPListenAddr=" + a.put, "-search.disableCache", "-search.latencyOffset=0s",
				// the labels that tsdbridge gives to series of OpenTelemetry, instead of all
				"-opentelemetry.promoteAllResourceAttributes=false", "-opentelemetry.promoteResourceAttributes=service.name,service.instance.id",
				"-opentelemetry.promoteScopeMetadata=false", "-search.maxUniqueTimeseries=2000000", "-search.maxSeries=2000000", "-search.maxPointsPerTimeseries=100000",
			}
		},
		settle: func(ctx context.Context, s *server) (int64, error) {
			for _, path := range []string{"/internal/force_flush", "/internal/force_merge"} {
				if _, err := s.get(ctx, path, nil); err != nil {
					return 0, err
				}
			}
			if err := s.quiet(ctx); err != nil {
				return 0, err
			}
			return bytesIn(s.data())
		},
	}, err
}

func prometheusProgram(path, version string) program {
	return program{
		name: prometheusName, path: path, version: version, write: "/api/v1/write", otlp: "/api/v1/otlp/v1/metrics", ready: "/-/ready",
		count: countByReading,
		args: func(data string, a addresses) []string {
			config := filepath.Join(data, "..", "prometheus.yml")
			if err := os.WriteFile(config, nil, 0o644); err != nil {
				config = os.DevNull
			}
			return []string{
				"--config.file=" + config, "--storage.tsdb.path=" + data, "--storage.tsdb.retention.time=10y", "--web.listen-address=" + a.http,
				"--web.enable-remote-write-receiver", "--web.enable-otlp-receiver", "--web.enable-admin-api", "--query.max-samples=500000000", "--log.level=warn",
			}
		},
		// A snapshot writes what is in memory into a block, as the server itself would at the
		// latest after three hours.
		settle: func(ctx context.Context, s *server) (int64, error) {
			if _, err := s.do(ctx, http.MethodPost, "http://"+s.http+"/api/v1/admin/tsdb/snapshot"); err != nil {
				return 0, err
			}
			return bytesIn(filepath.Join(s.data(), "snapshots"))
		},
	}
}

// prometheusBinary builds Prometheus once for each version, which takes minutes. The end-to-end
// tests use the same binary.
func prometheusBinary(ctx context.Context) (path, version string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", "", err
	}
	version, err = goTool(ctx, "list", "-m", "-f", "{{.Version}}", prometheusModule)
	if err != nil {
		return "", "", err
	}
	dir := filepath.Join(cache, "tsdbridge-e2e", fmt.Sprintf("prometheus-%s-%s-%s", version, runtime.Version(), runtime.GOARCH))
	path = filepath.Join(dir, "prometheus")
	if _, err := os.Stat(path); err == nil {
		return path, version, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", "", err
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), "building")
	if err != nil {
		return "", "", err
	}
	defer os.RemoveAll(work)
	_, err = goTool(ctx, "build", "-o", work+string(filepath.Separator), prometheusModule+"/cmd/prometheus", prometheusModule+"/cmd/promtool")
	if err != nil {
		return "", "", err
	}
	if err := os.Rename(work, dir); err != nil && !os.IsExist(err) {
		return "", "", err
	}
	return path, version, nil
}
