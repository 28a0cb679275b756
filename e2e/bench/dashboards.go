package main

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/testkit/load"
)

// dashboards are queries as dashboards, alerts and recording rules send them: over 10 000 series of
// node_exporter and 10 000 buckets of latencies, six hours of both.
func dashboards() reads {
	r := reads{
		format:  load.RemoteWrite1,
		title:   "Dashboards",
		shape:   load.Shape{Seed: 1, Series: 10_000, Buckets: 10_000, Steps: 1440, Interval: 15 * time.Second},
		measure: prometheusExtent,
		// Of the ratios of all questions.
		median: 0.6,
	}
	for _, q := range dashboardQueries {
		r.questions = append(r.questions, question{name: q, slack: 2, prepare: rangeQuery(q, 6*time.Hour, time.Minute)})
	}
	for _, q := range alertQueries {
		r.questions = append(r.questions, question{name: "at once: " + q, slack: 2, prepare: instantQuery(q)})
	}
	return r
}

const (
	oneHost  = `instance="host-0001.dc1.example.com:9100"`
	requests = `http_request_duration_seconds_bucket`
)

// dashboardQueries are asked for six hours, a step a minute.
var dashboardQueries = []string{
	// One host of node_exporter.
	`node_network_receive_bytes_total{` + oneHost + `}`,
	`rate(node_network_receive_bytes_total{` + oneHost + `}[5m]) * 8`,
	`irate(node_disk_read_bytes_total{` + oneHost + `}[5m])`,
	`sum by (mode) (irate(node_cpu_seconds_total{` + oneHost + `}[5m]))`,
	`100 - 100 * avg by (instance) (rate(node_cpu_seconds_total{` + oneHost + `,mode="idle"}[5m]))`,
	`node_filesystem_avail_bytes{` + oneHost + `} / node_filesystem_size_bytes{` + oneHost + `}`,
	`1 - node_memory_Field00_bytes{` + oneHost + `} / node_memory_Limit00_bytes{` + oneHost + `}`,
	`rate(node_disk_read_time_seconds_total{` + oneHost + `}[5m]) / rate(node_disk_reads_completed_total{` + oneHost + `}[5m])`,
	`node_memory_Field00_bytes{` + oneHost + `} - node_memory_Field00_bytes{` + oneHost + `} offset 1h`,
	`deriv(node_filesystem_avail_bytes{` + oneHost + `}[1h])`,
	// All hosts.
	`sum by (instance) (rate(node_network_receive_bytes_total[5m]))`,
	`sum(rate(node_cpu_seconds_total[5m]))`,
	`sum by (instance, mode) (rate(node_cpu_seconds_total[5m]))`,
	`1 - avg by (instance) (rate(node_cpu_seconds_total{mode="idle"}[5m]))`,
	`sum by (instance) (rate(node_cpu_seconds_total{mode!="idle"}[5m])) / ignoring (mode) sum by (instance) (rate(node_cpu_seconds_total[5m]))`,
	`sum by (instance) (rate(node_cpu_seconds_total{mode="user"}[5m])) / on (instance) group_left count by (instance) (node_cpu_seconds_total{mode="user"})`,
	`topk(5, sum by (instance, device) (rate(node_network_transmit_bytes_total[5m])))`,
	`topk(10, rate(node_disk_written_bytes_total[5m]))`,
	`bottomk(3, node_filesystem_avail_bytes)`,
	`max by (instance) (1 - node_filesystem_avail_bytes / node_filesystem_size_bytes)`,
	`quantile(0.95, rate(node_cpu_seconds_total[5m]))`,
	`quantile by (dc) (0.5, node_memory_Field01_bytes)`,
	`predict_linear(node_filesystem_avail_bytes[1h], 4 * 3600) < 0`,
	`predict_linear(node_filesystem_avail_bytes[1h], 4 * 3600)`,
	`count by (dc) (node_memory_Field02_bytes > 8e9)`,
	`count(node_load_field00)`,
	`stddev by (dc) (node_load_field01)`,
	`max_over_time(node_load_field02[1h])`,
	`avg_over_time(node_load_field03[30m])`,
	`quantile_over_time(0.9, node_load_field04[30m])`,
	`max_over_time(sum by (dc) (rate(node_network_receive_bytes_total[5m]))[30m:1m])`,
	`avg_over_time(rate(node_disk_read_bytes_total[5m])[1h:5m])`,
	`increase(node_vmstat_event00[1h])`,
	`resets(node_netstat_Tcp_Field00[1h]) + changes(node_misc_field00[1h])`,
	`label_replace(rate(node_network_receive_bytes_total[5m]), "host", "$1", "instance", "([^.]+).*")`,
	`sum by (host) (label_replace(rate(node_cpu_seconds_total{mode="user"}[5m]), "host", "$1", "instance", "([^.]+).*"))`,
	`clamp_max(rate(node_disk_io_time_seconds_total[5m]), 1)`,
	`node_filesystem_avail_bytes < 1e9 and node_filesystem_readonly == 0`,
	`node_memory_Field03_bytes > 5e9 unless node_load_field00 > 3`,
	`count_values("value", round(node_load_field05))`,
	`rate(node_network_receive_bytes_total[5m]) / rate(node_network_receive_bytes_total[5m] offset 1h)`,
	// Requests, errors, durations.
	`histogram_quantile(0.99, sum by (le) (rate(` + requests + `[5m])))`,
	`histogram_quantile(0.9, sum by (handler, le) (rate(` + requests + `[5m])))`,
	`histogram_quantile(0.5, rate(` + requests + `[5m]))`,
	`sum by (handler) (rate(` + requests + `{le="+Inf"}[5m]))`,
	`sum(rate(` + requests + `{le="0.25"}[5m])) / sum(rate(` + requests + `{le="+Inf"}[5m]))`,
	`1 - sum by (handler) (rate(` + requests + `{le="0.5"}[30m])) / sum by (handler) (rate(` + requests + `{le="+Inf"}[30m]))`,
	`(1 - sum(rate(` + requests + `{le="0.5"}[1h])) / sum(rate(` + requests + `{le="+Inf"}[1h]))) / (1 - 0.999) > 14.4`,
}

