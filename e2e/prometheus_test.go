package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"testing"
	"time"
)

// TestPrometheus: a real Prometheus scrapes itself and an application and writes to the adapter,
// through a crash of the adapter, and the adapter answers as Prometheus does itself.
func TestPrometheus(t *testing.T) {
	for _, c := range []struct{ name, message string }{
		{"remote write 1.0", "prometheus.WriteRequest"},
		{"remote write 2.0", "io.prometheus.write.v2.Request"},
	} {
		t.Run(c.name, func(t *testing.T) {
			needE2E(t)
			t.Parallel()
			r := &prometheusRun{adapter: startAdapter(t), target: startTarget(t)}
			r.prometheus = startPrometheus(t, fmt.Sprintf(remoteWriteConfig, r.adapter.URL("/api/v1/write"), c.message))
			r.begin = time.Now() // the first time Prometheus is built, which takes minutes
			r.live(t)
			if c.message == "prometheus.WriteRequest" { // Prometheus 3.15 sends none with 2.0
				r.checkMetadata(t)
			}
			r.settle(t)
			r.checkQueries(t)
			r.checkExemplars(t)
			r.checkRemoteRead(t)
		})
	}
}

const remoteWriteConfig = `
remote_write:
  - url: %s
    protobuf_message: %s
    send_exemplars: true
    send_native_histograms: true
    metadata_config: {send_interval: 3s}
    queue_config: {batch_send_deadline: 1s, max_backoff: 1s}
`

// prometheusRun is one Prometheus that writes to one adapter.
type prometheusRun struct {
	adapter    *adapter
	prometheus *prometheusServer
	target     *target
	begin, end time.Time // all samples lie between
}

// live lets time pass: some seconds of normal operation, an outage of the adapter, some seconds
// more. Series end during the outage and after it.
func (r *prometheusRun) live(t *testing.T) {
	t.Helper()
	r.prometheus.Scrape(t, map[string]string{"self": r.prometheus.addr, "target": r.target.addr})
	// Prometheus sends from about 10 s after its start on
	eventually(t, 2*waitTimeout, "first samples at the adapter", func() error {
		if all, err := r.adapter.query(t, "test_depth", time.Now()); err != nil || len(all) == 0 {
			return fmt.Errorf("%v %w", all, err)
		}
		return nil
	})
	r.scrapes(t, 3)

	r.adapter.Kill()
	r.target.End("outage")
	r.scrapes(t, 5)
	eventually(t, waitTimeout, "requests sent again", func() error {
		if all := r.prometheus.Query(t, "prometheus_remote_storage_samples_retried_total > 0", time.Now()); len(all) == 0 {
			return fmt.Errorf("none")
		}
		return nil
	})
	r.adapter.Restart(t)
	r.scrapes(t, 5)
	r.target.End("end")
	r.scrapes(t, 5)
}

// scrapes waits for n scrapes of the target.
func (r *prometheusRun) scrapes(t *testing.T, n int) {
	t.Helper()
	want := r.target.Scrapes() + n
	eventually(t, waitTimeout, "scrapes", func() error {
		if have := r.target.Scrapes(); have < want {
			return fmt.Errorf("%d are missing", want-have)
		}
		return nil
	})
}

// settle removes the targets, and waits until both sides have the same series with the same
// samples: nothing more arrives after that.
func (r *prometheusRun) settle(t *testing.T) {
	t.Helper()
	r.prometheus.Scrape(t, nil)
	quiet := r.target.Scrapes()
	eventually(t, waitTimeout, "the last series stale in Prometheus", func() error {
		if n := r.target.Scrapes(); n != quiet {
			quiet = n
			return fmt.Errorf("still scraping")
		}
		if all := r.prometheus.Query(t, `{__name__=~".+"}`, time.Now()); len(all) > 0 {
			return fmt.Errorf("%d series live", len(all))
		}
		return nil
	})
	r.end = time.Now()
	everything := fmt.Sprintf(`{__name__=~".+"}[%ds]`, int(r.end.Sub(r.begin).Seconds())+1)
	eventually(t, waitTimeout, "the last series stale at the adapter", func() error {
		if all := r.adapter.Query(t, `{__name__=~".+"}`, r.end); len(all) > 0 {
			return fmt.Errorf("%d series live", len(all))
		}
		return nil
	})
	eventually(t, waitTimeout, "all samples at the adapter", func() error {
		return sameResults(r.adapter.Query(t, everything, r.end), r.prometheus.Query(t, everything, r.end), same)
	})
	series, samples := 0, 0
	for _, s := range r.prometheus.Query(t, everything, r.end) {
		series, samples = series+1, samples+len(s.points)
	}
	t.Logf("%d series, %d samples in %v, the same in Prometheus and the adapter", series, samples, r.end.Sub(r.begin))
}

