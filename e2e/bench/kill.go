package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/prometheus/prometheus/prompb"

	"github.com/tsdbridge/tsdbridge/internal/testkit/load"
)

// A drill crashes a server under load again and again on one directory, and checks that everything
// acknowledged is found.
type drill struct {
	kills   int
	shape   load.Shape
	corpus  *load.Corpus
	truth   *truth
	server  *server
	sender  *load.Sender
	log     func(format string, args ...any)
	crashes []crash
}

// A crash is one SIGKILL and its consequences.
type crash struct {
	acked       int           // samples, so far
	firstAnswer time.Duration // from the start of the process to its answer to a query
	finding     finding
}

const drillBatch = 2000

// newDrill prepares so many samples of 10 000 series. The last ones are of now, so their hour is
// not over and they stay in the log.
func newDrill(kills, samples int) *drill {
	shape := load.Shape{Seed: 1, Series: 10_000, Steps: samples / 10_000, Interval: 10 * time.Second, End: end()}
	return &drill{
		kills: kills, shape: shape,
		corpus: load.Encode(shape, load.RemoteWrite1, connections, drillBatch),
		truth:  newTruth(shape, connections, drillBatch),
	}
}

// run crashes a program that keeps its data in a fresh directory.
func (d *drill) run(ctx context.Context, p program) error {
	dir, err := os.MkdirTemp("", "tsdbridge-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if d.server, err = p.start(ctx, dir); err != nil {
		return err
	}
	defer func() { d.server.proc.kill() }()
	d.sender = load.NewSender(d.corpus, d.server.target(d.corpus.Format))
	for i := range d.kills {
		share := d.corpus.Samples / (d.kills + 1)
		until := d.sender.Acked() + share/2 + rand.IntN(share)
		if i == d.kills-1 {
			until = d.corpus.Samples // at the last crash everything is in the log
		}
		if err := d.crash(ctx, until); err != nil {
			return fmt.Errorf("crash %d: %w", i+1, err)
		}
	}
	return nil
}

// crash loads the server until so many samples have been acknowledged, kills it, starts it again
// and compares.
func (d *drill) crash(ctx context.Context, until int) error {
	loading, stop := context.WithCancel(ctx)
	defer stop()
	loaded := make(chan error, 1)
	go func() { loaded <- d.sender.Run(loading) }()
	if err := d.waitAcked(ctx, until, loaded); err != nil {
		return err
	}
	d.server.proc.kill()
	stop()
	if until < d.corpus.Samples {
		<-loaded // its connections have ended; which error that gives depends on where it was
	}
	begin := time.Now()
	if err := d.server.run(ctx); err != nil {
		return err
	}
	if err := d.server.answers(ctx, d.shape); err != nil {
		return err
	}
	c := crash{acked: d.sender.Acked(), firstAnswer: time.Since(begin)}
	if err := d.compare(ctx, &c.finding); err != nil {
		return err
	}
	d.crashes = append(d.crashes, c)
	d.log("kill %d: first answer after %v; %v", len(d.crashes), c.firstAnswer.Round(time.Millisecond), c.finding)
	return nil
}

// waitAcked returns when so many samples have been acknowledged. If the load ends earlier, it
// returns an error.
func (d *drill) waitAcked(ctx context.Context, want int, loaded <-chan error) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for d.sender.Acked() < want {
		select {
		case err := <-loaded:
			if err != nil || d.sender.Acked() < want {
				return fmt.Errorf("loading ended before the crash: %w", errors.Join(err, ctx.Err()))
			}
			return nil
		case <-tick.C:
		}
	}
	if want == d.corpus.Samples {
		return <-loaded
	}
	return nil
}

// answers returns when the server answers a query.
func (s *server) answers(ctx context.Context, shape load.Shape) error {
	const waitTimeout = time.Minute
	return until(ctx, waitTimeout, func(ctx context.Context) error {
		if err := s.proc.ended(); err != nil {
			return err
		}
		v, err := s.instant(ctx, "count(node_load_field00)", shape.Start().Add(2*shape.Interval))
		if err == nil && len(v) == 0 {
			err = errors.New("an empty answer")
		}
		return err
	})
}

func (d *drill) compare(ctx context.Context, f *finding) error {
	d.truth.reset()
	err := d.server.scan(ctx, d.shape.Start(), d.shape.End, 10*time.Minute, func(t *prompb.TimeSeries) { d.truth.add(f, t) })
	if err != nil {
		return err
	}
	done := make([]int, len(d.corpus.Lanes))
	for i := range done {
		done[i] = d.sender.Done(i)
	}
	d.truth.check(f, done)
	return nil
}

// lines returns the lines of the table for a drill with a name.
func (d *drill) lines(name string, limit bool) []line {
	slowest := slices.MaxFunc(d.crashes, func(a, b crash) int { return int(a.firstAnswer - b.firstAnswer) })
	wrong := 0.0
	for _, c := range d.crashes {
		wrong += float64(c.finding.missing + c.finding.invented + c.finding.changed + c.finding.twice)
	}
	all := []line{{what: fmt.Sprintf("kill -9 under load × %d, %s", len(d.crashes), name), unit: lost, ours: wrong, bar: atMostItself(0)}}
	if limit {
		all = append(all, line{
			what: fmt.Sprintf("first answer after kill -9, slowest, %d samples at most in the log", d.corpus.Samples), unit: inSeconds,
			ours: slowest.firstAnswer.Seconds(), bar: atMostItself(1),
		})
	}
	return all
}

// embeddedDrill measures the row "kill" of the table.
func embeddedDrill(ctx context.Context, r *report) error {
	d := newDrill(r.kills, r.scaled(3_000_000))
	d.log = r.log
	if err := d.run(ctx, r.programs.ours); err != nil {
		return err
	}
	r.lines = append(r.lines, d.lines("embedded, buffered", true)...)
	return nil
}

// killDrill is the command kill: the drills alone. It fails when anything is missing.
func killDrill(ctx context.Context, r *report) error {
	for name, drill := range map[string]func(context.Context, *report) error{"kill": embeddedDrill, "kill-hbase": hbaseDrill} {
		if !r.chosen(name) {
			continue
		}
		if err := drill(ctx, r); err != nil {
			return err
		}
	}
	for _, l := range r.lines {
		if l.unit == lost && !l.bar.holds(l.ours) {
			return fmt.Errorf("%s: %.0f samples are missing or wrong", l.what, l.ours)
		}
	}
	return nil
}
