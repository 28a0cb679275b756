package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/testkit/load"
)

// A tsdQuestion is asked over the two hours that the data has.
type tsdQuestion struct {
	what   string
	m      string // of /api/query
	promql string // what asks for the same
	ranged bool   // promql is asked for each minute, else once
	atMost float64
}

// tsdQuestions returns the questions about the series of a shape. atMost is the bar of the time relative to a
// TSD's.
func tsdQuestions(shape load.Shape) []tsdQuestion {
	group := func(n int) string { return fmt.Sprintf("g%04d", n) }
	var some []string
	middle := shape.Tail / 200
	for n := range min(50, middle) {
		some = append(some, group(middle+n))
	}
	pod := fmt.Sprintf("pod-%06d", shape.Tail/2)
	metric := load.ChurnMetric
	each := func(of string) string { return "sum(avg_over_time(" + metric + of + "[1m]))" }
	return []tsdQuestion{
		{"1 series by a tag", "sum:1m-avg:" + metric + "{}{pod=literal_or(" + pod + ")}", each(`{pod="` + pod + `"}`), true, 1.0 / 100},
		{"100 series by a tag", "sum:1m-avg:" + metric + "{}{grp=literal_or(" + group(middle) + ")}", each(`{grp="` + group(middle) + `"}`), true, 1.0 / 30},
		{
			fmt.Sprintf("%d series by a tag", 100*len(some)), "sum:1m-avg:" + metric + "{}{grp=literal_or(" + strings.Join(some, "|") + ")}",
			each(`{grp=~"` + strings.Join(some, "|") + `"}`), true, 1.0 / 4,
		},
		{"all series", "sum:0all-sum:" + metric, "sum(sum_over_time(" + metric + "[" + strconv.Itoa(wideHours) + "h]))", false, 1.0 / 2},
	}
}

// tsd asks /api/query of a server, ours or a TSD.
func (q tsdQuestion) tsd(shape load.Shape, base string) request {
	query := url.Values{
		"start": {strconv.FormatInt(shape.Start().UnixMilli(), 10)}, "end": {strconv.FormatInt(shape.End.UnixMilli()-1, 10)}, "ms": {"true"}, "m": {q.m},
	}
	return func(ctx context.Context, s *server) ([]byte, error) {
		if base == "" {
			return s.get(ctx, "/api/query", query)
		}
		return s.do(ctx, "GET", base+"/api/query?"+query.Encode())
	}
}

// prometheus asks for the same in PromQL.
func (q tsdQuestion) prometheus(shape load.Shape) request {
	query := url.Values{"query": {q.promql}, "nocache": {"1"}}
	path := "/api/v1/query"
	if q.ranged {
		path += "_range"
		query.Set("start", seconds(shape.Start().Add(time.Minute)))
		query.Set("end", seconds(shape.End))
		query.Set("step", "60")
	} else {
		query.Set("time", strconv.FormatFloat(float64(shape.End.UnixMilli()-1)/1000, 'f', 3, 64))
	}
	return func(ctx context.Context, s *server) ([]byte, error) { return s.get(ctx, path, query) }
}

func tsdShape(r *report) load.Shape {
	const steps = wideHours * int(time.Hour/wideStep)
	series := r.scaled(50_000)
	return load.Shape{Seed: 1, Steps: steps, Interval: wideStep, End: end().Truncate(time.Hour), Tail: series, TailSteps: steps}
}

// tsdOnHBase asks tsdbridge and a TSD on the same tables the same requests.
func tsdOnHBase(ctx context.Context, r *report) error {
	const table = "questions"
	h, err := startHadoop(ctx, r)
	if err != nil {
		return r.withoutHBase(ctx, err)
	}
	defer h.close()
	if err := h.create(ctx, table); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "tsdbridge-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	shape := tsdShape(r)
	s, err := h.fillTags(ctx, r, dir, table, shape)
	if err != nil {
		return err
	}
	defer s.proc.kill()
	tsd, err := h.tsd(ctx, r, table)
	if err != nil {
		return err
	}
	defer func() { _ = tsd.Stop() }()
	for _, q := range tsdQuestions(shape) {
		ours, theirs := q.tsd(shape, ""), q.tsd(shape, tsd.URL())
		what := fmt.Sprintf("/api/query: %s of %d × %d h, HBase", q.what, shape.Tail, wideHours)
		if err := sameTSDAnswer(ctx, r, s, what, ours, theirs); err != nil {
			return err
		}
		times, err := p50s(ctx, s, ours, theirs)
		if err != nil {
			return err
		}
		r.log("%s: %.2f ms, the TSD %.2f ms", what, times[0], times[1])
		r.lines = append(r.lines, line{what: what, unit: milliseconds, ours: times[0], peer: tsdName, theirs: times[1], bar: atMost(q.atMost)})
	}
	return nil
}

// sameTSDAnswer notes when two servers answer differently.
func sameTSDAnswer(ctx context.Context, r *report, s *server, what string, ours, theirs request) error {
	var answers [2][]struct{ Dps map[string]json.Number }
	for i, ask := range []request{ours, theirs} {
		text, err := ask(ctx, s)
		if err != nil {
			return err
		}
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&answers[i]); err != nil {
			return fmt.Errorf("%s: answer %.100q: %w", what, text, err)
		}
	}
	points := func(a []struct{ Dps map[string]json.Number }) (n int) {
		for _, one := range a {
			n += len(one.Dps)
		}
		return n
	}
	if len(answers[0]) != len(answers[1]) || points(answers[0]) != points(answers[1]) {
		r.note("%s: %d series with %d points, the TSD's %d with %d", what, len(answers[0]), points(answers[0]), len(answers[1]), points(answers[1]))
	}
	return nil
}

// tsdOnEmbedded asks the embedded store the same requests, and as PromQL.
func tsdOnEmbedded(ctx context.Context, r *report) error {
	dir, err := os.MkdirTemp("", "tsdbridge-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := r.programs.ours.start(ctx, dir)
	if err != nil {
		return err
	}
	defer s.proc.kill()
	shape := tsdShape(r)
	if err := s.fill(ctx, r, load.Encode(shape, load.RemoteWrite1, connections, 2000)); err != nil {
		return err
	}
	for _, q := range tsdQuestions(shape) {
		times, err := p50s(ctx, s, q.tsd(shape, ""), q.prometheus(shape))
		if err != nil {
			return err
		}
		what := fmt.Sprintf("/api/query: %s of %d × %d h, embedded", q.what, shape.Tail, wideHours)
		r.log("%s: %.2f ms, as PromQL %.2f ms", what, times[0], times[1])
		r.lines = append(r.lines, line{what: what, unit: milliseconds, ours: times[0], peer: oursName + ", PromQL", theirs: times[1], bar: atMost(1.5)})
	}
	return nil
}
