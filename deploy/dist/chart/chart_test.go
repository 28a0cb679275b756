// Package chart_test renders the Helm chart as Helm does and reads the result as Kubernetes does.
package chart_test

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	sigsyaml "sigs.k8s.io/yaml"
)

const chartDir = "../../helm/tsdbridge"

var rewrite = flag.Bool("rewrite", false, "rewrite the plain manifests, deploy/kubernetes")

// variants are values that the chart is rendered with.
func variants() map[string]string {
	return map[string]string{
		"embedded": "{}",
		"embedded-all": `
carbon: {enabled: true}
opentsdb: {enabled: true}
config: {storage.retention: 2y, query: {timeout: 1m}, trees: [{name: servers, path: 'servers.{host}.{metric...}'}],
  write.dedup: {cluster-label: cluster, replica-label: __replica__},
  otlp: {promote_resource_attributes: [k8s.pod.name]},
  alerting: {alertmanagers: [{static_configs: [{targets: ["alertmanager:9093"]}]}]},
  remote_write: [{url: "http://mirror/api/v1/write", basic_auth: {username: us, password_file: /etc/tsdbridge-secrets/mirror/password}}]}
rules:
  hosts.yml:
    groups:
      - name: hosts
        rules:
          - {record: "job:up:sum", expr: sum by (job) (up)}
          - {alert: Down, expr: up == 0, for: 5m, annotations: {summary: "{{ $labels.instance }} is down"}}
secrets: [mirror]
persistence: {storageClass: fast, size: 1Ti, annotations: {a: b}}
webConfigSecret: web
probes: {scheme: HTTPS, httpHeaders: [{name: Authorization, value: Basic eDp5}]}
extraEnv: [{name: X, value: z}]
extraEnvFrom: [{secretRef: {name: secrets}}]
serviceMonitor: {enabled: true, labels: {release: prometheus}}
networkPolicy: {enabled: true, from: [{namespaceSelector: {matchLabels: {team: metrics}}}]}
podAnnotations: {a: b}
podLabels: {a: b}
nodeSelector: {disk: nvme}
tolerations: [{key: a, operator: Exists}]
topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]
affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}}}
priorityClassName: high
imagePullSecrets: [{name: pull}]
service: {type: LoadBalancer, annotations: {a: b}}
serviceAccount: {annotations: {a: b}}
`,
		"hbase": `
engine: hbase
hbase: {zookeeper: "zk-0.zk:2181,zk-1.zk:2181"}
persistence: {enabled: false}
networkPolicy: {enabled: true}
`,
		"hbase-log": `
engine: hbase
hbase: {zookeeper: "zk:2181", createTables: false}
replicas: 3
carbon: {enabled: true}
opentsdb: {enabled: true}
serviceAccount: {create: false}
podDisruptionBudget: {enabled: false}
fullnameOverride: metrics
image: {tag: 9.9.9}
`,
	}
}

// plain are the variants that are also kept as plain manifests, for clusters without Helm.
func plain() []string { return []string{"embedded", "hbase"} }

// render returns the manifests of a release called tsdb.
func render(t *testing.T, values string) (string, error) {
	t.Helper()
	chart, err := loader.LoadDir(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	given := map[string]any{}
	if err := sigsyaml.Unmarshal([]byte(values), &given); err != nil {
		t.Fatal(err)
	}
	all, err := util.ToRenderValues(chart, given, common.ReleaseOptions{Name: "tsdbridge", Namespace: "metrics", IsInstall: true}, nil)
	if err != nil {
		return "", err
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if text := strings.TrimSpace(files[name]); text != "" && strings.HasSuffix(name, ".yaml") {
			b.WriteString("---\n" + text + "\n")
		}
	}
	return b.String(), nil
}

// decode reads manifests strictly: a field that Kubernetes does not know is an error. A ServiceMonitor is not of
// Kubernetes, and is left out.
func decode(t *testing.T, manifests string) []runtime.Object {
	t.Helper()
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	var all []runtime.Object
	for r := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(manifests))); ; {
		text, err := r.Read()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte("kind: ServiceMonitor")) || len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		o, _, err := decoder.Decode(text, nil, nil)
		if err != nil {
			t.Errorf("%v in\n%s", err, text)
			continue
		}
		all = append(all, o)
	}
}

// Each variant is valid for Kubernetes, its pods keep the restricted standard, and its parts find each other.
func TestVariants(t *testing.T) {
	for name, values := range variants() {
		t.Run(name, func(t *testing.T) {
			manifests, err := render(t, values)
			if err != nil {
				t.Fatal(err)
			}
			r := gather(t, decode(t, manifests))
			r.checkPods(t)
			r.checkSelectors(t)
			if slices.Contains(plain(), name) {
				checkPlain(t, name, manifests)
			}
		})
	}
}