// alertQueries are asked for the newest instant.
var alertQueries = []string{
	`count({job="node"})`,
	`sum by (instance) (rate(node_cpu_seconds_total{mode!="idle"}[5m]))`,
	`predict_linear(node_filesystem_avail_bytes[6h], 24 * 3600) < 0`,
	`histogram_quantile(0.99, sum by (handler, le) (rate(` + requests + `[5m])))`,
	`topk(10, rate(node_network_receive_bytes_total[5m]))`,
	`sum(increase(` + requests + `{le="+Inf"}[6h]))`,
	`(node_filesystem_avail_bytes / node_filesystem_size_bytes < 0.05) and on (instance) node_load_field00 > 1`,
	`max_over_time(sum(rate(node_network_receive_bytes_total[5m]))[1h:1m])`,
}

func instantQuery(expr string) func(dataset) (request, error) {
	return func(d dataset) (request, error) {
		_, to := d.last(0)
		query := url.Values{"query": {expr}, "time": {seconds(to)}, "nocache": {"1"}}
		return func(ctx context.Context, s *server) ([]byte, error) { return s.get(ctx, "/api/v1/query", query) }, nil
	}
}

// medianRatio is the line that compares all questions of a set at once.
func medianRatio(title string, lines []line, limit float64) line {
	var ratios []float64
	for _, l := range lines {
		if r := l.ratio(); !math.IsNaN(r) {
			ratios = append(ratios, r)
		}
	}
	return line{
		what: fmt.Sprintf("%s: median ratio of %s questions", title, strconv.Itoa(len(ratios))), unit: times,
		ours: median(ratios), bar: atMostItself(limit),
	}
}
