package main

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/testkit/load"
)

// A refresh of a dashboard: six hours, a step each scrape, asked again after each scrape.
const (
	refreshSpan = 6 * time.Hour
	refreshStep = 15 * time.Second
	refreshes   = 9
)

// refreshed asks all range queries of the dashboards once, and then again after each scrape, with
// answers kept. A refresh should cost what is new.
func refreshed(ctx context.Context, r *report) error {
	shape := dashboards().shape
	shape.End = end().Add(-refreshes * refreshStep)
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
	if err := s.fill(ctx, r, load.Encode(shape, load.RemoteWrite1, connections, 2000)); err != nil {
		return err
	}
	took := make([][]float64, len(dashboardQueries)) // by query, the first time and each refresh
	var cpu []float64                                // of all queries
	for range 1 + refreshes {
		before := usageOf(s.proc.pid()).cpu
		for i, q := range dashboardQueries {
			begin := time.Now()
			if _, err := s.get(ctx, "/api/v1/query_range", panel(q, shape.End)); err != nil {
				return fmt.Errorf("%s: %w", q, err)
			}
			took[i] = append(took[i], ms(time.Since(begin)))
		}
		cpu = append(cpu, 1000*(usageOf(s.proc.pid()).cpu-before))
		shape.Steps, shape.End = 1, shape.End.Add(refreshStep)
		if err := load.NewSender(load.Encode(shape, load.RemoteWrite1, connections, 2000), s.target(load.RemoteWrite1)).Run(ctx); err != nil {
			return err
		}
	}
	r.refreshed(took, cpu)
	return nil
}

// panel is the request of a panel that nobody keeps answers from.
func panel(query string, end time.Time) url.Values {
	return url.Values{
		"query": {query}, "start": {seconds(end.Add(refreshStep - refreshSpan))}, "end": {seconds(end)},
		"step": {strconv.Itoa(int(refreshStep.Seconds()))},
	}
}

func (r *report) refreshed(took [][]float64, cpu []float64) {
	g := grid{title: "Refreshes of a dashboard: ms the first time, and of a refresh after each scrape (median)", rows: [][]string{{"question", "first", "refresh", "ratio"}}}
	first, again := 0.0, 0.0
	add := func(name string, one, more float64) {
		g.rows = append(g.rows, []string{name, fmt.Sprintf("%.2f", one), fmt.Sprintf("%.2f", more), fmt.Sprintf("%.3f", more/one)})
	}
	for i, q := range dashboardQueries {
		one, more := took[i][0], median(took[i][1:])
		first, again = first+one, again+more
		add(q, one, more)
	}
	add("all", first, again)
	add("CPU of all", cpu[0], median(cpu[1:]))
	r.details = append(r.details, g)
	r.lines = append(r.lines, line{
		what: fmt.Sprintf("Dashboard of %d panels: a refresh, in times of the first time", len(took)), unit: times, ours: again / first, theirs: math.NaN(), bar: atMostItself(0.1),
	})
}
