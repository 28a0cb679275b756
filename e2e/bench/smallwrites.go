package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/testkit/load"
)

// smallWrites measures requests of a few samples each: one connection after another waits for the
// answer, as scripts, agents and many small Prometheus servers do. Their series are known before
// the measurement.
type smallWrites struct {
	batch int // samples of a request
}

const (
	// smallRequests is how many requests a run measures.
	smallRequests = 40_000
	// The figures of a request may be these multiples of VictoriaMetrics', which acknowledges what
	// is in memory.
	smallCPU, smallP50 = 0.7, 1.2
)

func (s smallWrites) measure(ctx context.Context, r *report) error {
	for _, format := range []load.Format{load.RemoteWrite1, load.Put} {
		for _, connections := range []int{4, 256} {
			if err := s.compare(ctx, r, format, connections); err != nil {
				return err
			}
		}
	}
	return nil
}

// smallRun is the figures of one run.
type smallRun struct {
	cpu      float64 // milliseconds of the server for a request
	p50, p99 time.Duration
}

// compare measures one format and number of connections.
func (s smallWrites) compare(ctx context.Context, r *report, format load.Format, connections int) error {
	steps := max(r.scaled(smallRequests)/connections, 10) + 1
	shape := load.Shape{Seed: 1, Series: connections * s.batch, Steps: steps, Interval: time.Second, End: end()}
	corpus := load.Encode(shape, format, connections, s.batch)
	runs := map[string][]smallRun{}
	for range r.runs {
		for _, p := range []program{r.programs.ours, r.programs.victoria} {
			if p.name == "" {
				continue
			}
			one, err := s.run(ctx, p, corpus)
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			runs[p.name] = append(runs[p.name], one)
			r.log("%s, %d samples, %d connections: %s: %.4f ms, p50 %.2f ms", format, s.batch, connections, p.name, one.cpu, ms(one.p50))
		}
	}
	what := fmt.Sprintf("%s of %d, %d connections, ", format, s.batch, connections)
	r.lines = append(r.lines,
		smallLine(what+"CPU a request", runs, func(one smallRun) float64 { return one.cpu }, smallCPU),
		smallLine(what+"p50", runs, func(one smallRun) float64 { return ms(one.p50) }, smallP50))
	return nil
}

// smallLine compares the medians of a figure in milliseconds.
func smallLine(what string, runs map[string][]smallRun, of func(smallRun) float64, most float64) line {
	figure := func(name string) float64 {
		var all []float64
		for _, one := range runs[name] {
			all = append(all, of(one))
		}
		return median(all)
	}
	l := line{what: what, unit: milliseconds, ours: figure(oursName), peer: victoriaName, theirs: figure(victoriaName), bar: atMost(most)}
	if len(runs[victoriaName]) == 0 {
		l.why = victoriaName + " is missing"
	}
	return l
}

// run sends the first request of each connection, which registers its series, and then measures the
// others.
func (s smallWrites) run(ctx context.Context, p program, c *load.Corpus) (one smallRun, err error) {
	dir, err := os.MkdirTemp("", "tsdbridge-bench")
	if err != nil {
		return one, err
	}
	defer os.RemoveAll(dir)
	server, err := p.start(ctx, dir)
	if err != nil {
		return one, err
	}
	defer server.proc.kill()
	first, rest := cutFirst(c)
	if err := load.NewSender(first, server.target(c.Format)).Run(ctx); err != nil {
		return one, err
	}
	if err := server.quiet(ctx); err != nil {
		return one, err
	}
	before := server.usage().cpu
	sender := load.NewSender(rest, server.target(c.Format))
	if err := sender.Run(ctx); err != nil {
		return one, err
	}
	latencies := sender.Latencies()
	one.p50, one.p99 = quantiles(latencies)
	if err := server.quiet(ctx); err != nil {
		return one, err
	}
	one.cpu = (server.usage().cpu - before) * 1000 / float64(len(latencies))
	stored, err := server.storedAll(ctx, c)
	if err != nil {
		return one, err
	}
	if stored != c.Samples {
		return one, fmt.Errorf("%d of %d samples are stored", stored, c.Samples)
	}
	_, err = server.proc.stop()
	return one, err
}

// cutFirst parts the first request of each lane from the others.
func cutFirst(c *load.Corpus) (first, rest *load.Corpus) {
	first, rest = &load.Corpus{Format: c.Format, Shape: c.Shape}, &load.Corpus{Format: c.Format, Shape: c.Shape}
	for _, lane := range c.Lanes {
		first.Lanes, rest.Lanes = append(first.Lanes, lane[:1]), append(rest.Lanes, lane[1:])
	}
	return first, rest
}
