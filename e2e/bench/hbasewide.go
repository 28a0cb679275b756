package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/testkit/cluster"
	"github.com/tsdbridge/tsdbridge/internal/testkit/load"
)

// wideHours is the range of a wide read, wideStep the interval of its samples.
const (
	wideHours = 2
	wideStep  = time.Minute
)

// hbaseWide queries the sum of all samples of many series over two hours, from tsdbridge and from a
// TSD on the same tables. Four times as many series show how the time grows.
func hbaseWide(ctx context.Context, r *report) error {
	h, err := startHadoop(ctx, r)
	if err != nil {
		return r.withoutHBase(ctx, err)
	}
	defer h.close()
	var times [2]float64
	for i, series := range []int{50_000, 200_000} {
		if times[i], err = h.wideReads(ctx, r, r.scaled(series)); err != nil {
			return err
		}
	}
	r.lines = append(r.lines, line{
		what: "4 × the series of a wide read, HBase", unit: milliseconds, ours: times[1], peer: oursName + ", 4 × its time", theirs: 4 * times[0], bar: atMost(1.2),
	})
	return nil
}

// wideReads fills tables with series and queries all of them from both. It returns the time of
// tsdbridge.
func (h *hadoop) wideReads(ctx context.Context, r *report, series int) (float64, error) {
	table := fmt.Sprint("wide", series)
	if err := h.create(ctx, table); err != nil {
		return 0, err
	}
	const steps = wideHours * int(time.Hour/wideStep)
	// Whole hours, so that the rows of the answer are all rows of the range.
	shape := load.Shape{Seed: 1, Steps: steps, Interval: wideStep, End: end().Truncate(time.Hour), Tail: series, TailSteps: steps}
	dir, err := os.MkdirTemp("", "tsdbridge-bench")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	s, err := h.fillTags(ctx, r, dir, table, shape)
	if err != nil {
		return 0, err
	}
	defer s.proc.kill()
	tsd, err := h.tsd(ctx, r, table)
	if err != nil {
		return 0, err
	}
	defer func() { _ = tsd.Stop() }()
	return h.compareWide(ctx, r, s, tsd, shape)
}

func (h *hadoop) compareWide(ctx context.Context, r *report, s *server, tsd *cluster.TSD, shape load.Shape) (float64, error) {
	ours, theirs := wideQuery(shape), wideTSDQuery(shape, tsd.URL())
	before, err := rowsRead(ctx, s)
	if err != nil {
		return 0, err
	}
	mine, err := wideSum(ctx, s, ours, oursSum)
	if err != nil {
		return 0, err
	}
	after, err := rowsRead(ctx, s)
	if err != nil {
		return 0, err
	}
	other, err := wideSum(ctx, s, theirs, tsdSum)
	if err != nil {
		return 0, err
	}
	what := fmt.Sprintf("all of %d series × %d h, HBase", shape.Tail, wideHours)
	if relative := mine/other - 1; relative > 1e-9 || relative < -1e-9 {
		r.note("%s: the sum is %v, the TSD's %v", what, mine, other)
	}
	times, err := p50s(ctx, s, ours, theirs)
	if err != nil {
		return 0, err
	}
	r.log("%s: %.0f ms, the TSD %.0f ms, %d rows read", what, times[0], times[1], after-before)
	cpu, err := cpuOf(ctx, s, ours, s.usage, h.usage)
	if err != nil {
		return 0, err
	}
	r.note("%s: %.2f CPU seconds of tsdbridge and %.2f of HBase for a query", what, cpu[0], cpu[1])
	rows := wideHours * shape.Tail
	r.note("%s: %d rows read for %d of the answer's hours", what, after-before, rows)
	r.lines = append(r.lines, line{what: what, unit: milliseconds, ours: times[0], peer: tsdName, theirs: times[1], bar: atMost(0.5)})
	return times[0], nil
}

// A turn of p50s lasts turnTime, or mostATurn requests: the first request after a pause of a quarter of a second waits
// for sleeping threads on all sides, which takes longer than a small answer.
const (
	turnTime  = 50 * time.Millisecond
	mostATurn = 20
)

