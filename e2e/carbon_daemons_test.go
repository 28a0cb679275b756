package e2e_test

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// carbonPoints are lines, and the points that they are, by series.
type carbonPoints struct {
	lines strings.Builder
	want  pointSet
}

func newCarbonPoints() *carbonPoints { return &carbonPoints{want: pointSet{}} }

func (p *carbonPoints) add(name string, value float64, at time.Time) {
	fmt.Fprintf(&p.lines, "%s %v %d\n", name, value, at.Unix())
	p.want.add(keyText("__name__", name), at.Unix()*1000, value)
}

// has waits until an adapter has exactly these points of metrics.
func (p *carbonPoints) has(t *testing.T, a *adapter, what string, metrics ...string) {
	t.Helper()
	eventually(t, waitTimeout, what, func() error { return equalPoints(allPoints(t, a, metrics), p.want) })
}

// allPoints returns what an adapter has of metrics.
func allPoints(t *testing.T, a *adapter, metrics []string) pointSet {
	t.Helper()
	all := pointSet{}
	for _, metric := range metrics {
		maps.Copy(all, ourPoints(t, a.client, metric, epoch, time.Now().Add(time.Hour)))
	}
	return all
}

// equalPoints tells in what points differ.
func equalPoints(got, want pointSet) error {
	if got.count() != want.count() {
		return fmt.Errorf("%d points, want %d", got.count(), want.count())
	}
	for series, points := range want {
		if !maps.Equal(points, got[series]) {
			return fmt.Errorf("%s: %v, want %v", series, got[series], points)
		}
	}
	return nil
}

// TestCarbonRelay: a carbon-relay that sends each point twice holds what comes while the adapter is away. All
// of it is there afterwards, and nothing twice.
func TestCarbonRelay(t *testing.T) {
	needE2E(t)
	t.Parallel()
	address := freeAddr(t)
	a := startAdapter(t, "--carbon.pickle-listen-address="+address)
	relay := startCarbond(t, "carbon-relay", "RELAY_METHOD = consistent-hashing\nREPLICATION_FACTOR = 2\nDIVERSE_REPLICAS = False\nMAX_QUEUE_SIZE = 100000\n"+
		"DESTINATIONS = "+address+":a, "+address+":b\n", nil)
	p := newCarbonPoints()
	var metrics []string
	for i := range 20 {
		metrics = append(metrics, fmt.Sprintf("relayed.web%02d.load", i))
	}
	send := func(from int) {
		p.lines.Reset()
		for i := from; i < from+100; i++ {
			for n, metric := range metrics {
				p.add(metric, float64(i)+float64(n)/4, epoch.Add(time.Duration(i)*time.Second))
			}
		}
		sendCarbon(t, "tcp", relay.lines, p.lines.String())
	}
	send(0)
	p.has(t, a, "what the relay sends", metrics...)
	a.Kill()
	send(100)
	a.Restart(t)
	p.has(t, a, "what the relay held", metrics...)
	send(200)
	p.has(t, a, "what it sends afterwards", metrics...)
	eventually(t, time.Minute, "2 times 4000 points since the restart", func() error { // the other destination's come later
		if text := string(a.Get(t, "/metrics").ok(t).body); !strings.Contains(text, `tsdbridge_carbon_lines_total{protocol="pickle"} 8000`) {
			return errors.New("other points came")
		}
		return nil
	})
}

// TestCarbonAggregator: a carbon-aggregator and an adapter with its rules make the same of the same points,
// also when what the aggregator sends to waits for an adapter that was killed.
func TestCarbonAggregator(t *testing.T) {
	needE2E(t)
	t.Parallel()
	const rules = "<env>.all.<m> (5) = sum <env>.*.<<m>>\n<env>.p95 (10) = p95 <env>.*.cpu\nn.<env> (5) = count <env>.<<x>>\n<env>.avg (5) = avg <env>.*.cpu\n"
	const rewrites = "[pre]\n^old\\. = new.\n[post]\n_ = -\n"
	files := map[string]string{"aggregation-rules.conf": rules, "rewrite-rules.conf": rewrites}
	address := freeAddr(t)
	theirs := startAdapter(t, "--carbon.pickle-listen-address="+address)
	aggregator := startCarbond(t, "carbon-aggregator", "MAX_QUEUE_SIZE = 100000\nDESTINATIONS = "+address+"\n", files)
	ours := startAdapter(t, withCarbon, "--carbon.aggregation-rules="+filepath.Join(aggregator.dir, "aggregation-rules.conf"), "--carbon.rewrite-rules="+filepath.Join(aggregator.dir, "rewrite-rules.conf"))
	begin := time.Now().Truncate(10 * time.Second)
	send := func(from int) {
		var lines strings.Builder
		for i := from; i < from+400; i++ {
			fmt.Fprintf(&lines, "%s.web_%d.%s %v %d\n", []string{"old", "new", "test"}[i%3], i%7, []string{"cpu", "mem.free"}[i%2], float64(i*i%997)/8, begin.Unix()+int64(i%10))
		}
		sendCarbon(t, "tcp", aggregator.lines, lines.String())
		sendCarbon(t, "tcp", ours.carbonAddr(t), lines.String())
	}
	send(0)
	metrics := []string{"n.new", "n.test"}
	for _, env := range []string{"new", "test"} {
		metrics = append(metrics, env+".all.cpu", env+".all.mem.free", env+".p95", env+".avg", env+".web-1.cpu", env+".web-2.mem.free")
	}
	same := func(counted float64) {
		t.Helper()
		eventually(t, 2*waitTimeout, "the same aggregates", func() error {
			sum := 0.0
			for _, r := range ours.Render(t, begin.Add(-time.Second), begin.Add(time.Minute), "n.new", "n.test") {
				for _, point := range r.Datapoints {
					if point[0] != nil {
						sum += *point[0]
					}
				}
			}
			if sum != counted {
				return fmt.Errorf("%v points are in our aggregates, want %v", sum, counted)
			}
			return equalPoints(allPoints(t, theirs, metrics), allPoints(t, ours, metrics))
		})
	}
	same(400)
	theirs.Kill()
	send(400)
	theirs.Restart(t)
	same(800)
	ours.Stop(t)
	ours.Restart(t)
	same(800)
}

