package adapter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/util/teststorage"

	"github.com/tsdbridge/tsdbridge/adapter/config"
	"github.com/tsdbridge/tsdbridge/adapter/tables"
	"github.com/tsdbridge/tsdbridge/internal/testkit/servertest"
	"github.com/tsdbridge/tsdbridge/internal/tracing"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/hbase/hbasetest"
	"github.com/tsdbridge/tsdbridge/storage/pebble"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// scraper does what a Prometheus does with an adapter: it stores /metrics every ten seconds, evaluates the recording
// rules of deploy/prometheus/rules, and tells which alerts fire. The ten seconds take no time.
type scraper struct {
	t       *testing.T
	storage *teststorage.TestStorage
	engine  *promql.Engine
	now     time.Time

	instance string // of what is stored
}

func newScraper(t *testing.T) *scraper {
	t.Helper()
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1e6, Timeout: time.Minute})
	return &scraper{t: t, storage: teststorage.New(t), engine: engine, now: time.Now()}
}

// scrape stores what an adapter shows, or that it does not answer.
func (s *scraper) scrape(a *Adapter) {
	s.t.Helper()
	s.scrapeAll(map[string]*Adapter{"adapter": a})
}

// scrapeAll stores what several adapters show, by their instances.
func (s *scraper) scrapeAll(adapters map[string]*Adapter) {
	s.t.Helper()
	s.now = s.now.Add(10 * time.Second)
	for instance, a := range adapters {
		s.instance = instance
		s.scrapeOne(a)
	}
	s.record()
}

func (s *scraper) scrapeOne(a *Adapter) {
	s.t.Helper()
	up := 0.0
	if res, err := http.Get("http://" + a.Addr() + "/metrics"); err == nil {
		text, err := io.ReadAll(res.Body)
		must(s.t, errors.Join(err, res.Body.Close()))
		s.store(text)
		up = 1
	}
	s.add(labels.FromStrings("__name__", "up"), up)
}

// record evaluates the recording rules.
func (s *scraper) record() {
	s.t.Helper()
	for _, group := range ruleGroups(s.t) {
		for _, r := range group.Rules {
			if r.Record != "" {
				for _, sample := range s.query(r.Expr) {
					s.instance = sample.Metric.Get("instance")
					s.add(labels.NewBuilder(sample.Metric).Set("__name__", r.Record).Labels(), sample.F)
				}
			}
		}
	}
}

func (s *scraper) store(text []byte) {
	s.t.Helper()
	for p := textparse.NewPromParser(text, labels.NewSymbolTable(), false); ; {
		entry, err := p.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		must(s.t, err)
		if entry != textparse.EntrySeries {
			continue
		}
		var ls labels.Labels
		p.Labels(&ls)
		_, _, v := p.Series()
		s.add(ls, v)
	}
}

func (s *scraper) add(ls labels.Labels, v float64) {
	s.t.Helper()
	ls = labels.NewBuilder(ls).Set("job", "tsdbridge").Set("instance", s.instance).Labels()
	appender := s.storage.Appender(s.t.Context())
	_, err := appender.Append(0, ls, s.now.UnixMilli(), v)
	must(s.t, errors.Join(err, appender.Commit()))
}

func (s *scraper) query(expr string) promql.Vector {
	s.t.Helper()
	q, err := s.engine.NewInstantQuery(s.t.Context(), s.storage, nil, expr, s.now)
	must(s.t, err)
	defer q.Close()
	v, err := q.Exec(s.t.Context()).Vector()
	if err != nil {
		s.t.Fatalf("%s: %v", expr, err)
	}
	return slices.Clone(v)
}

// fires reports whether the condition of an alert holds.
func (s *scraper) fires(alert string) bool {
	s.t.Helper()
	for _, group := range ruleGroups(s.t) {
		for _, r := range group.Rules {
			if r.Alert == "Tsdbridge"+alert {
				return len(s.query(r.Expr)) > 0
			}
		}
	}
	s.t.Fatalf("there is no alert Tsdbridge%s", alert)
	return false
}

