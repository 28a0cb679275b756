package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/internal/testkit/load"
)

// A soak runs the adapter for some minutes with everything at once: all write protocols, some with
// current and some with old times, queries, orderly restarts and crashes. Memory must stay below a
// limit, and at the end each sample must be there exactly once.
type soak struct {
	server *server
	limit  float64 // bytes of RSS
	log    func(format string, args ...any)
	feeds  []*feed
	begin  time.Time

	// life grows by one when questions must stop, and by one when they may go on: it is odd while
	// none is asked.
	life    atomic.Int64
	asked   atomic.Int64
	highest atomic.Uint64 // RSS, bytes

	restarts int
}

// A feed is one protocol's part of a round.
type feed struct {
	format load.Format
	series int
	old    bool // its times go back an hour each round; else they follow the clock, a step a second
	batch  int
	sent   int       // samples acknowledged, or read to their end
	until  time.Time // where the times of the last round ended; for an old feed, where they began
}

func newFeeds(begin time.Time, scaled func(int) int) []*feed {
	feeds := []*feed{
		{format: load.RemoteWrite1, series: 20_000, batch: 2000, until: begin},
		{format: load.Carbon, series: 5000, batch: 500, until: begin},
		{format: load.Telnet, series: 5000, batch: 500, until: begin},
		{format: load.RemoteWrite2, series: 2000, batch: 500, old: true, until: begin.Truncate(time.Hour)},
		{format: load.Put, series: 1000, batch: 50, old: true, until: begin.Truncate(time.Hour)},
		{format: load.CarbonTagged, series: 1000, batch: 500, old: true, until: begin.Truncate(time.Hour)},
	}
	for _, f := range feeds {
		f.series = scaled(f.series)
	}
	return feeds
}

// acknowledges reports whether the protocol has acknowledgements. Then the sender repeats the rest
// after a crash.
func (f *feed) acknowledges() bool {
	return f.format == load.RemoteWrite1 || f.format == load.RemoteWrite2 || f.format == load.Put
}

// env returns the value of the label that distinguishes the series of the feed.
func (f *feed) env() string { return strings.ReplaceAll(string(f.format), " ", "-") }

// next returns what the feed sends in a round.
func (f *feed) next(now time.Time) load.Shape {
	shape := load.Shape{Seed: 1, Env: f.env(), Series: f.series}
	if f.old {
		shape.End, shape.Steps, shape.Interval = f.until, 240, 15*time.Second
		f.until = f.until.Add(-time.Hour)
		return shape
	}
	shape.Interval, shape.Steps = time.Second, int(now.Sub(f.until)/time.Second)
	f.until = f.until.Add(time.Duration(shape.Steps) * time.Second)
	shape.End = f.until
	return shape
}

const (
	roundLength  = 5 * time.Second // at least
	restartEvery = 6               // rounds; alternately orderly and by a crash
)

func soakCommand(ctx context.Context, r *report) error {
	dir, err := os.MkdirTemp("", "tsdbridge-soak")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	begin := time.Now().Truncate(time.Second)
	s := &soak{limit: float64(r.maxRSS) * (1 << 20), log: r.log, feeds: newFeeds(begin, r.scaled), begin: begin}
	if s.server, err = r.programs.ours.start(ctx, dir); err != nil {
		return err
	}
	defer func() { s.server.proc.kill() }()
	if err := s.run(ctx, begin.Add(r.soak)); err != nil {
		return err
	}
	if err := s.check(ctx); err != nil {
		return err
	}
	if err := s.restart(ctx, false); err != nil {
		return err
	}
	if err := s.check(ctx); err != nil {
		return fmt.Errorf("after the last restart: %w", err)
	}
	r.note("soak of %v: %d samples, %d questions, %d restarts, %.0f MiB of memory at most (limit %d)",
		r.soak, s.sent(), s.asked.Load(), s.restarts, float64(s.highest.Load())/(1<<20), r.maxRSS)
	return nil
}