// The configuration of each variant is one that the adapter takes.
func TestConfigurations(t *testing.T) {
	dir := t.TempDir()
	binary, web := filepath.Join(dir, "tsdbridge"), filepath.Join(dir, "web.yml")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".")
	build.Dir, build.Env = "../../..", append(os.Environ(), "GOWORK=off")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	writeFile(t, web, "basic_auth_users: {}\n")
	all := variants()
	all["refused"] = "{config: {querry.timeout: 1m}}"
	for name, values := range all {
		manifests, err := render(t, values)
		if err != nil {
			t.Fatal(err)
		}
		r := gather(t, decode(t, manifests))
		// What is mounted is no file of this machine.
		rules := filepath.Join(dir, name)
		text := strings.NewReplacer("/etc/tsdbridge-web/web.yml", web, "/etc/tsdbridge-rules", rules).Replace(r.config.Data["tsdbridge.yml"])
		if strings.Contains(text, rules) != (r.rules != nil) {
			t.Errorf("%s: the rules are not those of the configuration:\n%s", name, text)
		}
		writeRules(t, rules, r.rules)
		file := filepath.Join(dir, name+".yml")
		writeFile(t, file, text)
		said, err := exec.CommandContext(t.Context(), binary, "check", "config", file).CombinedOutput()
		if (err == nil) == (name == "refused") {
			t.Errorf("check config of %s: %v\n%s\n%s", name, err, said, text)
		}
	}
}

// writeRules makes the directory that a pod mounts.
func writeRules(t *testing.T, dir string, rules *corev1.ConfigMap) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil || rules == nil {
		return
	}
	for name, text := range rules.Data {
		writeFile(t, filepath.Join(dir, name), text)
	}
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// checkPlain compares with the manifests of deploy/kubernetes.
func checkPlain(t *testing.T, name, manifests string) {
	t.Helper()
	file := filepath.Join("../../kubernetes", name+".yaml")
	manifests = "# Made from the chart deploy/helm/tsdbridge. See docs/install.md.\n" + manifests
	if *rewrite {
		if err := os.WriteFile(file, []byte(manifests), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil || string(got) != manifests {
		t.Errorf("%s is not what the chart makes (%v): make golden-dist", file, err)
	}
}

// rendered is what a variant consists of.
type rendered struct {
	config   *corev1.ConfigMap
	rules    *corev1.ConfigMap        // nil: there are none
	pods     []corev1.PodTemplateSpec // of adapters
	jobs     []corev1.PodTemplateSpec
	services []*corev1.Service
	spreads  []*metav1.LabelSelector // of what selects pods
	policies []*networkingv1.NetworkPolicy
	stateful *appsv1.StatefulSet
}

func gather(t *testing.T, all []runtime.Object) *rendered {
	t.Helper()
	r := &rendered{}
	for _, o := range all {
		switch o := o.(type) {
		case *corev1.ConfigMap:
			if strings.HasSuffix(o.Name, "-rules") {
				r.rules = o
			} else {
				r.config = o
			}
		case *corev1.Service:
			r.services = append(r.services, o)
		case *corev1.ServiceAccount:
		case *appsv1.StatefulSet:
			r.stateful = o
			r.pods, r.spreads = append(r.pods, o.Spec.Template), append(r.spreads, o.Spec.Selector)
		case *appsv1.Deployment:
			r.pods, r.spreads = append(r.pods, o.Spec.Template), append(r.spreads, o.Spec.Selector)
		case *batchv1.Job:
			r.jobs = append(r.jobs, o.Spec.Template)
		case *policyv1.PodDisruptionBudget:
			r.spreads = append(r.spreads, o.Spec.Selector)
		case *networkingv1.NetworkPolicy:
			r.policies, r.spreads = append(r.policies, o), append(r.spreads, &o.Spec.PodSelector)
		default:
			t.Errorf("unexpected %T", o)
		}
	}
	if r.config == nil || len(r.pods) != 1 || len(r.services) == 0 {
		t.Fatalf("incomplete: %+v", r)
	}
	return r
}

// checkPods checks the standard of security, volumes, probes and resources.
func (r *rendered) checkPods(t *testing.T) {
	t.Helper()
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range append(slices.Clone(r.pods), r.jobs...) {
		level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
		if result := policy.AggregateCheckResults(evaluator.EvaluatePod(level, &pod.ObjectMeta, &pod.Spec)); !result.Allowed {
			t.Errorf("not restricted: %s", result.ForbiddenDetail())
		}
		r.checkContainer(t, pod)
	}
	for _, pod := range r.pods {
		c := pod.Spec.Containers[0]
		for path, probe := range map[string]*corev1.Probe{"/-/healthy": c.LivenessProbe, "/-/ready": c.ReadinessProbe} {
			if probe == nil || probe.HTTPGet.Path != path || !hasPort(c, probe.HTTPGet.Port) {
				t.Errorf("probe of %s: %+v", path, probe)
			}
		}
		if p := c.StartupProbe; p == nil || p.HTTPGet.Path != "/-/healthy" || p.FailureThreshold*p.PeriodSeconds < 60 {
			t.Errorf("startup probe %+v", p)
		}
	}
}

func (r *rendered) checkContainer(t *testing.T, pod corev1.PodTemplateSpec) {
	t.Helper()
	c := pod.Spec.Containers[0]
	if c.SecurityContext.ReadOnlyRootFilesystem == nil || !*c.SecurityContext.ReadOnlyRootFilesystem || c.Resources.Limits.Memory().IsZero() {
		t.Errorf("%s: %+v, %+v: want a read-only root and a limit of memory", c.Name, c.SecurityContext, c.Resources)
	}
	var volumes []string
	for _, v := range pod.Spec.Volumes {
		volumes = append(volumes, v.Name)
		if v.ConfigMap != nil && v.ConfigMap.Name != r.config.Name && (r.rules == nil || v.ConfigMap.Name != r.rules.Name) {
			t.Errorf("no config map %s", v.ConfigMap.Name)
		}
	}
	if r.stateful != nil {
		for _, claim := range r.stateful.Spec.VolumeClaimTemplates {
			volumes = append(volumes, claim.Name)
		}
	}
	for _, m := range c.VolumeMounts {
		if !slices.Contains(volumes, m.Name) {
			t.Errorf("no volume %s of %v", m.Name, volumes)
		}
	}
}

// checkSelectors checks that all selectors take the pods of adapters, and none those of jobs.
func (r *rendered) checkSelectors(t *testing.T) {
	t.Helper()
	c := r.pods[0].Spec.Containers[0]
	for _, s := range r.services {
		r.spreads = append(r.spreads, &metav1.LabelSelector{MatchLabels: s.Spec.Selector})
		for _, p := range s.Spec.Ports {
			if !hasPort(c, p.TargetPort) {
				t.Errorf("service %s: no port %s", s.Name, p.TargetPort.String())
			}
		}
	}
	for _, n := range r.policies {
		for _, p := range n.Spec.Ingress[0].Ports {
			if !hasPort(c, *p.Port) {
				t.Errorf("network policy: no port %s", p.Port)
			}
		}
	}
	for _, s := range r.spreads {
		selector, err := metav1.LabelSelectorAsSelector(s)
		if err != nil {
			t.Fatal(err)
		}
		if selector.Empty() || !selector.Matches(labels.Set(r.pods[0].Labels)) {
			t.Errorf("%s does not select %v", selector, r.pods[0].Labels)
		}
		for _, job := range r.jobs {
			if selector.Matches(labels.Set(job.Labels)) {
				t.Errorf("%s selects the job", selector)
			}
		}
	}
	if r.stateful != nil && !slices.ContainsFunc(r.services, func(s *corev1.Service) bool { return s.Name == r.stateful.Spec.ServiceName }) {
		t.Errorf("no service %s", r.stateful.Spec.ServiceName)
	}
}

func hasPort(c corev1.Container, port intstr.IntOrString) bool {
	return slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.Name == port.StrVal || p.ContainerPort == port.IntVal })
}

