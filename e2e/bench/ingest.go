package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/testkit/load"
)

// ingested contains the figures of one run of sending a corpus to one server.
type ingested struct {
	samples   int
	stored    int           // samples found by queries
	took      time.Duration // until the last acknowledgement
	cpu       float64       // seconds of the server, until it was quiet and for its end
	generator float64       // seconds of this process, which shares the cores with the server
	rss, peak float64       // bytes, when the server was quiet and at most
	disk      int64         // bytes, compacted
	settled   error         // why disk is not compacted
	busy      int           // answers that asked to try again
	p50, p99  time.Duration
}

func (i ingested) rate() float64           { return float64(i.samples) / i.took.Seconds() }
func (i ingested) cpuPerMillion() float64  { return i.cpu / float64(i.samples) * 1e6 }
func (i ingested) bytesPerSample() float64 { return float64(i.disk) / float64(i.samples) }

// ingest sends a corpus to a fresh server.
func ingest(ctx context.Context, p program, c *load.Corpus) (r ingested, err error) {
	dir, err := os.MkdirTemp("", "tsdbridge-bench")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	s, err := p.start(ctx, dir)
	if err != nil {
		return r, err
	}
	defer s.proc.kill()
	if err := s.quiet(ctx); err != nil {
		return r, err
	}
	before := s.usage().cpu
	sender := load.NewSender(c, s.target(c.Format))
	own := usageOf(os.Getpid()).cpu
	begin := time.Now()
	if err := sender.Run(ctx); err != nil {
		return r, fmt.Errorf("%s: %w", p.name, err)
	}
	r.took, r.samples, r.busy = time.Since(begin), sender.Acked(), sender.Busy()
	r.generator = usageOf(os.Getpid()).cpu - own
	r.p50, r.p99 = quantiles(sender.Latencies())
	if err := s.quiet(ctx); err != nil {
		return r, err
	}
	after := s.usage()
	r.rss, r.peak = after.rss, after.peak
	if r.stored, err = s.storedAll(ctx, c); err != nil {
		return r, err
	}
	if s.settle != nil {
		r.disk, r.settled = s.settle(ctx, s)
	}
	asked := s.usage().cpu - after.cpu // not caused by the writes
	life, err := s.proc.stop()
	if err != nil {
		return r, err
	}
	r.cpu = life - before - asked
	if s.settle == nil {
		r.settled = s.compact(ctx, s)
		if r.disk, err = bytesIn(s.data()); err != nil {
			return r, err
		}
	}
	return r, nil
}

// storedAll counts the stored samples until they are complete or no more appear: text protocols
// have no acknowledgement.
func (s *server) storedAll(ctx context.Context, c *load.Corpus) (n int, err error) {
	for last := -1; n != c.Samples && n != last; {
		if last = n; n > 0 {
			if err := s.quiet(ctx); err != nil {
				return n, err
			}
		}
		if n, err = s.count(ctx, s, c.Shape); err != nil {
			return n, fmt.Errorf("%s: count: %w", s.name, err)
		}
	}
	return n, nil
}

// quantiles returns the median and the 99th percentile.
func quantiles(all []time.Duration) (p50, p99 time.Duration) {
	if len(all) == 0 {
		return 0, 0
	}
	slices.Sort(all)
	return all[len(all)/2], all[len(all)*99/100]
}