// checkQueries sends both the same queries.
func (r *prometheusRun) checkQueries(t *testing.T) {
	t.Helper()
	q := comparison{got: r.adapter.client, want: r.prometheus.client, from: r.begin, to: r.end}
	q.run(t, promqlCases(t))
	for _, selector := range []string{`{__name__=~".+"}`, `test_depth`, `{queue!=""}`} {
		got, want := r.adapter.Series(t, selector, r.begin, r.end), r.prometheus.Series(t, selector, r.begin, r.end)
		if !reflect.DeepEqual(got, want) || len(want) == 0 {
			t.Errorf("series of %s: %d, want %d", selector, len(got), len(want))
		}
	}
}

// checkRemoteRead queries a second Prometheus, without data of its own, that reads from the
// adapter.
func (r *prometheusRun) checkRemoteRead(t *testing.T) {
	t.Helper()
	reader := startPrometheus(t, fmt.Sprintf(remoteReadConfig, r.adapter.URL("/api/v1/read")))
	q := comparison{got: reader.client, want: r.adapter.client, from: r.begin, to: r.end}
	q.run(t, promqlCases(t))
}

func (r *prometheusRun) checkMetadata(t *testing.T) {
	t.Helper()
	type metadata struct{ Type, Help, Unit string }
	eventually(t, waitTimeout, "metadata at the adapter", func() error {
		all := map[string][]metadata{}
		r.adapter.API(t, "/api/v1/metadata", url.Values{}, &all)
		for name, want := range map[string]metadata{
			"test_requests_total":  {Type: "counter", Help: "Requests, by code."},
			"test_depth":           {Type: "gauge", Help: "A gauge whose series come and go."},
			"test_native_seconds":  {Type: "histogram", Help: "A native histogram."},
			"test_summary_seconds": {Type: "summary", Help: "A summary."},
		} {
			if got := all[name]; len(got) != 1 || got[0] != want {
				return fmt.Errorf("metadata of %s: %v, want %v", name, got, want)
			}
		}
		return nil
	})
}

// checkExemplars checks that the adapter has the same exemplars as Prometheus.
func (r *prometheusRun) checkExemplars(t *testing.T) {
	t.Helper()
	for _, selector := range []string{"test_requests_total", "test_classic_seconds_bucket", "test_native_seconds"} {
		form := url.Values{"query": {selector}, "start": {stamp(r.begin)}, "end": {stamp(r.end)}}
		got, want := exemplarsOf(t, r.adapter.client, form), exemplarsOf(t, r.prometheus.client, form)
		if !reflect.DeepEqual(got, want) || len(want) == 0 {
			t.Errorf("exemplars of %s: %d series, want %d\n%v\n%v", selector, len(got), len(want), got, want)
		}
	}
}

// exemplarsOf are exemplars by series, as JSON.
func exemplarsOf(t *testing.T, c client, form url.Values) map[string][]string {
	t.Helper()
	var all []struct {
		SeriesLabels map[string]string
		Exemplars    []json.RawMessage
	}
	c.API(t, "/api/v1/query_exemplars", form, &all)
	found := map[string][]string{}
	for _, s := range all {
		for _, e := range s.Exemplars {
			found[labelText(s.SeriesLabels)] = append(found[labelText(s.SeriesLabels)], string(e))
		}
	}
	return found
}
