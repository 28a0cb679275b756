package e2e_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
)

// reloadedConfig is one of two configurations, whose settings all change with a reload and belong together.
func reloadedConfig(n int) string {
	return fmt.Sprintf("query: {max-series: %d, max-samples: %d000}\nretention: [{matcher: 'none%d', age: 30d}]\n", 1000+n, 1000+n, n)
}

// TestKillInReloads crashes the adapter while it reloads its configuration, under writes. What was acknowledged is
// there afterwards, and the configuration is one of the two, whole.
func TestKillInReloads(t *testing.T) {
	needE2E(t)
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tsdbridge.yml")
	putConfig(t, file, 0)
	a := startAdapter(t, "--config.file="+file, "--web.enable-lifecycle")
	l := startLoad(t, a.client)
	for i := range scale.Of(t, "kills in reloads", 4, 4, 40) {
		l.WaitAcked(t, between)
		r := reloadUntil(t, a.client, file)
		eventually(t, waitTimeout, "reloads succeed", func() error {
			if n := r.succeeded.Load(); n < int64(i) {
				return fmt.Errorf("%d of %d", n, i)
			}
			return nil
		})
		time.Sleep(time.Duration(rand.IntN(200)) * time.Millisecond) //nolint:gosec // when the crash comes
		a.Kill()
		r.stop()
		a.Restart(t)
		expectOneConfig(t, a.client)
		t.Logf("crash %d in the reload after %d, %d samples acknowledged", i+1, r.succeeded.Load(), l.Acked())
	}
	l.WaitAcked(t, between)
	l.Verify(t, a.client)
}

// reloads are under way until they are stopped.
type reloads struct {
	succeeded atomic.Int64
	group     sync.WaitGroup
	done      chan struct{}
}

func (r *reloads) stop() { close(r.done); r.group.Wait() }

// reloadUntil changes the configuration and reloads, again and again.
func reloadUntil(t *testing.T, c client, file string) *reloads {
	t.Helper()
	r := &reloads{done: make(chan struct{})}
	r.group.Go(func() {
		for n := 1; ; n = 1 - n {
			select {
			case <-r.done:
				return
			default:
			}
			putConfig(t, file, n)
			answer, err := c.do(t.Context(), http.MethodPost, "/-/reload", nil, nil)
			if err != nil {
				continue // it was killed
			}
			if answer.status != http.StatusOK {
				t.Errorf("reload: %v", answer)
			}
			r.succeeded.Add(1)
		}
	})
	return r
}

// putConfig replaces the file as a whole, as people should.
func putConfig(t *testing.T, file string, n int) {
	t.Helper()
	if err := os.WriteFile(file+".new", []byte(reloadedConfig(n)), 0o600); err != nil {
		t.Error(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Error(err)
	}
}

// expectOneConfig expects all settings of one of the two configurations, of the flags and of the whole.
func expectOneConfig(t *testing.T, c client) {
	t.Helper()
	var flags struct{ Data map[string]string }
	if err := json.Unmarshal(c.Get(t, "/api/v1/status/flags").ok(t).body, &flags); err != nil {
		t.Fatal(err)
	}
	var whole struct{ Data struct{ YAML string } }
	if err := json.Unmarshal(c.Get(t, "/api/v1/status/config").ok(t).body, &whole); err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		series, samples := fmt.Sprint(1000+n), fmt.Sprintf("%d000", 1000+n)
		if flags.Data["query.max-series"] == series && flags.Data["query.max-samples"] == samples && strings.Contains(whole.Data.YAML, fmt.Sprintf("none%d", n)) {
			return
		}
	}
	t.Errorf("the configuration is neither: %v; %s", flags.Data, whole.Data.YAML)
}
