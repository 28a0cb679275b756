package pipeline

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/tsdbridge/tsdbridge/graphite/carbon"
)

// aggregationDoor is a fork before an ingestDoor.
type aggregationDoor struct {
	*ingestDoor
	fork  *fork
	rules string // a file
}

func newAggregationDoor(t *testing.T, rules string, change ...func(*AggregationOptions)) *aggregationDoor {
	t.Helper()
	dir := t.TempDir()
	d := &aggregationDoor{rules: write(t, filepath.Join(dir, "aggregation-rules.conf"), rules)}
	d.ingestDoor = newIngestDoor(t, 1, func(o *sinkOptions) {
		o.Now = time.Now
		var err error
		o.Names, err = newRules(nameFiles{
			Blacklist: write(t, filepath.Join(dir, "black"), "tmp$"), Aggregation: d.rules,
			Rewrites: write(t, filepath.Join(dir, "rewrites"), "[pre]\n^servers = hosts\n[post]\n_ = -\n"),
		}, o.Logger)
		if err != nil {
			t.Fatal(err)
		}
	})
	o := DefaultOptions().Aggregation
	for _, c := range change {
		c(&o)
	}
	d.fork = &fork{
		names: d.o.Names, series: 100, now: time.Now,
		aggregation: newAggregation(o, Parts{ShutdownGrace: time.Minute, Logger: d.o.Logger, Registerer: prometheus.NewRegistry(), Now: time.Now}, d.asNamed(), nil),
	}
	d.fork.reset()
	return d
}

// send sends lines without times, which are now.
func (d *aggregationDoor) send(t *testing.T, lines ...string) {
	t.Helper()
	var points []carbon.Point
	for _, line := range lines {
		p, reason := carbon.ParseLine(fmt.Appendf(nil, "%s %d", line, time.Now().Unix()), 0)
		if reason != 0 {
			t.Fatal(line, reason)
		}
		points = append(points, p)
	}
	if err := d.Write(t.Context(), d.fork.Take(points)); err != nil {
		t.Fatal(err)
	}
}

// run runs the aggregation until the function that it returns is called.
func (d *aggregationDoor) run(t *testing.T) (stop func()) {
	t.Helper()
	ended, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- d.fork.aggregation.run(t.Context(), ended) }()
	return func() {
		close(ended)
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// stored returns what was stored, without times.
func (d *aggregationDoor) stored() (all []string) {
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	for _, p := range d.store.points {
		all = append(all, strings.Split(p, "@")[0])
	}
	slices.Sort(all)
	d.store.points = nil
	return all
}

// away takes the store away, or with nil brings it back.
func (d *aggregationDoor) away(err error) {
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	d.store.appendErr = func([]string) error { return err }
}

func (d *aggregationDoor) wantStored(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, d.stored()); diff != "" {
		t.Error(diff)
	}
}

// TestAggregation: points are aggregated by their names after [pre], and stored under those after [post];
// aggregates are stored under the names that the rules give them.
func TestAggregation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newAggregationDoor(t, "hosts.all_sum.<m> (10) = sum hosts.*.<m>\nservers.n (10) = count hosts.<<x>>\nself (10) = max self\n")
		stop := d.run(t)
		for range 2 {
			d.send(t, "servers.web_1.cpu 1", "servers.web_2.cpu 2", "servers.web_2.tmp 9", "other 5", "self 7")
		}
		d.wantStored(t, "hosts.web-1.cpu 1", "hosts.web-1.cpu 1", "hosts.web-2.cpu 2", "hosts.web-2.cpu 2", "other 5", "other 5")
		time.Sleep(11 * time.Second)
		synctest.Wait()
		d.wantStored(t, "hosts.all_sum.cpu 6", "self 7", "servers.n 4")
		d.send(t, "servers.web_3.cpu 4")
		stop()
		d.wantStored(t, "hosts.all_sum.cpu 4", "hosts.web-3.cpu 4", "servers.n 1")
		m := d.fork.aggregation.metrics
		if inputs, unstored, results := testutil.ToFloat64(m.inputs), testutil.ToFloat64(m.unstored), testutil.ToFloat64(m.results); inputs != 12 || unstored != 2 || results != 5 {
			t.Errorf("%v inputs, %v unstored, %v results", inputs, unstored, results)
		}
		if black := testutil.ToFloat64(d.filtered.black); black != 2 {
			t.Errorf("%v in the blacklist", black)
		}
	})
}