// run sends rounds until the time is up. Meanwhile it asks questions and watches the memory.
func (s *soak) run(ctx context.Context, deadline time.Time) error {
	running, stop := context.WithCancel(ctx)
	group, running := errgroup.WithContext(running)
	group.Go(func() error { return s.watch(running) })
	for _, q := range soakQuestions {
		group.Go(func() error { return s.ask(running, q) })
	}
	group.Go(func() error {
		defer stop()
		for round := 1; time.Now().Before(deadline); round++ {
			if err := s.round(running, round); err != nil {
				return fmt.Errorf("round %d: %w", round, err)
			}
		}
		return nil
	})
	err := group.Wait()
	if errors.Is(err, context.Canceled) && ctx.Err() == nil {
		return nil
	}
	return err
}

// round lets every feed send its part. In some rounds the server is restarted while the feeds with
// acknowledgements send, after the others.
func (s *soak) round(ctx context.Context, n int) error {
	begin := time.Now()
	var acknowledged, others []*load.Sender
	for _, f := range s.feeds {
		shape := f.next(begin)
		corpus := load.Encode(shape, f.format, 2, f.batch)
		f.sent += corpus.Samples
		sender := load.NewSender(corpus, s.server.target(f.format))
		if f.acknowledges() {
			acknowledged = append(acknowledged, sender)
		} else {
			others = append(others, sender)
		}
	}
	var err error
	if n%restartEvery == 0 {
		if err = sendAll(ctx, others); err == nil {
			err = s.interrupt(ctx, acknowledged, n/restartEvery%2 == 0)
		}
	} else {
		err = sendAll(ctx, slices.Concat(acknowledged, others))
	}
	if err != nil {
		return err
	}
	s.log("round %d: %d samples, %d questions, RSS %.0f MiB", n, s.sent(), s.asked.Load(), s.server.usage().rss/(1<<20))
	select {
	case <-ctx.Done():
	case <-time.After(roundLength - time.Since(begin)):
	}
	return ctx.Err()
}

func sendAll(ctx context.Context, senders []*load.Sender) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, sender := range senders {
		group.Go(func() error { return sender.Run(ctx) })
	}
	return group.Wait()
}

// interrupt restarts the server while it is written to. The senders send again what was not
// acknowledged.
func (s *soak) interrupt(ctx context.Context, senders []*load.Sender, crash bool) error {
	// Samples without acknowledgements are stored when the server is quiet.
	s.life.Add(1)
	if err := s.server.quiet(ctx); err != nil {
		return err
	}
	s.life.Add(1)
	ended := make(chan error, len(senders))
	for _, sender := range senders {
		go func() { ended <- sender.Run(ctx) }()
	}
	err := until(ctx, time.Minute, func(context.Context) error {
		if senders[0].Acked() == 0 {
			return errors.New("nothing acknowledged")
		}
		return nil
	})
	err = errors.Join(err, s.restart(ctx, crash))
	for range senders {
		<-ended // usually by a broken connection
	}
	if err != nil {
		return err
	}
	return sendAll(ctx, senders)
}

// restart ends the server and starts it again.
func (s *soak) restart(ctx context.Context, crash bool) error {
	s.life.Add(1)
	s.restarts++
	begin := time.Now()
	if crash {
		s.server.proc.kill()
	} else if _, err := s.server.proc.stop(); err != nil {
		return err
	}
	ended := time.Now()
	if err := s.server.run(ctx); err != nil {
		return err
	}
	s.life.Add(1)
	s.log("restart (crash: %v): ended in %v, ready after %v", crash, ended.Sub(begin).Round(time.Millisecond), time.Since(ended).Round(time.Millisecond))
	return nil
}

func (s *soak) sent() (n int) {
	for _, f := range s.feeds {
		n += f.sent
	}
	return n
}