// causes are the conditions of alerts, each caused in an adapter that runs. A cause makes what it needs, and returns
// the adapter and what goes wrong with it. Before that none of the alerts may fire, afterwards each.
var causes = []struct {
	alerts string
	cause  func(t *testing.T) (a *Adapter, goWrong func() *Adapter)
}{
	{"Down", func(t *testing.T) (*Adapter, func() *Adapter) {
		a, stop := runAdapter(t, storeTestOptions(t, write.Buffered))
		return a, func() *Adapter { stop(); return a }
	}},
	{"NotReady HBaseFailing PointsFailed", func(t *testing.T) (*Adapter, func() *Adapter) {
		a, fault := adapterOnHBase(t, write.Through)
		return a, func() *Adapter {
			fault.Store(&hbasetest.Fault{Hold: make(chan struct{})})
			if res := postText(t, "http://"+a.Addr(), `{__name__="up"} 1@1000000`); res.StatusCode != http.StatusServiceUnavailable {
				t.Errorf("HBase is away: %s", res.Status)
			}
			waitMetric(t, a, "tsdbridge_ready 0")
			return a
		}
	}},
	{"HBaseRetrying", func(t *testing.T) (*Adapter, func() *Adapter) {
		a, fault := adapterOnHBase(t, write.Through)
		return a, func() *Adapter {
			fault.Store(&hbasetest.Fault{RowException: "org.apache.hadoop.hbase.RegionTooBusyException"})
			var senders sync.WaitGroup
			for n := range 30 {
				senders.Go(func() { postText(t, "http://"+a.Addr(), fmt.Sprintf(`{__name__="up", n="%d"} 1@1000000`, n)) })
			}
			senders.Wait()
			return a
		}
	}},
	{"FlushFailing LogGrowing LogErrors WritesRefused", func(t *testing.T) (*Adapter, func() *Adapter) {
		a, fault := adapterOnHBase(t, write.Buffered)
		return a, func() *Adapter {
			fault.Store(&hbasetest.Fault{RowException: "org.apache.hadoop.hbase.DoNotRetryIOException"})
			fillLog(t, a)
			waitMetric(t, a, "tsdbridge_head_flush_failures_total [1-9]")
			return a
		}
	}},
	{"DiskNearlyFull", func(t *testing.T) (*Adapter, func() *Adapter) {
		return restarted(t, storeTestOptions(t, write.Buffered), func(o *Options) {
			free, err := pebble.FreeBytes(o.Path)
			must(t, err)
			o.MinFreeBytes = int64(free / 3 * 2) //nolint:gosec // a disk has fewer
		})
	}},
	{"WritesRefused PointsFailed", func(t *testing.T) (*Adapter, func() *Adapter) {
		a, fill := restarted(t, storeTestOptions(t, write.Buffered), func(o *Options) { o.MinFreeBytes = 1 << 60 })
		return a, func() *Adapter {
			a := fill()
			postText(t, "http://"+a.Addr(), `{__name__="up"} 1@1000000`)
			return a
		}
	}},
	{"PointsRejected SeriesLimitNear SeriesRefused", func(t *testing.T) (*Adapter, func() *Adapter) {
		o := storeTestOptions(t, write.Buffered)
		o.ActiveSeries = 10
		a, _ := runAdapter(t, o)
		return a, func() *Adapter {
			for n := range 12 {
				postText(t, "http://"+a.Addr(), fmt.Sprintf(`{__name__="up", n="%d"} 1@1000000`, n))
			}
			return a
		}
	}},
	{"Replayed", func(t *testing.T) (*Adapter, func() *Adapter) {
		o := storeTestOptions(t, write.Buffered)
		a, _ := runAdapter(t, o)
		now := time.Now().UnixMilli()
		return a, func() *Adapter {
			postText(t, "http://"+a.Addr(), fmt.Sprintf(`{__name__="up"} 1@%d`, now))
			killed := o
			killed.Path = filepath.Join(t.TempDir(), "killed")
			servertest.CopyRunning(t, o.Path, killed.Path)
			again, _ := runAdapter(t, killed)
			return again
		}
	}},
	{"Damage", func(t *testing.T) (*Adapter, func() *Adapter) {
		o := storeTestOptions(t, write.Through)
		o.CacheBytes = 1
		a, stop := runAdapter(t, o)
		for n := range 30 {
			sendRemoteWrite(t, a, fmt.Sprintf(`{__name__="m%02d"} `, n)+manySamplesText(n), 1)
		}
		stop()
		compactStore(t, o)
		tables, err := filepath.Glob(filepath.Join(o.Path, "*.sst"))
		must(t, err)
		largest := slices.MaxFunc(tables, func(x, y string) int { return int(used(t, x) - used(t, y)) })
		flip(t, largest, used(t, largest)/3, 1)
		a, _ = runAdapter(t, o)
		return a, func() *Adapter {
			promtest.Do(t, http.MethodGet, "http://"+a.Addr()+`/api/v1/query?time=1700000399&query=count_over_time({__name__=~"m.*"}[1h])`, nil)
			return a
		}
	}},
	{"QueryMemory", func(t *testing.T) (*Adapter, func() *Adapter) {
		o := storeTestOptions(t, write.Buffered)
		o.QueryMemory = 2000
		a, _ := runAdapter(t, o)
		return a, func() *Adapter {
			sendRemoteWrite(t, a, `{__name__="m"} `+manySamplesText(1), 1)
			promtest.Do(t, http.MethodGet, "http://"+a.Addr()+`/api/v1/query?time=1700000399&query=m[1h]`, nil)
			return a
		}
	}},
	{"UIDsRunOut", func(t *testing.T) (*Adapter, func() *Adapter) {
		o := storeTestOptions(t, write.Buffered)
		o.MetricWidth = 1
		a, _ := runAdapter(t, o)
		return a, func() *Adapter {
			series := make([]storage.Series, 240)
			for n := range series {
				series[n] = storage.Series{Metric: fmt.Sprint("m", n), Tags: []storage.Tag{{Key: "a", Value: "b"}}}
			}
			if _, errs := a.store.Resolve(t.Context(), series); errs != nil {
				t.Error(errors.Join(errs...))
			}
			return a
		}
	}},
	{"TreeCollision", func(t *testing.T) (*Adapter, func() *Adapter) {
		o := storeTestOptions(t, write.Buffered)
		o.Graphite.Trees = declared(t, "- {name: servers, path: 'servers.{host}.{metric...}'}\n")
		a, _ := runAdapter(t, o)
		return a, func() *Adapter {
			sendRemoteWrite(t, a, `{__name__="load", host="a", cpu="1"} 1@1700000000000`, 1)
			sendRemoteWrite(t, a, `{__name__="load", host="a", cpu="2"} 1@1700000000000`, 1)
			return a
		}
	}},
	{"ClockSkew", func(t *testing.T) (*Adapter, func() *Adapter) {
		o := storeTestOptions(t, write.Buffered)
		var ahead atomic.Int64
		o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		a, _ := runAdapter(t, o)
		return a, func() *Adapter { ahead.Store(int64(2 * time.Minute)); return a }
	}},
	{"PortFull", func(t *testing.T) (*Adapter, func() *Adapter) {
		o := storeTestOptions(t, write.Buffered)
		o.MaxConnections = 3
		a, _ := runAdapter(t, o)
		return a, func() *Adapter {
			for range 10 {
				conn, err := net.Dial("tcp", a.Addr())
				must(t, err)
				t.Cleanup(func() { _ = conn.Close() })
			}
			return a
		}
	}},
	{"ForwardLag", func(t *testing.T) (*Adapter, func() *Adapter) {
		o := storeTestOptions(t, write.Buffered)
		var ahead atomic.Int64
		o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		o.Carbon.ListenAddress, o.Carbon.Forward.Addresses = "127.0.0.1:0", []string{"127.0.0.1:1"}
		a, _ := runAdapter(t, o)
		return a, func() *Adapter {
			sendCarbon(t, a, fmt.Sprintf("a.b 1 %d\n", time.Now().Unix()), `a.b [{"-_" "1"}]`, time.Now().Unix()*1000)
			ahead.Store(int64(10 * time.Minute))
			waitMetric(t, a, `tsdbridge_carbon_forward_lag_seconds\{.*\} [1-9]`)
			return a
		}
	}},
	{"RulesFailing", func(t *testing.T) (*Adapter, func() *Adapter) {
		a := adapterWithRules(t, "groups: [{name: g, rules: [{record: both, expr: 'up + on () up'}]}]\n", "")
		waitMetric(t, a, `prometheus_rule_evaluations_total\{.*\} [1-9]`)
		return a, func() *Adapter {
			now := time.Now().UnixMilli()
			postText(t, "http://"+a.Addr(), fmt.Sprintf("{__name__=\"up\", n=\"1\"} 1@%d\n{__name__=\"up\", n=\"2\"} 1@%d", now, now))
			waitMetric(t, a, `prometheus_rule_evaluation_failures_total\{.*\} [1-9]`)
			return a
		}
	}},
	{"RulesLate", func(t *testing.T) (*Adapter, func() *Adapter) {
		rules := strings.Repeat("{record: one, expr: 'sum_over_time(up[3h:1ms])'}, ", 4)
		a := adapterWithRules(t, "groups: [{name: g, interval: 200ms, rules: ["+rules+"]}]\n", "")
		waitMetric(t, a, `prometheus_rule_group_iterations_missed_total\{.*\} 0`)
		return a, func() *Adapter {
			samples := strings.Builder{} // enough that no step of three hours is empty
			for at := time.Now().Add(-3 * time.Hour); at.Before(time.Now()); at = at.Add(4 * time.Minute) {
				fmt.Fprintf(&samples, " 1@%d", at.UnixMilli())
			}
			sendRemoteWrite(t, a, `{__name__="up"}`+samples.String(), 1)
			waitMetric(t, a, `prometheus_rule_group_iterations_missed_total\{.*\} [1-9]`)
			return a
		}
	}},
	{"AlertsNotSent", func(t *testing.T) (*Adapter, func() *Adapter) {
		a := adapterWithRules(t, "groups: [{name: g, rules: [{alert: Broken, expr: up}]}]\n",
			"alerting: {alertmanagers: [{static_configs: [{targets: ['127.0.0.1:1']}]}]}\n")
		waitMetric(t, a, `prometheus_notifications_errors_total\{.*\} 0`)
		return a, func() *Adapter {
			postText(t, "http://"+a.Addr(), fmt.Sprintf("{__name__=\"up\"} 1@%d", time.Now().UnixMilli()))
			waitMetric(t, a, `prometheus_notifications_errors_total\{.*\} [1-9]`)
			return a
		}
	}},
	{"UpkeepFailing", func(t *testing.T) (*Adapter, func() *Adapter) {
		o := storeTestOptions(t, write.Buffered)
		var err error
		o.RetentionRules, err = parsed(t, config.ParseRetention, `- {matcher: "{__name__=\"m\"}", age: 1d}`)
		must(t, err)
		a, fill := restarted(t, o, func(o *Options) { o.MinFreeBytes = 1 << 60 })
		waitMetric(t, a, "tsdbridge_retention_rules_passes_total 1")
		return a, func() *Adapter {
			sendRemoteWrite(t, a, `{__name__="m"} `+manySamplesText(1), 1)
			a := fill()
			waitMetric(t, a, "tsdbridge_retention_rules_errors_total [1-9]")
			return a
		}
	}},
	{"SpansDropped", func(t *testing.T) (*Adapter, func() *Adapter) {
		o := storeTestOptions(t, write.Buffered)
		var err error
		o.Tracer, err = tracing.New(t.Context(), tracing.Options{Endpoint: "http://127.0.0.1:1/v1/traces", Fraction: 1, Logger: o.Logger})
		must(t, err)
		t.Cleanup(func() { _ = o.Tracer.Close(context.WithoutCancel(t.Context())) })
		a, _ := runAdapter(t, o)
		return a, func() *Adapter {
			servertest.Text(t, a, "/api/v1/labels")
			waitMetric(t, a, `tsdbridge_tracing_spans_dropped_total{reason="export_failed"} [1-9]`)
			return a
		}
	}},
	{"DeletionsUnfinished", func(t *testing.T) (*Adapter, func() *Adapter) {
		a, fault := adapterOnHBase(t, write.Through)
		postText(t, "http://"+a.Addr(), `{__name__="up"} 1@1000000`)
		found, err := a.store.Find(t.Context(), []storage.Filter{}, 0, time.Now().UnixMilli(), 0)
		must(t, err)
		return a, func() *Adapter {
			fault.Store(&hbasetest.Fault{RowException: "org.apache.hadoop.hbase.DoNotRetryIOException"})
			d := storage.Deletion{Start: 0, End: time.Now().UnixMilli()}
			for _, f := range found {
				d.Refs = append(d.Refs, f.Ref)
			}
			if _, err := a.store.Delete(t.Context(), d); err == nil {
				t.Error("the deletion succeeds")
			}
			return a
		}
	}},
	{"DatagramsDropped", func(t *testing.T) (*Adapter, func() *Adapter) {
		a, fault := adapterOnHBase(t, write.Buffered, func(o *Options) { o.Carbon.ListenAddress = "127.0.0.1:0" })
		return a, func() *Adapter {
			fault.Store(&hbasetest.Fault{Hold: make(chan struct{})})
			conn, err := net.Dial("udp", a.CarbonAddr())
			must(t, err)
			defer conn.Close()
			datagram := []byte(strings.Repeat("a.b 1 1700000000\n", 3000))
			for strings.Contains(servertest.Text(t, a, "/metrics"), "\ntsdbridge_carbon_udp_dropped_datagrams_total 0\n") {
				for range 20 {
					_, err := conn.Write(datagram)
					must(t, err)
				}
			}
			return a
		}
	}},
	{"WebConfigBroken", func(t *testing.T) (*Adapter, func() *Adapter) {
		o := storeTestOptions(t, write.Buffered)
		o.WebConfigFile = filepath.Join(t.TempDir(), "web.yml")
		must(t, os.WriteFile(o.WebConfigFile, []byte("http_server_config: {http2: false}\n"), 0o600))
		a, _ := runAdapter(t, o)
		return a, func() *Adapter {
			must(t, os.WriteFile(o.WebConfigFile, []byte("nonsense: 1\n"), 0o600))
			return a
		}
	}},
	{"ShadowDiffers", func(t *testing.T) (*Adapter, func() *Adapter) {
		o := storeTestOptions(t, write.Buffered)
		o.Prometheus.Query.Shadow = 100
		a, _ := runAdapter(t, o)
		return a, func() *Adapter {
			writeBetweenEngines(t, a)
			return a
		}
	}},
	{"NewStore", func(t *testing.T) (*Adapter, func() *Adapter) {
		o := storeTestOptions(t, write.Buffered)
		_, stop := runAdapter(t, o)
		stop()
		return restarted(t, o, func(o *Options) { o.Path = filepath.Join(t.TempDir(), "elsewhere") })
	}},
}