// p50s is p50 of several requests that take turns, so that all run under the same load of the
// machine.
func p50s(ctx context.Context, s *server, ask ...request) ([]float64, error) {
	times := make([][]float64, len(ask))
	for round := range 1 + leastARound {
		for i := range ask {
			begin := time.Now()
			for n := 0; n == 0 || n < mostATurn && time.Since(begin) < turnTime; n++ {
				one := time.Now()
				if _, err := ask[i](ctx, s); err != nil {
					return nil, err
				}
				if round > 0 { // the first turn fills caches on all sides
					times[i] = append(times[i], ms(time.Since(one)))
				}
			}
		}
	}
	medians := make([]float64, len(ask))
	for i := range times {
		medians[i] = median(times[i])
	}
	return medians, nil
}

// cpuOf returns the CPU seconds that each process uses for a request, as the mean of a few.
func cpuOf(ctx context.Context, s *server, ask request, processes ...func() usage) ([]float64, error) {
	cpu := make([]float64, len(processes))
	for i, of := range processes {
		cpu[i] = -of().cpu
	}
	for range leastARound {
		if _, err := ask(ctx, s); err != nil {
			return nil, err
		}
	}
	for i, of := range processes {
		cpu[i] = (cpu[i] + of().cpu) / leastARound
	}
	return cpu, nil
}

// wideQuery is one sum of all samples in the range.
func wideQuery(shape load.Shape) request {
	query := url.Values{
		"query": {"sum(sum_over_time(" + load.ChurnMetric + "[" + strconv.Itoa(wideHours) + "h]))"},
		"time":  {strconv.FormatFloat(float64(shape.End.UnixMilli()-1)/1000, 'f', 3, 64)},
	}
	return func(ctx context.Context, s *server) ([]byte, error) { return s.get(ctx, "/api/v1/query", query) }
}

func wideTSDQuery(shape load.Shape, tsd string) request {
	query := url.Values{
		"start": {strconv.FormatInt(shape.Start().UnixMilli(), 10)}, "end": {strconv.FormatInt(shape.End.UnixMilli()-1, 10)}, "ms": {"true"},
		"m": {"sum:0all-sum:" + load.ChurnMetric},
	}
	return func(ctx context.Context, s *server) ([]byte, error) {
		return s.do(ctx, "GET", tsd+"/api/query?"+query.Encode())
	}
}

func wideSum(ctx context.Context, s *server, ask request, sum func([]byte) (float64, error)) (float64, error) {
	answer, err := ask(ctx, s)
	if err != nil {
		return 0, err
	}
	total, err := sum(answer)
	if err != nil {
		return 0, fmt.Errorf("answer %.200q: %w", answer, err)
	}
	return total, nil
}

var errNoSum = errors.New("want one sum")

func oursSum(answer []byte) (float64, error) {
	var a struct {
		Data struct {
			Result []struct{ Value [2]any }
		}
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return 0, err
	}
	if len(a.Data.Result) != 1 {
		return 0, errNoSum
	}
	return strconv.ParseFloat(fmt.Sprint(a.Data.Result[0].Value[1]), 64)
}

func tsdSum(answer []byte) (float64, error) {
	var a []struct{ Dps map[string]float64 }
	if err := json.Unmarshal(answer, &a); err != nil {
		return 0, err
	}
	if len(a) != 1 || len(a[0].Dps) != 1 {
		return 0, errNoSum
	}
	for _, v := range a[0].Dps {
		return v, nil
	}
	return 0, errNoSum
}

// rowsRead returns how many rows the adapter has asked for or gone over for queries.
func rowsRead(ctx context.Context, s *server) (int, error) {
	text, err := s.get(ctx, "/metrics", nil)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && strings.HasPrefix(name, "tsdbridge_store_select_rows_total{") {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return 0, err
			}
			sum += n
		}
	}
	return int(sum), nil
}
