package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/prometheus/prometheus/prompb"

	"github.com/tsdbridge/tsdbridge/internal/testkit/load"
)

// One series of a host, and a metric of which each host has 128 series.
const (
	oneSeries = `node_network_receive_bytes_total{instance="host-0001.dc1.example.com:9100",device="eth0"}`
	cpuMetric = "node_cpu_seconds_total"
)

// prometheusReads are the nine reads of the query API and of remote read.
var prometheusReads = reads{
	format:  load.RemoteWrite1,
	title:   "Prometheus reads",
	shape:   load.Shape{Seed: 1, Series: 1000, Steps: 5760, Interval: 15 * time.Second, Tail: 100_000, TailSteps: 20},
	measure: prometheusExtent,
	questions: []question{
		{name: "query_range 1 series × 24 h, step 15 s", prepare: rangeQuery(oneSeries, 24*time.Hour, 15*time.Second)},
		{name: "query_range rate[5m] of 1 × 24 h, step 60 s", prepare: rangeQuery("rate("+oneSeries+"[5m])", 24*time.Hour, time.Minute)},
		{name: "query_range 1000 series × 1 h, step 15 s", prepare: rangeQuery(`{job="node",instance=~"host-.*"}`, time.Hour, 15*time.Second)},
		{name: "query_range sum by (instance)(rate) of 256 × 1 h", prepare: rangeQuery("sum by (instance)(rate("+cpuMetric+"[5m]))", time.Hour, 15*time.Second)},
		{name: "query_range 100 of 100 k series by label, 5 min", prepare: groupQuery},
		{name: "query_range sum by (grp)(rate) of 100 k series, 3 min", prepare: rangeQuery("sum by (grp)(rate("+load.ChurnMetric+"[1m]))", 3*time.Minute, 15*time.Second)},
		{name: "remote_read 1 series × 24 h", bar: ofPrometheus(1), prepare: readQuery(24*time.Hour,
			equal("__name__", "node_network_receive_bytes_total"), equal("instance", "host-0001.dc1.example.com:9100"), equal("device", "eth0"))},
		{name: "remote_read 1000 series × 1 h", bar: ofPrometheus(0.5), prepare: readQuery(time.Hour,
			equal("job", "node"), &prompb.LabelMatcher{Type: prompb.LabelMatcher_RE, Name: "instance", Value: "host-.*"})},
		{name: "remote_read 100 of 100 k series", bar: ofPrometheus(1), prepare: func(d dataset) (request, error) {
			return readQuery(5*time.Minute, equal("__name__", load.ChurnMetric), equal("grp", d.group()))(d)
		}},
	},
}

func ofPrometheus(times float64) map[string]bar { return map[string]bar{prometheusName: atMost(times)} }

func equal(name, value string) *prompb.LabelMatcher {
	return &prompb.LabelMatcher{Type: prompb.LabelMatcher_EQ, Name: name, Value: value}
}

// group returns a value of the label grp from the middle.
func (d dataset) group() string { return fmt.Sprintf("g%04d", d.groups/2) }

func groupQuery(d dataset) (request, error) {
	return rangeQuery(load.ChurnMetric+`{grp="`+d.group()+`"}`, 5*time.Minute, 15*time.Second)(d)
}

func rangeQuery(expr string, span, step time.Duration) func(dataset) (request, error) {
	return func(d dataset) (request, error) {
		from, to := d.last(span)
		// Both ends of a span of 24 h are a step too many.
		query := url.Values{
			"query": {expr}, "start": {seconds(from.Add(step))}, "end": {seconds(to)}, "step": {strconv.Itoa(int(step.Seconds()))}, "nocache": {"1"},
		}
		return func(ctx context.Context, s *server) ([]byte, error) { return s.get(ctx, "/api/v1/query_range", query) }, nil
	}
}

func readQuery(span time.Duration, matchers ...*prompb.LabelMatcher) func(dataset) (request, error) {
	return func(d dataset) (request, error) {
		from, to := d.last(span)
		body, err := readRequest(from.Add(time.Millisecond), to, matchers)
		return func(ctx context.Context, s *server) ([]byte, error) { return s.remoteRead(ctx, body) }, err
	}
}

// prometheusExtent counts what a matrix or a remote read returned.
func prometheusExtent(answer []byte) (extent, error) {
	if !bytes.HasPrefix(answer, []byte("{")) {
		series, err := parseRead(answer)
		e := extent{series: len(series)}
		for _, s := range series {
			e.points += len(s.Samples)
		}
		return e, err
	}
	var matrix struct {
		Data struct {
			Result []struct{ Values []json.RawMessage }
		}
	}
	if err := json.Unmarshal(answer, &matrix); err != nil {
		return extent{}, err
	}
	e := extent{series: len(matrix.Data.Result)}
	for _, s := range matrix.Data.Result {
		e.points += len(s.Values)
	}
	return e, nil
}

// graphiteReads are the five of Graphite's API, on dotted names.
var graphiteReads = reads{
	format:  load.Carbon,
	title:   "Graphite reads",
	shape:   load.Shape{Seed: 1, Series: 1000, Steps: 5760, Interval: 15 * time.Second, Tail: 10_000, TailSteps: 20},
	measure: graphiteExtent,
	questions: []question{
		{name: "render 1 series × 24 h", prepare: render("dc1.host-0001_dc1_example_com.node_network_receive_bytes_total.eth0", 24*time.Hour)},
		{name: "render 256 series by glob × 1 h", prepare: render("dc*.host-*."+cpuMetric+".*.*", time.Hour)},
		{name: "render sumSeries(perSecond(256 × 1 h))", prepare: render("sumSeries(perSecond(dc*.host-*."+cpuMetric+".*.*))", time.Hour)},
		{name: "render 100 of 10 k by glob, 5 min", prepare: func(d dataset) (request, error) {
			return render("dc*.churn-*."+load.ChurnMetric+"."+d.group()+".*", 5*time.Minute)(d)
		}},
		{name: "find dc*.host-*.*", prepare: func(dataset) (request, error) {
			query := url.Values{"query": {"dc*.host-*.*"}, "format": {"treejson"}}
			return func(ctx context.Context, s *server) ([]byte, error) { return s.get(ctx, "/metrics/find", query) }, nil
		}},
	},
}

func render(target string, span time.Duration) func(dataset) (request, error) {
	return func(d dataset) (request, error) {
		from, to := d.last(span)
		query := url.Values{
			"target": {target}, "from": {strconv.FormatInt(from.Unix(), 10)}, "until": {strconv.FormatInt(to.Unix(), 10)}, "format": {"json"}, "noCache": {"1"},
		}
		return func(ctx context.Context, s *server) ([]byte, error) { return s.get(ctx, "/render", query) }, nil
	}
}

// graphiteExtent counts what render or find returned. It leaves out points without a value: servers
// differ in how many of these they return.
func graphiteExtent(answer []byte) (extent, error) {
	var all []struct {
		Datapoints [][2]*float64
	}
	if err := json.Unmarshal(answer, &all); err != nil {
		return extent{}, fmt.Errorf("answer %.60q: %w", answer, err)
	}
	e := extent{series: len(all)}
	for _, s := range all {
		for _, p := range s.Datapoints {
			if p[0] != nil {
				e.points++
			}
		}
	}
	return e, nil
}