// adapterWithRules runs an adapter that evaluates rules all the time.
func adapterWithRules(t *testing.T, rules, config string) *Adapter {
	t.Helper()
	dir := t.TempDir()
	writeText(t, filepath.Join(dir, "rules.yml"), rules)
	o := storeTestOptions(t, write.Buffered)
	o.PromConfig = mustParseProm(t, dir, "global: {evaluation_interval: 50ms}\nrule_files: [rules.yml]\n"+config)
	a, _ := runAdapter(t, o)
	return a
}

// TestAlerts causes the condition of each alert once.
func TestAlerts(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range causes {
		for alert := range strings.FieldsSeq(c.alerts) {
			seen[alert] = true
		}
		t.Run(strings.ReplaceAll(c.alerts, " ", ","), func(t *testing.T) {
			if testing.Short() && strings.Contains(c.alerts, "LogGrowing") {
				t.Skip("the log is filled: left out with -short")
			}
			s := newScraper(t)
			a, goWrong := c.cause(t)
			s.scrape(a)
			s.scrape(a)
			for alert := range strings.FieldsSeq(c.alerts) {
				// what is foretold of the disk depends on who else writes to it
				if s.fires(alert) && alert != "DiskNearlyFull" {
					t.Errorf("%s fires before anything is wrong", alert)
				}
			}
			s.scrape(goWrong())
			for alert := range strings.FieldsSeq(c.alerts) {
				if !s.fires(alert) {
					t.Errorf("%s does not fire", alert)
				}
			}
		})
	}
	for _, group := range ruleGroups(t) {
		for _, r := range group.Rules {
			if name := strings.TrimPrefix(r.Alert, "Tsdbridge"); r.Alert != "" && !seen[name] {
				t.Errorf("the condition of %s is not caused", r.Alert)
			}
		}
	}
}

