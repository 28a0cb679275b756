package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/prompb"
)

const (
	sharedFailover = 4 * time.Second
	// replicaStep is between the samples of a replica.
	replicaStep = 100 * time.Millisecond
)

// A replica is a server of a pair: it makes samples, and sends them through any of the adapters until one takes them.
// Its value is its number.
type replica struct {
	number   int
	adapters [2]*adapter
	silent   atomic.Bool // it is away, and makes no samples
}

// run sends until ctx ends.
func (r *replica) run(ctx context.Context) {
	tick := time.NewTicker(replicaStep)
	defer tick.Stop()
	var waiting []prompb.Sample
	made := int64(0) // ms; until when
	for turn := 0; ; turn++ {
		select {
		case <-ctx.Done():
			return
		case at := <-tick.C:
			if r.silent.Load() {
				waiting, made = nil, 0 // it was killed
				continue
			}
			waiting, made = r.make(waiting, made, at)
		}
		if r.send(ctx, r.adapters[turn%2], waiting) {
			waiting = waiting[:0]
		}
	}
}

// make appends the samples up to an instant.
func (r *replica) make(waiting []prompb.Sample, made int64, at time.Time) ([]prompb.Sample, int64) {
	step := replicaStep.Milliseconds()
	now := at.UnixMilli() / step * step
	if made == 0 {
		made = now - step
	}
	for made < now {
		made += step
		waiting = append(waiting, prompb.Sample{Timestamp: made, Value: float64(r.number)})
	}
	return waiting, made
}

// send sends samples once, and reports whether they were taken.
func (r *replica) send(ctx context.Context, a *adapter, samples []prompb.Sample) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	m := &prompb.WriteRequest{Timeseries: []prompb.TimeSeries{series(samples, "__name__", "paired", "__replica__", fmt.Sprint(r.number), "cluster", "one")}}
	raw, err := m.Marshal()
	if err != nil {
		return false
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.URL("/api/v1/write"), bytes.NewReader(snappy.Encode(nil, raw)))
	if err != nil {
		return false
	}
	for name, value := range writeHeader(contentV1, nil) {
		req.Header.Set(name, value)
	}
	answer, err := a.http.Do(req)
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode/100 == 2
}

// testPairs: two replicas write through two adapters on one HBase, while an adapter is killed, one is stopped for a
// while, both are killed, and the elected replica dies: each instant is stored of one replica, and the only gap is that
// of the silence.
func testPairs(t *testing.T, s tables) {
	t.Helper()
	s.create(t)
	pair := s.startPair(t)
	adapters, replicas := pair.adapters, pair.replicas
	p := pairedSamples{adapters[1]}
	p.reaches(t, 2*time.Second)
	adapters[0].Kill()
	p.reaches(t, sharedFailover+time.Second)
	adapters[0].Restart(t)
	p.reaches(t, time.Second)
	paused := adapters[0].process.cmd.Process
	if err := paused.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	p.reaches(t, sharedFailover+time.Second)
	if err := paused.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	p.reaches(t, time.Second)
	elected := p.last(t)
	replicas[elected-1].silent.Store(true)
	eventually(t, waitTimeout, "the other replica is elected", func() error {
		if p.last(t) == elected {
			return fmt.Errorf("%d is still elected", elected)
		}
		return nil
	})
	replicas[elected-1].silent.Store(false)
	p.reaches(t, 2*time.Second)
	for _, a := range adapters {
		a.Kill()
	}
	for _, a := range adapters {
		a.Restart(t)
	}
	p.reaches(t, 2*time.Second)
	pair.stop()
	p.check(t, 1)
}

// A sharedPair is a pair of replicas that send through two adapters until they are stopped.
type sharedPair struct {
	adapters [2]*adapter
	replicas [2]*replica
	stop     func()
}

func (s tables) startPair(t *testing.T, args ...string) sharedPair {
	t.Helper()
	var p sharedPair
	args = append(args, "--write.dedup.cluster-label=cluster", "--write.dedup.replica-label=__replica__", "--write.dedup.failover-timeout="+sharedFailover.String())
	for i := range p.adapters {
		p.adapters[i] = s.startAdapter(t, args...)
	}
	var running sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	for i := range p.replicas {
		p.replicas[i] = &replica{number: i + 1, adapters: p.adapters}
		running.Go(func() { p.replicas[i].run(ctx) })
	}
	p.stop = func() {
		cancel()
		running.Wait()
	}
	t.Cleanup(p.stop)
	return p
}

// pairedSamples are what an adapter has of the pair.
type pairedSamples struct{ *adapter }

func (p pairedSamples) points(t *testing.T) []point {
	t.Helper()
	all := p.Query(t, "paired[10m]", time.Now())
	if len(all) > 1 || len(all) == 1 && strings.Contains(all[0].labels, "__replica__") {
		t.Fatalf("%d series: %s", len(all), all[0].labels)
	}
	if len(all) == 0 {
		return nil
	}
	return all[0].points
}

// reaches waits until samples are stored that are made a while from now.
func (p pairedSamples) reaches(t *testing.T, d time.Duration) {
	t.Helper()
	at := time.Now().Add(d)
	eventually(t, waitTimeout, "samples", func() error {
		points := p.points(t)
		if len(points) == 0 || instant(t, points[len(points)-1]).Before(at) {
			return fmt.Errorf("%d samples", len(points))
		}
		return nil
	})
}

// last returns which replica the last sample is of.
func (p pairedSamples) last(t *testing.T) int {
	t.Helper()
	points := p.points(t)
	if points[len(points)-1].value == "1" {
		return 1
	}
	return 2
}

// check checks that there is no gap but one at each time that the elected replica was silent. When
// adapters were killed or HBase was, either replica may have been elected.
func (p pairedSamples) check(t *testing.T, silent int) {
	t.Helper()
	points := p.points(t)
	silences, changes := 0, 0
	for i := range points[1:] {
		was, is := points[i], points[i+1]
		gap := instant(t, is).Sub(instant(t, was))
		switch {
		case was.value != is.value:
			changes++
			t.Logf("%s, after %v %s", was.value, gap, is.value)
			if gap > time.Second {
				silences++
			}
			if gap > sharedFailover+2*time.Second {
				t.Errorf("a gap of %v at a change", gap)
			}
		case gap != replicaStep:
			t.Errorf("a gap of %v in the samples of one replica at %s", gap, is.at)
		}
	}
	if changes > silent+1 || silences != silent {
		t.Errorf("%d changes, %d with a gap, want %d", changes, silences, silent)
	}
	t.Logf("%d samples", len(points))
}
