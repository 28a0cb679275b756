package main

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/prometheus/prometheus/prompb"

	"github.com/tsdbridge/tsdbridge/internal/testkit/load"
)

// soakQuestions are asked repeatedly while the soak writes.
var soakQuestions = []func(now time.Time) (path string, query url.Values){
	func(now time.Time) (string, url.Values) {
		return "/api/v1/query_range", url.Values{
			"query": {`sum by (instance)(rate(node_cpu_seconds_total{env="remote_write-1.0"}[1m]))`},
			"start": {seconds(now.Add(-10 * time.Minute))}, "end": {seconds(now)}, "step": {"15"},
		}
	},
	func(now time.Time) (string, url.Values) {
		return "/api/v1/query_range", url.Values{
			"query": {`node_load_field00`}, "start": {seconds(now.Add(-6 * time.Hour))}, "end": {seconds(now)}, "step": {"60"},
		}
	},
	func(now time.Time) (string, url.Values) {
		return "/render", url.Values{"target": {"sumSeries(dc*.host-*.node_memory_Field00_bytes)"}, "from": {"-10min"}, "format": {"json"}}
	},
	func(now time.Time) (string, url.Values) {
		return "/metrics/find", url.Values{"query": {"dc*.host-*.*"}}
	},
	func(now time.Time) (string, url.Values) { return "/api/v1/label/instance/values", nil },
}

// ask repeats one question until ctx ends. A failure ends the soak unless a restart caused it.
func (s *soak) ask(ctx context.Context, q func(time.Time) (string, url.Values)) error {
	const pause = 200 * time.Millisecond
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		life := s.life.Load()
		if life%2 == 1 {
			continue
		}
		path, query := q(time.Now())
		_, err := s.server.get(ctx, path, query)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			s.asked.Add(1)
		case s.life.Load() == life:
			return fmt.Errorf("question: %w", err)
		}
	}
}

// watch records the memory of the server until ctx ends.
func (s *soak) watch(ctx context.Context) error {
	const pause = 200 * time.Millisecond
	for {
		rss := s.server.usage().rss
		s.highest.Store(max(s.highest.Load(), uint64(rss)))
		if rss > s.limit {
			return fmt.Errorf("%.0f MiB of memory, more than the %.0f allowed", rss/(1<<20), s.limit/(1<<20))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// check returns an error unless each sample of each feed is stored once.
func (s *soak) check(ctx context.Context) error {
	if err := s.server.quiet(ctx); err != nil {
		return err
	}
	counts, err := s.counts(ctx)
	if err != nil {
		return err
	}
	for _, f := range s.feeds {
		if counts[f.env()] != f.sent {
			err = fmt.Errorf("%s: %d samples stored of %d", f.format, counts[f.env()], f.sent)
		}
		s.log("%s: %d samples stored of %d", f.format, counts[f.env()], f.sent)
	}
	return err
}

// counts returns how many samples of each feed are stored, by env. The dotted names of carbon have
// no such label.
func (s *soak) counts(ctx context.Context) (map[string]int, error) {
	counts := map[string]int{}
	add := func(t *prompb.TimeSeries) {
		env := string(load.Carbon)
		for _, l := range t.Labels {
			if l.Name == "env" {
				env = l.Value
			}
		}
		counts[env] += len(t.Samples)
	}
	oldest, newest := s.begin, s.begin
	for _, f := range s.feeds {
		if f.until.Before(oldest) {
			oldest = f.until
		}
		if f.until.After(newest) {
			newest = f.until
		}
	}
	present := s.begin.Truncate(time.Hour)
	if err := s.server.scan(ctx, oldest, present, time.Hour, add); err != nil {
		return nil, err
	}
	return counts, s.server.scan(ctx, present, newest, 20*time.Second, add)
}
