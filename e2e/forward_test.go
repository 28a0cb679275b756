package e2e_test

import (
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/prometheus/prompb"

	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
)

// TestForward sends by remote write and by carbon to an adapter that sends everything on to a real Prometheus, and
// kills the adapter again and again. The Prometheus has every acknowledged sample afterwards.
func TestForward(t *testing.T) {
	needE2E(t)
	t.Parallel()
	to := startPrometheus(t, "storage: {tsdb: {out_of_order_time_window: 1h}}\n", "--web.enable-remote-write-receiver")
	file := filepath.Join(t.TempDir(), "us.yml")
	text := fmt.Sprintf("global: {external_labels: {site: e2e}}\nremote_write: [{url: %q, name: other, queue_config: {batch_send_deadline: 100ms}}]\n", to.URL("/api/v1/write"))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	a := startAdapter(t, "--config.file="+file, "--carbon.listen-address=127.0.0.1:0")
	begin := time.Now().Add(-time.Minute).Truncate(time.Second)
	sendCarbon(t, "tcp", a.carbonAddr(t), fmt.Sprintf("forward.carbon;host=a 1.5 %d\n", begin.Unix()))
	eventually(t, waitTimeout, "carbon's point is stored", func() error {
		if found := a.Query(t, `{__name__="forward.carbon"}`, begin); len(found) != 1 {
			return fmt.Errorf("found %v", found)
		}
		return nil
	})
	want := map[string]bool{forwarded(`{__name__="forward.carbon", host="a", site="e2e"}`, begin.UnixMilli(), "1.5"): true}
	for round := range scale.Of(t, "kills while samples are sent on", 3, 3, 40) {
		for _, sample := range writeUntilKilled(t, a, round, begin) {
			want[sample] = true
		}
		a.Restart(t)
	}
	t.Logf("%d samples were acknowledged", len(want))
	eventually(t, waitTimeout, "everything is at the other Prometheus", func() error {
		found, err := to.query(t, `{__name__=~"forward.*"}[1h]`, begin.Add(time.Minute))
		if err != nil {
			return err
		}
		got := map[string]bool{}
		for _, r := range found {
			for _, p := range r.points {
				seconds, err := strconv.ParseFloat(p.at, 64)
				if err != nil {
					return err
				}
				got[forwarded(r.labels, int64(math.Round(seconds*1000)), p.value)] = true
			}
		}
		missing := 0
		for sample := range want {
			if !got[sample] {
				missing++
			}
		}
		if missing > 0 {
			return fmt.Errorf("%d of %d samples are missing", missing, len(want))
		}
		return nil
	})
}

// forwarded is a sample as text.
func forwarded(labels string, at int64, value string) string {
	return fmt.Sprint(labels, " ", at, " ", value)
}

// writeUntilKilled writes samples by remote write from several senders, kills the adapter after some of them,
// and returns those that were acknowledged.
func writeUntilKilled(t *testing.T, a *adapter, round int, begin time.Time) (acknowledged []string) {
	t.Helper()
	var mu sync.Mutex // guards acknowledged
	var senders sync.WaitGroup
	enough, once := make(chan struct{}), sync.Once{}
	for n := range 3 {
		senders.Go(func() {
			for i := 0; ; i++ {
				at := begin.Add(time.Duration(round*5000+i) * time.Millisecond)
				sender := fmt.Sprint(n)
				body := snappied(t, &prompb.WriteRequest{Timeseries: []prompb.TimeSeries{
					series([]prompb.Sample{sampleAt(at, float64(i))}, "__name__", "forward_test", "sender", sender),
				}})
				r, err := a.do(t.Context(), http.MethodPost, "/api/v1/write", writeHeader("application/x-protobuf", nil), body)
				if err != nil {
					return // it was killed
				}
				if r.status != http.StatusNoContent {
					t.Errorf("remote write answers %v", r)
					once.Do(func() { close(enough) })
					return
				}
				mu.Lock()
				labels := fmt.Sprintf(`{__name__="forward_test", sender=%q, site="e2e"}`, sender)
				if acknowledged = append(acknowledged, forwarded(labels, at.UnixMilli(), fmt.Sprint(i))); len(acknowledged) == 100 {
					once.Do(func() { close(enough) })
				}
				mu.Unlock()
			}
		})
	}
	<-enough
	a.Kill()
	senders.Wait()
	return acknowledged
}
