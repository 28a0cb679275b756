package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/testkit/load"
)

// A restart is an orderly end right after a load, and the start that follows.
type restart struct {
	end, start time.Duration
	cpu        float64 // seconds of the start, until the server was quiet
	rss        float64 // bytes, then
	stored     int
	expected   int
}

// startRow loads many new series, ends the server at once and starts it again.
func startRow(ctx context.Context, r *report) error {
	corpora := firstAndFurther(r.scaled(1_000_000), load.RemoteWrite1)
	series := corpora[0].Samples
	g := grid{
		title: fmt.Sprintf("Orderly end and start right after a load of %d series", series),
		rows:  [][]string{{"end s", "start s", "CPU-s of the start, until quiet", "RSS MiB then", "found"}},
	}
	var ends, starts []float64
	wrong := ""
	for range r.runs {
		one, err := restartLoaded(ctx, r.programs.ours, corpora)
		if err != nil {
			return err
		}
		r.log("start: end %v, start %v", one.end.Round(time.Millisecond), one.start.Round(time.Millisecond))
		ends, starts = append(ends, one.end.Seconds()), append(starts, one.start.Seconds())
		found := fmt.Sprintf("%d of %d", one.stored, one.expected)
		if one.stored != one.expected {
			wrong = found + " samples"
		}
		g.rows = append(g.rows, []string{
			fmt.Sprintf("%.2f", one.end.Seconds()), fmt.Sprintf("%.2f", one.start.Seconds()), fmt.Sprintf("%.2f", one.cpu),
			fmt.Sprintf("%.0f", one.rss/(1<<20)), found,
		})
	}
	r.lines = append(r.lines,
		line{what: fmt.Sprintf("start after a load of %d series", series), unit: inSeconds, ours: median(starts), bar: atMostItself(2), wrongCount: wrong},
		line{what: fmt.Sprintf("orderly end after a load of %d series", series), unit: inSeconds, ours: median(ends), bar: atMostItself(10), wrongCount: wrong},
	)
	r.details = append(r.details, g)
	return nil
}

// restartLoaded sends corpora to a fresh server, and does not wait until it is quiet before it ends
// and starts it again.
func restartLoaded(ctx context.Context, p program, corpora []*load.Corpus) (r restart, err error) {
	dir, err := os.MkdirTemp("", "tsdbridge-bench")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	s, err := p.start(ctx, dir)
	if err != nil {
		return r, err
	}
	defer func() { s.proc.kill() }()
	for _, c := range corpora {
		if err := load.NewSender(c, s.target(c.Format)).Run(ctx); err != nil {
			return r, fmt.Errorf("%s: %w", s.name, err)
		}
		r.expected += c.Samples
	}
	begin := time.Now()
	if _, err := s.proc.stop(); err != nil {
		return r, err
	}
	r.end, begin = time.Since(begin), time.Now()
	if err := s.run(ctx); err != nil {
		return r, err
	}
	r.start = time.Since(begin)
	if err := s.quiet(ctx); err != nil {
		return r, err
	}
	r.cpu, r.rss = s.usage().cpu, s.usage().rss
	for _, c := range corpora {
		n, err := s.storedAll(ctx, c)
		if err != nil {
			return r, err
		}
		r.stored += n
	}
	return r, nil
}