// adapterOnHBase returns an adapter on a cluster whose batches of the data table meet a fault, once there is
// one.
func adapterOnHBase(t *testing.T, mode write.Mode, change ...func(*Options)) (*Adapter, *atomic.Pointer[hbasetest.Fault]) {
	t.Helper()
	o := DefaultOptions()
	c := startHBase(t, o)
	o.Engine, o.ZooKeeper, o.HBaseTimeout, o.WriteMode, o.Path = tables.EngineHBase, c.ZooKeeper(), 300*time.Millisecond, string(mode), t.TempDir()
	o.FlushInterval, o.LogBytes, o.HeadBytes = 50*time.Millisecond, 256<<20, 1<<30
	for _, c := range change {
		c(&o)
	}
	a, _ := runAdapter(t, o)
	var fault atomic.Pointer[hbasetest.Fault]
	c.OnRequest(func(r hbasetest.Request) hbasetest.Fault {
		if f := fault.Load(); f != nil && (r.Method == "Multi" && r.Table == o.TableData || f.Hold != nil) {
			return *f
		}
		return hbasetest.Fault{}
	})
	return a, &fault
}

// writeBetweenEngines writes while queries are answered by both engines, until one of them has seen a sample that the
// other one had not.
func writeBetweenEngines(t *testing.T, a *Adapter) {
	t.Helper()
	refs, errs := a.store.Resolve(t.Context(), []storage.Series{{Metric: "m", Tags: []storage.Tag{{Key: "a", Value: "b"}}}})
	must(t, errors.Join(errs...))
	var writing sync.WaitGroup
	done := make(chan struct{})
	defer func() { close(done); writing.Wait() }()
	writing.Go(func() {
		for at := int64(1_700_000_000_000); ; at++ {
			select {
			case <-done:
				return
			default:
			}
			if err := a.store.Append(t.Context(), &storage.Batch{Refs: refs, Times: []int64{at}, Values: []float64{1}}); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for deadline := time.Now().Add(time.Minute); strings.Contains(servertest.Text(t, a, "/metrics"), `tsdbridge_promql_queries_shadowed_total{result="different"} 0`); {
		if time.Now().After(deadline) {
			t.Fatal("both engines see the same for a minute")
		}
		servertest.Text(t, a, "/api/v1/query?time=1700003000&query=count_over_time(m[1h])")
	}
}

// restarted returns an adapter, and how to start it again with other options.
func restarted(t *testing.T, o Options, change func(*Options)) (*Adapter, func() *Adapter) {
	t.Helper()
	_, stop := runAdapter(t, o)
	stop()
	a, stop := runAdapter(t, o)
	return a, func() *Adapter {
		stop()
		change(&o)
		again, _ := runAdapter(t, o)
		return again
	}
}

// waitMetric waits until /metrics has a line that matches.
func waitMetric(t *testing.T, a *Adapter, line string) {
	t.Helper()
	want := regexp.MustCompile("(?m)^" + line)
	for deadline := time.Now().Add(3 * time.Minute); !want.MatchString(servertest.Text(t, a, "/metrics")); {
		if time.Now().After(deadline) {
			t.Fatalf("/metrics has no line %s", line)
		}
	}
}

// manySamplesText returns 400 samples of a second each, which do not repeat.
func manySamplesText(seed int) string {
	rng, b := rand.New(rand.NewPCG(uint64(seed), 2)), strings.Builder{} //nolint:gosec // a test
	for i := range 400 {
		fmt.Fprintf(&b, "%v@%d ", rng.Float64(), 1_700_000_000_000+i*1000)
	}
	return b.String()
}

// fillLog appends points until the log is full.
func fillLog(t *testing.T, a *Adapter) {
	t.Helper()
	series := make([]storage.Series, 1000)
	for n := range series {
		series[n] = storage.Series{Metric: "m", Tags: []storage.Tag{{Key: "n", Value: fmt.Sprint(n)}}}
	}
	refs, errs := a.store.Resolve(t.Context(), series)
	must(t, errors.Join(errs...))
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test
	for second := int64(1_700_000_000); ; {
		var b storage.Batch
		for range 200 {
			for _, ref := range refs {
				b.Add(ref, second*1000, rng.Float64())
			}
			second++
		}
		if err := a.store.Append(t.Context(), &b); err != nil {
			return
		}
	}
}

// Each alert has a section in docs/monitoring.md, to which it links, with its severity, its patience and its condition.
func TestAlertsAreExplained(t *testing.T) {
	page, err := os.ReadFile("../docs/monitoring.md")
	must(t, err)
	for _, group := range ruleGroups(t) {
		for _, r := range group.Rules {
			if r.Alert == "" {
				continue
			}
			if url := r.Annotations["runbook_url"]; !strings.HasSuffix(url, "/docs/monitoring.md#"+strings.ToLower(r.Alert)) {
				t.Errorf("%s links to %q", r.Alert, url)
			}
			after := "at once"
			if r.For > 0 {
				after = "after " + r.For.String()
			}
			severity := r.Labels["severity"]
			want := fmt.Sprintf("\n### %s\n\n%s%s, %s: `%s`\n", r.Alert, strings.ToUpper(severity[:1]), severity[1:], after, r.Expr)
			if !strings.Contains(string(page), want) {
				t.Errorf("docs/monitoring.md lacks %s", want)
			}
			if r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
				t.Errorf("%s has no summary or no description", r.Alert)
			}
		}
	}
}
