package e2e_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"go.yaml.in/yaml/v3"
)

// TestCompose loads docker-compose.yml as Docker does and compares it with the checkout, since the
// test has no Docker to start it.
func TestCompose(t *testing.T) {
	needE2E(t)
	t.Parallel()
	p := loadCompose(t, "docker-compose.yml")
	checkServices(t, p, "[grafana hbase prometheus tables tsdbridge]")
	t.Run("command of tables", func(t *testing.T) { checkTablesCommand(t, p.Services["tables"]) })
	t.Run("command of tsdbridge", func(t *testing.T) { checkServeCommand(t, p.Services["tsdbridge"]) })
}

// TestComposeEmbedded does so with docker-compose.embedded.yml.
func TestComposeEmbedded(t *testing.T) {
	needE2E(t)
	t.Parallel()
	p := loadCompose(t, "docker-compose.embedded.yml")
	checkServices(t, p, "[grafana prometheus tsdbridge]")
	s := p.Services["tsdbridge"]
	command := slices.Clone(s.Command)
	for from, to := range map[string]string{"--storage.path=/data": "--storage.path=" + t.TempDir(), "--carbon.listen-address=:2003": withCarbon} {
		at := slices.Index(command, from)
		if at < 0 {
			t.Fatalf("%q lacks %s", command, from)
		}
		command[at] = to
	}
	if mounted(t, s, "/data") == "" || !s.ReadOnly {
		t.Errorf("no volume, or a root that can be written: %+v", s)
	}
	a := launchAdapter(t, command...)
	a.WaitReady(t)
	a.Stop(t)
}

// checkServices compares the services with the checkout.
func checkServices(t *testing.T, p *types.Project, want string) {
	t.Helper()
	names := p.ServiceNames()
	slices.Sort(names)
	if got := fmt.Sprint(names); got != want {
		t.Errorf("services %s, want %s", got, want)
	}
	for _, name := range names {
		s := p.Services[name]
		t.Run(name, func(t *testing.T) {
			checkBuild(t, s)
			checkVolumes(t, p, s)
			for on, d := range s.DependsOn {
				if d.Condition == types.ServiceConditionHealthy && !hasHealthCheck(t, p.Services[on]) {
					t.Errorf("waits for %s to be healthy, which has no health check", on)
				}
			}
		})
	}
	t.Run("prometheus.yml", func(t *testing.T) { checkPrometheusFile(t, p) })
	t.Run("data sources", func(t *testing.T) { checkDataSources(t, p) })
}