// TestAggregationAlone: without FORWARD_ALL only aggregates are stored, and points that a list drops are
// still counted.
func TestAggregationAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newAggregationDoor(t, "a.sum (10) = sum a.*\n", func(o *AggregationOptions) { o.ForwardAll, o.WriteBack = false, 2*time.Second })
		stop := d.run(t)
		d.send(t, "a.x 1", "b 2", "b.tmp 3")
		time.Sleep(3 * time.Second)
		synctest.Wait()
		d.wantStored(t, "a.sum 1")
		stop()
		d.wantStored(t)
		if black := testutil.ToFloat64(d.filtered.black); black != 1 {
			t.Errorf("%v in the blacklist", black)
		}
	})
}

// TestAggregationMemory: what there is no memory for is counted and logged once, and stored itself.
func TestAggregationMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newAggregationDoor(t, "sum.<x> (10) = sum <x>\nslow (10) = sum <x>(a*)*(a*)*(a*)*(a*)*b\n", func(o *AggregationOptions) { o.MaxBytes = 1000 })
		var names []string
		for i := range 100 {
			names = append(names, fmt.Sprintf("a%d 1", i))
		}
		d.send(t, names...)
		d.send(t, names...)
		d.send(t, strings.Repeat("a", 5000)+" 1")
		if stored := d.stored(); len(stored) != 201 {
			t.Errorf("%d points are stored", len(stored))
		}
		m := d.fork.aggregation.metrics
		if dropped, missed := testutil.ToFloat64(m.noMemory), testutil.ToFloat64(m.missed); dropped < 190 || dropped > 199 || missed != 1 {
			t.Errorf("%v dropped, %v missed", dropped, missed)
		}
		if n := strings.Count(d.log.String(), "missing in carbon's aggregates"); n != 1 {
			t.Errorf("logged %d times:\n%s", n, d.log.String())
		}
	})
}

// TestAggregationOutage: aggregates wait for the store, and are stored in their order.
func TestAggregationOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newAggregationDoor(t, "sum (10) = sum a\n")
		stop := d.run(t)
		d.send(t, "a 1")
		d.stored()
		d.away(errors.New("away"))
		time.Sleep(time.Minute)
		d.away(nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		d.wantStored(t, "sum 1")
		d.send(t, "a 2")
		d.stored()
		d.away(errors.New("away"))
		stop()
		if lost := testutil.ToFloat64(d.fork.aggregation.metrics.lost); lost != 1 {
			t.Errorf("%v lost", lost)
		}
	})
}

// TestAggregationRulesChange: rules that are read again hold for known names.
func TestAggregationRulesChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newAggregationDoor(t, "old (10) = sum <x>\n")
		d.send(t, "a 1")
		d.stored()
		ctx, cancel := context.WithCancel(t.Context())
		watched := make(chan error, 1)
		port := &Port{ingest: d.sink, names: d.o.Names, fork: d.fork}
		go func() { watched <- d.o.Names.watch(ctx, func() { port.changed(ctx) }) }()
		write(t, d.rules, "no rule")
		time.Sleep(namesEvery + time.Second)
		synctest.Wait()
		d.wantStored(t)
		write(t, d.rules, "new.<x> (20) = sum <x>\n")
		time.Sleep(namesEvery)
		synctest.Wait()
		d.wantStored(t, "old 1")
		d.send(t, "a 2")
		stop := d.run(t)
		stop()
		d.wantStored(t, "a 2", "new.a 2")
		cancel()
		if err := <-watched; err != nil {
			t.Error(err)
		}
		if !strings.Contains(d.log.String(), `aggregation-rules.conf:1: \"no rule\" is not`) {
			t.Errorf("log:\n%s", d.log.String())
		}
	})
}
