package rangeql_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/teststorage"
)

// writeInfo writes series of some instances, and info series of these that come and go. Values are
// whole numbers, so that sums do not depend on the order.
func writeInfo(t testing.TB, s *teststorage.TestStorage, rng *rand.Rand) {
	t.Helper()
	app := s.AppenderV2(t.Context())
	write := func(ls labels.Labels, from, to int64, value func() float64) {
		for at := from; at <= to; at += 15_000 {
			if _, err := app.Append(0, ls, 0, at, value(), nil, nil, promstorage.AppendV2Options{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	next := 0.0
	for i := range 24 {
		instance, job := fmt.Sprint("host:", i%6), []string{"a", "b", ""}[i%3]
		ls := labels.FromStrings(model.MetricNameLabel, []string{"requests_total", "temperature"}[i%2], "i", fmt.Sprint(i), "instance", instance, "job", job)
		write(ls, rng.Int64N(600_000), dataEnd, func() float64 { next++; return next })
		for k, name := range []string{"target_info", "build_info"} {
			// A new version now and then; the series of the old one ends with a stale marker, or does not.
			from := rng.Int64N(900_000)
			for version := 0; from < dataEnd; version++ {
				to := from + rng.Int64N(1200_000)
				data := []string{"version", fmt.Sprint(version), "os", "linux"}[2*k:]
				info := labels.FromStrings(append([]string{model.MetricNameLabel, name, "instance", instance, "job", job, fmt.Sprint("k", k), fmt.Sprint(i)}, data...)...)
				write(info, from, to, func() float64 { return 1 })
				if rng.IntN(2) == 0 {
					last := to - (to-from)%15_000 + 15_000
					if _, err := app.Append(0, info, 0, last, math.Float64frombits(value.StaleNaN), nil, nil, promstorage.AppendV2Options{}); err != nil {
						t.Fatal(err)
					}
				}
				from = to + 30_000 + rng.Int64N(600_000)
			}
		}
	}
	if err := app.Commit(); err != nil {
		t.Fatal(err)
	}
}

// TestInfo compares random queries with info.
func TestInfo(t *testing.T) {
	for _, delayed := range []bool{false, true} {
		s := teststorage.New(t)
		rng := rand.New(rand.NewPCG(21, 22))
		writeInfo(t, s, rng)
		e := newEngines(t, manySamples, delayed)
		pick := func(of ...string) string { return of[rng.IntN(len(of))] }
		found := 0
		const questions = 400
		for range questions {
			vector := pick("requests_total", "temperature", `{i=~"[0-7]"}`, "rate(requests_total[5m])", "target_info", `{instance="host:1"}`, "absent_metric", "last_over_time(temperature[9m:1m] offset 1m)")
			if vector == "requests_total" || vector == "temperature" {
				vector += pick("", " offset 3m", " offset -1m", " @ 1800", " @ 900 offset 2m", " + 1", " @ 600 + temperature @ 900")
			}
			data := pick("", "", `, {version=~".+"}`, `, {version="1"}`, `, {__name__="build_info"}`, `, {__name__=~".+_info", os=~".*"}`, `, {__name__!="build_info"}`, `, {job="a", version=~".*"}`)
			q := question{text: fmt.Sprintf("info(%s%s)", vector, data), start: rng.Int64N(dataEnd), instant: rng.IntN(3) == 0}
			switch rng.IntN(4) {
			case 0:
				q.text = fmt.Sprintf("sum by (version, os) (%s)", q.text)
			case 1:
				q.text = fmt.Sprintf("max_over_time(%s[10m:1m])", q.text)
			}
			if q.instant {
				q.text = fmt.Sprintf("sort_by_label(%s)", q.text) // The library gives the series in no order.
			}
			q.step, q.end = time.Minute, q.start+rng.Int64N(dataEnd)
			found += min(1, e.compare(t, q, columnSource{Queryable: s}))
			if t.Failed() {
				return
			}
		}
		if paths := e.paths(t); paths["columns"] < questions*9/10 || found < questions/2 {
			t.Errorf("%d of %d queries found something; they went by %v", found, questions, paths)
		}
	}
}