func loadCompose(t *testing.T, name string) *types.Project {
	t.Helper()
	o, err := cli.NewProjectOptions([]string{filepath.Join(moduleRoot, name)}, cli.WithResolvedPaths(true))
	if err != nil {
		t.Fatal(err)
	}
	p, err := o.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// checkBuild checks that a service has an image, or a Dockerfile whose files exist.
func checkBuild(t *testing.T, s types.ServiceConfig) {
	t.Helper()
	if s.Build == nil {
		if !regexp.MustCompile(`:v?\d+\.\d+`).MatchString(s.Image) {
			t.Errorf("image %q names no version", s.Image)
		}
		return
	}
	for _, m := range regexp.MustCompile(`(?m)^COPY (.*) \S+$`).FindAllStringSubmatch(dockerfile(t, s), -1) {
		for source := range strings.FieldsSeq(m[1]) {
			if strings.HasPrefix(source, "--from=") {
				break // from another stage
			}
			if _, err := os.Stat(filepath.Join(s.Build.Context, source)); err != nil {
				t.Errorf("COPY: %v", err)
			}
		}
	}
}

func dockerfile(t *testing.T, s types.ServiceConfig) string {
	t.Helper()
	return readFile(t, filepath.Join(s.Build.Context, s.Build.Dockerfile))
}

func hasHealthCheck(t *testing.T, s types.ServiceConfig) bool {
	t.Helper()
	if s.HealthCheck != nil {
		return !s.HealthCheck.Disable
	}
	return s.Build != nil && strings.Contains(dockerfile(t, s), "\nHEALTHCHECK ")
}

// checkVolumes checks that what is mounted from the checkout exists, and that everything else is a
// volume of the project.
func checkVolumes(t *testing.T, p *types.Project, s types.ServiceConfig) {
	t.Helper()
	for _, v := range s.Volumes {
		switch v.Type {
		case types.VolumeTypeBind:
			if _, err := os.Stat(v.Source); err != nil || !v.ReadOnly {
				t.Errorf("mount %s: read-only %v, %v", v.Source, v.ReadOnly, err)
			}
		case types.VolumeTypeVolume:
			if _, ok := p.Volumes[v.Source]; !ok {
				t.Errorf("volume %s is not declared", v.Source)
			}
		default:
			t.Errorf("mount %+v is of an unknown type", v)
		}
	}
}

// mounted returns the file or folder of the checkout that a service sees as target.
func mounted(t *testing.T, s types.ServiceConfig, target string) string {
	t.Helper()
	i := slices.IndexFunc(s.Volumes, func(v types.ServiceVolumeConfig) bool { return v.Target == target })
	if i < 0 {
		t.Fatalf("%s has no %s", s.Name, target)
	}
	return s.Volumes[i].Source
}

// checkURL checks that a URL leads to a service, at a port that is also published.
func checkURL(t *testing.T, p *types.Project, text string) {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	s, ok := p.Services[u.Hostname()]
	if !ok || !slices.ContainsFunc(s.Ports, func(port types.ServicePortConfig) bool { return fmt.Sprint(port.Target) == u.Port() }) {
		t.Errorf("%s leads to no service's port", text)
	}
}

// checkPrometheusFile checks the configuration with Prometheus' own tool.
func checkPrometheusFile(t *testing.T, p *types.Project) {
	t.Helper()
	path := mounted(t, p.Services["prometheus"], "/etc/prometheus/prometheus.yml")
	if out, err := exec.CommandContext(t.Context(), prometheusBinary(t, "promtool"), "check", "config", path).CombinedOutput(); err != nil {
		t.Errorf("promtool check config: %v\n%s", err, out)
	}
	var c struct {
		Write []struct{ URL string } `yaml:"remote_write"`
	}
	if err := yaml.Unmarshal([]byte(readFile(t, path)), &c); err != nil || len(c.Write) != 1 {
		t.Fatalf("remote_write %+v: %v", c, err)
	}
	checkURL(t, p, c.Write[0].URL)
}

func checkDataSources(t *testing.T, p *types.Project) {
	t.Helper()
	dir := filepath.Join(mounted(t, p.Services["grafana"], "/etc/grafana/provisioning"), "datasources")
	files, err := filepath.Glob(filepath.Join(dir, "*.yml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no data sources in %s: %v", dir, err)
	}
	for _, file := range files {
		var c struct{ Datasources []struct{ Type, URL string } }
		if err := yaml.Unmarshal([]byte(readFile(t, file)), &c); err != nil || len(c.Datasources) == 0 {
			t.Fatalf("%s: %+v: %v", file, c, err)
		}
		for _, d := range c.Datasources {
			if d.Type != "prometheus" && d.Type != "graphite" {
				t.Errorf("%s: data source of type %q", file, d.Type)
			}
			checkURL(t, p, d.URL)
		}
	}
}

// checkTablesCommand runs the command with the one flag that makes it work without HBase.
func checkTablesCommand(t *testing.T, s types.ServiceConfig) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), adapterBinary(t), append(s.Command, "--dry-run")...).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "'tsdb-meta'") {
		t.Errorf("%q: %v\n%s", s.Command, err, out)
	}
}

// checkServeCommand runs the command with a free port in place of the published one: it starts,
// listens, and reports that HBase is missing.
func checkServeCommand(t *testing.T, s types.ServiceConfig) {
	t.Helper()
	const carbon = "--carbon.listen-address=:2003"
	command := slices.Clone(s.Command)
	at := slices.Index(command, carbon)
	if at < 0 || !slices.ContainsFunc(s.Ports, func(p types.ServicePortConfig) bool { return p.Target == 2003 && p.Protocol == "udp" }) {
		t.Fatalf("%q: no %s, or its port is not published", command, carbon)
	}
	command[at] = withCarbon
	a := launchAdapter(t, command...)
	if r := a.Get(t, "/-/ready"); r.status != http.StatusServiceUnavailable || !strings.Contains(string(r.body), "HBase") {
		t.Errorf("ready without HBase: %v, want 503 and who does not answer", r)
	}
	a.Stop(t)
}
