package adapter

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/adapter/config"
	"github.com/tsdbridge/tsdbridge/adapter/tables"
)

// reloadable is an adapter whose next configuration a test sets.
type reloadable struct {
	*Adapter
	t *testing.T

	mu   sync.Mutex
	next func() (Options, error)
}

func newReloadable(t *testing.T, change func(*Options)) (*reloadable, Options) {
	t.Helper()
	o := DefaultOptions()
	o.Engine, o.ListenAddress, o.Lifecycle = tables.EngineMemory, "127.0.0.1:0", true
	o.Level = &slog.LevelVar{}
	o.Flags = map[string]string{"web.cors-origin": "", "query.max-series": "1000000", "storage.engine": "memory", "web.enable-lifecycle": "true"}
	o.Settings = o.Flags
	change(&o)
	r := &reloadable{t: t}
	o.Configure = func() (Options, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.next()
	}
	r.set(o, nil)
	r.Adapter, _ = runAdapter(t, o)
	return r, o
}

func (r *reloadable) set(o Options, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next = func() (Options, error) { return o, err }
}

// get returns the status, the header and the body of an answer.
func (r *reloadable) get(method, path, origin string) (int, http.Header, string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, "http://"+r.Addr()+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Origin", origin)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(body)
}

func (r *reloadable) reload(want int) string {
	r.t.Helper()
	status, _, body := r.get(http.MethodPost, ReloadPath, "")
	if status != want {
		r.t.Fatalf("reload: status %d, want %d: %s", status, want, body)
	}
	return body
}

func flagsWith(o Options, values map[string]string) map[string]string {
	all := maps.Clone(o.Flags)
	maps.Copy(all, values)
	return all
}