// TestCarbonForward: what comes is in a carbon-cache too, after both it and the adapter were away.
func TestCarbonForward(t *testing.T) {
	needE2E(t)
	t.Parallel()
	for _, protocol := range []string{"pickle", "line"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			testCarbonForward(t, protocol)
		})
	}
}

func testCarbonForward(t *testing.T, protocol string) {
	t.Helper()
	cache := startCarbond(t, "carbon-cache", "MAX_UPDATES_PER_SECOND = inf\nMAX_CREATES_PER_MINUTE = inf\n", nil)
	address := map[string]string{"pickle": cache.pickle, "line": cache.lines}[protocol]
	a := startAdapter(t, withCarbon, "--carbon.forward="+address, "--carbon.forward-protocol="+protocol)
	p := newCarbonPoints()
	metrics := []string{"forwarded.a", "forwarded.b.c"}
	begin := time.Now().Truncate(time.Second).Add(-time.Hour)
	send := func(from int) {
		t.Helper()
		p.lines.Reset()
		for i := from; i < from+500; i++ {
			for _, metric := range metrics {
				p.add(metric, 1/float64(i+3), begin.Add(time.Duration(i)*time.Second))
			}
		}
		sendCarbon(t, "tcp", a.carbonAddr(t), p.lines.String())
		p.has(t, a, "what came", metrics...)
	}
	send(0)
	cache.hasPoints(p, metrics)
	cache.process.Kill()
	send(500)
	a.waitMetric(t, "tsdbridge_carbon_forward_lag_seconds", func(v float64) bool { return v > 0 }) // they are in the spool, not only in memory
	a.Kill()
	a.Restart(t)
	send(1000)
	cache.start()
	cache.hasPoints(p, metrics)
	a.Stop(t)
	if strings.Contains(a.Log(), "ERROR") {
		t.Errorf("log:\n%s", a.Log())
	}
}

// waitMetric waits for a value of a metric.
func (a *adapter) waitMetric(t *testing.T, name string, is func(float64) bool) {
	t.Helper()
	eventually(t, waitTimeout, name, func() error {
		for line := range strings.Lines(string(a.Get(t, "/metrics").ok(t).body)) {
			var v float64
			if at := strings.LastIndexByte(line, ' '); strings.HasPrefix(line, name+"{") {
				if _, err := fmt.Sscan(line[at+1:], &v); err == nil && is(v) {
					return nil
				}
			}
		}
		return fmt.Errorf("it has another value")
	})
}

// hasPoints waits until a carbon-cache has written exactly these points of metrics to its whisper files.
func (c *carbond) hasPoints(p *carbonPoints, metrics []string) {
	c.t.Helper()
	const script = `
import sys, time, whisper
for path in sys.argv[1:]:
    (start, end, step), values = whisper.fetch(path, int(time.time()) - 80000)
    print('file', path)
    for i, v in enumerate(values):
        if v is not None:
            print(start + i * step, repr(v))
`
	eventually(c.t, waitTimeout, "carbon-cache has the points", func() error {
		args := []string{"-c", script}
		names := map[string]string{}
		for _, metric := range metrics {
			path := filepath.Join(c.dir, "storage", "whisper", strings.ReplaceAll(metric, ".", "/")+".wsp")
			args, names[path] = append(args, path), metric
		}
		out, err := exec.CommandContext(c.t.Context(), pythonWith(c.t), args...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %.500s", err, out)
		}
		got, series := pointSet{}, ""
		for s := bufio.NewScanner(strings.NewReader(string(out))); s.Scan(); {
			if path, is := strings.CutPrefix(s.Text(), "file "); is {
				series = keyText("__name__", names[path])
				continue
			}
			var at int64
			var v float64
			if _, err := fmt.Sscan(s.Text(), &at, &v); err != nil {
				return err
			}
			got.add(series, at*1000, v)
		}
		for series, points := range p.want {
			if !maps.Equal(points, got[series]) {
				return fmt.Errorf("%s: %d points, want %d", series, len(got[series]), len(points))
			}
		}
		return nil
	})
}