// What would lose points or cannot work is refused, and so is a name that does not exist.
func TestRefused(t *testing.T) {
	for values, want := range map[string]string{
		"{persistence: {enabled: false}}": "engine=embedded needs persistence.enabled=true",
		"{engine: hbase}":                 "engine=hbase needs hbase.zookeeper",
		"{engine: hbase, hbase: {zookeeper: 'z:1'}, persistence: {enabled: false}, carbon: {enabled: true}}":                     "what they acknowledge is in a log",
		"{engine: hbase, hbase: {zookeeper: 'z:1'}, persistence: {enabled: false}, opentsdb: {enabled: true}}":                   "what they acknowledge is in a log",
		"{engine: hbase, hbase: {zookeeper: 'z:1'}, persistence: {enabled: false}, config: {remote_write: [{url: 'http://a'}]}}": "would be lost with the pod",
		"{config: {rule_files: [a]}, rules: {a.yml: {groups: []}}}":                                                              "config has rule_files",
		"{rules: {a.yml: groups}}":             "a.yml",
		"{rules: {a.txt: {groups: []}}}":       "a.txt",
		"{config: {storage.path: /elsewhere}}": "config has storage.path",
		"{engine: memory}":                     "engine",
		"{persistences: {size: 1Gi}}":          "persistences",
		"{persistence: {sise: 1Gi}}":           "sise",
		"{persistence: {size: big}}":           "size",
		"{probes: {scheme: FTP}}":              "scheme",
		"{replicas: 0}":                        "replicas",
		"{carbon: true}":                       "carbon",
		"{image: {name: x}}":                   "name",
		"{resources: {limit: {cpu: 1}}}":       "limit",
		"{networkPolicy: {enabled: yes2}}":     "enabled",
	} {
		if _, err := render(t, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", values, err, want)
		}
	}
}

// helm lint finds nothing.
func TestLint(t *testing.T) {
	for name, values := range variants() {
		given := map[string]any{}
		if err := sigsyaml.Unmarshal([]byte(values), &given); err != nil {
			t.Fatal(err)
		}
		for _, m := range lint.RunAll(chartDir, given, "metrics").Messages {
			if m.Severity > support.InfoSev {
				t.Errorf("%s: %v", name, m)
			}
		}
	}
}
