package e2e_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"
)

// TestHAPair: two Prometheus servers scrape one application and write to one adapter, which stores
// one of them, through the death of that one and a crash of the adapter.
func TestHAPair(t *testing.T) {
	needE2E(t)
	t.Parallel()
	const failover = 5 * time.Second
	r := &pairRun{target: startTarget(t), servers: map[string]*prometheusServer{}}
	r.adapter = startAdapter(t, "--write.dedup.cluster-label=cluster", "--write.dedup.replica-label=__replica__", "--write.dedup.failover-timeout="+failover.String())
	for _, replica := range []string{"a", "b"} {
		r.servers[replica] = startPrometheusConfig(t, fmt.Sprintf(pairConfig, replica, r.adapter.URL("/api/v1/write")))
		r.servers[replica].Scrape(t, map[string]string{"target": r.target.addr})
	}
	first := r.elected(t, "")
	r.samples(t, 5)
	r.adapter.Kill()
	r.adapter.Restart(t)
	if again := r.elected(t, ""); again != first {
		t.Logf("%s is elected after the crash, which lasted longer than the timeout", again)
		first = again
	}
	r.samples(t, 5)
	r.servers[first].process.Kill()
	second := r.elected(t, first)
	r.samples(t, 5)
	r.check(t, failover)
	t.Logf("%s, then %s", first, second)
}

const pairConfig = `
global: {scrape_interval: 1s, scrape_timeout: 1s, external_labels: {cluster: one, __replica__: %s}}
scrape_configs:
  - job_name: e2e
    file_sd_configs: [{files: [targets.json], refresh_interval: 1s}]
remote_write:
  - url: %s
    protobuf_message: io.prometheus.write.v2.Request
    queue_config: {batch_send_deadline: 500ms, max_backoff: 1s}
`

type pairRun struct {
	adapter *adapter
	target  *target
	servers map[string]*prometheusServer
}

// elected waits until a replica other than one is elected, and returns it.
func (r *pairRun) elected(t *testing.T, not string) (replica string) {
	t.Helper()
	eventually(t, 2*waitTimeout, "an elected replica", func() error {
		var answer struct {
			Data []struct{ Cluster, Elected string }
		}
		if err := json.Unmarshal(r.adapter.Get(t, "/api/v1/status/ha").body, &answer); err != nil {
			return err
		}
		pairs := answer.Data
		if len(pairs) != 1 || pairs[0].Cluster != "one" || pairs[0].Elected == "" || pairs[0].Elected == not {
			return fmt.Errorf("%+v", pairs)
		}
		replica = pairs[0].Elected
		return nil
	})
	return replica
}

// samples waits for samples of the next seconds.
func (r *pairRun) samples(t *testing.T, seconds int) {
	t.Helper()
	begin := time.Now()
	eventually(t, 2*waitTimeout, "samples", func() error {
		last := r.stored(t)[0].points
		if at := instant(t, last[len(last)-1]); at.Before(begin.Add(time.Duration(seconds) * time.Second)) {
			return fmt.Errorf("the last one is of %v", at)
		}
		return nil
	})
}

// stored returns what the adapter has of the series.
func (r *pairRun) stored(t *testing.T) []result {
	t.Helper()
	var all []result
	eventually(t, 2*waitTimeout, "series", func() error {
		if all = r.adapter.Query(t, `{__name__="test_depth", queue="steady"}[1h]`, time.Now()); len(all) == 0 {
			return fmt.Errorf("none")
		}
		return nil
	})
	return all
}

// check checks that both servers made one series, without a gap that is longer than the timeout and
// what a server that dies takes with it, and without the samples of two servers at once.
func (r *pairRun) check(t *testing.T, failover time.Duration) {
	t.Helper()
	all := r.stored(t)
	if want := `{__name__="test_depth", cluster="one", instance="` + r.target.addr + `", job="target", queue="steady"}`; len(all) != 1 || all[0].labels != want {
		t.Fatalf("%d series: %s, want %s", len(all), all[0].labels, want)
	}
	const inQueue = 5 * time.Second
	points := all[0].points
	near, longest := 0, time.Duration(0)
	for i := range points[1:] {
		gap := instant(t, points[i+1]).Sub(instant(t, points[i]))
		longest = max(longest, gap)
		if gap < time.Second/2 {
			near++
		}
	}
	if longest > failover+inQueue {
		t.Errorf("a gap of %v", longest)
	}
	if near > len(points)/4 {
		t.Errorf("%d of %d samples come right after another one", near, len(points))
	}
	span := instant(t, points[len(points)-1]).Sub(instant(t, points[0]))
	if most := int(span/time.Second) + 4; len(points) > most {
		t.Errorf("%d samples in %v, want at most %d", len(points), span, most)
	}
	t.Logf("%d samples in %v, the longest gap is %v", len(points), span, longest)
}

// instant returns the time of a point.
func instant(t *testing.T, p point) time.Time {
	t.Helper()
	seconds, err := strconv.ParseFloat(p.at, 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.UnixMilli(int64(math.Round(seconds * 1000)))
}