// TestReload applies what can change, and names what needs a restart.
func TestReload(t *testing.T) {
	schemas := filepath.Join(t.TempDir(), "schemas.conf")
	r, o := newReloadable(t, func(*Options) {})
	for path, want := range map[string]int{
		"/api/v1/query?query=up": 200, "/render?target=a&format=json": 200, "/api/query?start=1h-ago&m=sum:a": 400,
	} {
		if status, _, body := r.get(http.MethodGet, path, ""); status != want {
			t.Errorf("%s: %d, want %d: %s", path, status, want, body)
		}
	}

	n := o
	n.QueryTimeout, n.QuerySeries, n.QuerySamples, n.QuerySlow, n.QueryMemory = time.Nanosecond, 7, 11, time.Hour, 64<<20
	n.LogLevel, n.CORSOrigin, n.ListenAddress = slog.LevelError, "http://a", ":1"
	n.Flags = flagsWith(o, map[string]string{"query.max-series": "7", "storage.engine": "embedded"})
	n.Settings = n.Flags
	n.RetentionRules = mustRules(t, "retention: [{matcher: up, age: 30d}]")
	r.set(n, nil)
	body := r.reload(200)
	var answer struct{ Data Reloaded }
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(answer.Data); got != "{[{query.max-series 1000000 7} {retention  }] [{storage.engine memory embedded}]}" {
		t.Errorf("the reload reports %s", got)
	}
	// every language has the new time limit
	for path, want := range map[string]int{"/api/v1/query?query=up": 503, "/render?target=a&format=json": 504, "/api/query?start=1h-ago&m=sum:a": 504} {
		if status, _, body := r.get(http.MethodGet, path, ""); status == 200 || status == 400 {
			t.Errorf("after the reload %s: %d, want about %d: %s", path, status, want, body)
		}
	}
	if r.budget.Limit() != 64<<20 || r.o.Level.Level() != slog.LevelError {
		t.Errorf("budget %d, level %v", r.budget.Limit(), r.o.Level.Level())
	}
	if _, header, _ := r.get(http.MethodGet, "/metrics", "http://a"); header.Get("Access-Control-Allow-Origin") != "http://a" {
		t.Errorf("the origin is not allowed: %v", header)
	}
	_, _, flags := r.get(http.MethodGet, "/api/v1/status/flags", "")
	if !strings.Contains(flags, `"query.max-series":"7"`) || !strings.Contains(flags, `"storage.engine":"memory"`) {
		t.Errorf("flags: %s", flags)
	}

	// the same again changes nothing more; what waits for a restart is named again
	if body = r.reload(200); !strings.Contains(body, `"applied":[]`) || !strings.Contains(body, "storage.engine") {
		t.Errorf("the second reload reports %s", body)
	}

	// nothing of a bad one holds
	bad := n
	bad.QuerySeries, bad.QueryTimeout, bad.Graphite.Schemas = 9, time.Minute, schemas
	bad.Flags = flagsWith(o, map[string]string{"query.max-series": "9"})
	for _, c := range []struct {
		text string
		err  error
		want string
	}{
		{"[x\n", nil, "--graphite.storage-schemas: "},
		{"[all]\npattern = .*\nretentions = 1m:1d\n", errors.New("line 7: no"), "line 7: no"},
	} {
		if err := os.WriteFile(schemas, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		r.set(bad, c.err)
		if body := r.reload(500); !strings.Contains(body, c.want) {
			t.Errorf("the reload reports %s, want %s", body, c.want)
		}
		if _, _, flags := r.get(http.MethodGet, "/api/v1/status/flags", ""); !strings.Contains(flags, `"query.max-series":"7"`) {
			t.Errorf("flags: %s", flags)
		}
		if _, _, metrics := r.get(http.MethodGet, "/metrics", ""); !strings.Contains(metrics, "tsdbridge_config_last_reload_successful 0") {
			t.Error("the metric does not tell of the failure")
		}
		if _, _, info := r.get(http.MethodGet, "/api/v1/status/runtimeinfo", ""); !strings.Contains(info, `"reloadConfigSuccess":false`) {
			t.Errorf("runtimeinfo: %s", info)
		}
	}
	r.set(o, nil)
	if body := r.reload(200); !strings.Contains(body, `"needsRestart":[]`) {
		t.Errorf("the last reload reports %s", body)
	}
	if status, _, body := r.get(http.MethodGet, "/api/v1/query?query=up", ""); status != 200 {
		t.Errorf("as in the beginning: %d %s", status, body)
	}
	if _, _, metrics := r.get(http.MethodGet, "/metrics", ""); !strings.Contains(metrics, "tsdbridge_config_last_reload_successful 1") || !strings.Contains(metrics, "prometheus_engine_queries ") {
		t.Error("the metrics are not as they were")
	}
}

// TestReloadsAreWhole has requests meet reloads: each sees one configuration.
func TestReloadsAreWhole(t *testing.T) {
	r, o := newReloadable(t, func(*Options) {})
	var group sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		group.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				_, header, flags := r.get(http.MethodGet, "/api/v1/status/flags", "http://a")
				if allowed := header.Get("Access-Control-Allow-Origin") != ""; allowed != strings.Contains(flags, `"web.cors-origin":"http://a"`) {
					t.Errorf("origin allowed: %v; flags: %s", allowed, flags)
					return
				}
				for _, path := range []string{"/api/v1/query?query=up", "/render?target=a&format=json", "/metrics/find?query=*"} {
					if status, _, body := r.get(http.MethodGet, path, ""); status != 200 {
						t.Errorf("%s: %d %s", path, status, body)
						return
					}
				}
			}
		})
	}
	for i := range 60 {
		n := o
		if i%2 == 0 {
			n.CORSOrigin, n.QuerySamples, n.QuerySeries = "http://a", 1000+i, 1000+i
			n.RetentionRules = mustRules(t, "retention: [{matcher: up, age: 30d}]")
		}
		n.Flags = flagsWith(o, map[string]string{"web.cors-origin": n.CORSOrigin})
		n.Settings = n.Flags
		r.set(n, nil)
		if i%5 == 4 {
			r.set(n, errors.New("bad"))
			r.reload(500)
			continue
		}
		r.reload(200)
	}
	close(done)
	group.Wait()
}

func TestReloadNeedsLifecycle(t *testing.T) {
	r, _ := newReloadable(t, func(o *Options) { o.Lifecycle = false })
	if body := r.reload(403); !strings.Contains(body, "--web.enable-lifecycle") {
		t.Errorf("the answer is %s", body)
	}
}

func mustRules(t *testing.T, text string) []config.Retention {
	t.Helper()
	rules, err := parsed(t, config.ParseRetention, strings.TrimPrefix(text, "retention: "))
	if err != nil {
		t.Fatal(err)
	}
	return rules
}
