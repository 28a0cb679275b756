package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// second returns that many seconds after the epoch of the tests.
func second(n int) int64 { return epoch.Unix() + int64(n) }

// TestCarbon sends lines to the embedded engine and renders them, before and after a restart.
func TestCarbon(t *testing.T) {
	needE2E(t)
	t.Parallel()
	a := startAdapter(t, withCarbon)
	testCarbonNames(t, a)
	a.Stop(t)
	a.Restart(t)
	checkCarbonNames(t, a)
}

// testCarbonHBase is TestCarbon on HBase; a TSD on the tables returns the points too.
func testCarbonHBase(t *testing.T, s tables) {
	s.create(t)
	a := s.startAdapter(t, withCarbon)
	testCarbonNames(t, a)
	a.Stop(t)
	a.Restart(t)
	checkCarbonNames(t, a)

	d := s.startTSD(t, false)
	want := pointSet{}
	want.add(keyText("__name__", "servers.web01.cpu", "-_", "1"), second(0)*1000, 1)
	want.add(keyText("__name__", "servers.web01.cpu", "-_", "1"), second(10)*1000, 2)
	want.check(t, "TSD query", d.mustPoints(t, "servers.web01.cpu", epoch, epoch.Add(time.Hour)))
	tagged := pointSet{}
	tagged.add(keyText("__name__", "disk.used", "dc", "dc1", "server", "web01"), second(0)*1000, 5)
	tagged.add(keyText("__name__", "disk.used", "dc", "dc2", "server", "web02"), second(0)*1000, 6)
	tagged.check(t, "TSD query", d.mustPoints(t, "disk.used", epoch, epoch.Add(time.Hour)))
}

// testCarbonNames sends plain and tagged names, good and bad lines, over TCP and UDP.
func testCarbonNames(t *testing.T, a *adapter) {
	t.Helper()
	var lines strings.Builder
	for _, l := range []struct {
		name  string
		value string
		at    int
	}{
		{"servers.web01.cpu", "1", 0},
		{"servers.web01.cpu", "9", 10}, // corrected below
		{"no.value", "x", 0},
		{"servers.web01.cpu", "2", 10},
		{"servers.web02.cpu", "3.5", 0},
		{"servers.web02", "7", 0}, // a leaf next to a branch
		{"servers.odd:name%.cpu", "4", 0},
		{"disk.used;server=web01;dc=dc1", "5", 0},
		{"disk.used;server=web02;dc=dc2", "6", 0},
	} {
		fmt.Fprintf(&lines, "%s %s %d\n", l.name, l.value, second(l.at))
	}
	lines.WriteString("\n\nfour fields are many\n")
	sendCarbon(t, "tcp", a.carbonAddr(t), lines.String())
	sendCarbon(t, "udp", a.carbonAddr(t), fmt.Sprintf("udp.one 1 %d\nudp.two 2 %d", second(0), second(0)))
	checkCarbonNames(t, a)
	if log := a.Log(); !strings.Contains(log, "no.value x") {
		t.Errorf("the log does not mention a line that does not parse:\n%s", log)
	}
	if own := string(a.Get(t, "/metrics").ok(t).body); !strings.Contains(own, `tsdbridge_carbon_rejected_lines_total{reason="fields"} 3`) {
		t.Errorf("the three lines that have not three fields are not counted:\n%s", own)
	}
}

func checkCarbonNames(t *testing.T, a *adapter) {
	t.Helper()
	from, until := epoch.Add(-time.Second), epoch.Add(time.Minute)
	line := func(name string, points ...any) string {
		for i := 0; i < len(points); i += 2 {
			name += fmt.Sprintf(" %d=%v", second(points[i].(int)), points[i+1])
		}
		return name
	}
	a.renders(t, from, until, line("servers.web01.cpu", 0, 1, 10, 2), "servers.web01.cpu")
	a.renders(t, from, until, line("servers.odd:name%.cpu", 0, 4)+"\n"+line("servers.web01.cpu", 0, 1, 10, 2)+"\n"+line("servers.web02.cpu", 0, 3.5), "servers.*.cpu")
	a.renders(t, from, until, line("udp.one", 0, 1)+"\n"+line("udp.two", 0, 2), "udp.*")
	a.renders(t, from, until, line("disk.used;dc=dc1;server=web01", 0, 5)+"\n"+line("disk.used;dc=dc2;server=web02", 0, 6), "seriesByTag('name=disk.used', 'server=~web')")
	a.renders(t, from, until, line("disk.used;dc=dc1;server=web01", 0, 5), "disk.used;dc=dc1;server=web01")
	a.renders(t, from, until, "", "no.value")
	a.finds(t, "servers.*", "servers.odd:name%. servers.web01. servers.web02. servers.web02")
	a.finds(t, "*", "servers. udp.")

	// The same series under their Prometheus names.
	all := pointSet{}
	all.add(keyText("__name__", "servers.web01.cpu"), second(0)*1000, 1)
	all.add(keyText("__name__", "servers.web01.cpu"), second(10)*1000, 2)
	all.check(t, "remote read", ourPoints(t, a.client, "servers.web01.cpu", epoch, epoch.Add(time.Minute)))
}

// TestCarbonClients sends with clients from other projects.
func TestCarbonClients(t *testing.T) {
	needE2E(t)
	t.Parallel()
	a := startAdapter(t, withCarbon)
	host, port, err := net.SplitHostPort(a.carbonAddr(t))
	if err != nil {
		t.Fatal(err)
	}
	const script = `
import sys, graphyte
host, port, at = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
for protocol in 'tcp', 'udp':
    s = graphyte.Sender(host, port=port, protocol=protocol, prefix='client.' + protocol)
    s.send('plain', 1.5, timestamp=at)
    s.send('tagged', 42, timestamp=at, tags={'dc': 'east', 'host': 'a b'.replace(' ', '_')})
    s.stop()
    batch = graphyte.Sender(host, port=port, protocol=protocol, prefix='client.' + protocol, interval=0.2)
    for i in range(20):
        batch.send('batch.n%02d' % i, i, timestamp=at)
    batch.stop()
`
	cmd := exec.CommandContext(t.Context(), pythonWith(t), "-c", script, host, port, fmt.Sprint(second(0)))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("graphyte: %v\n%s", err, out)
	}
	from, until := epoch.Add(-time.Second), epoch.Add(time.Minute)
	for _, protocol := range []string{"tcp", "udp"} {
		a.renders(t, from, until, fmt.Sprintf("client.%s.plain %d=1.5", protocol, second(0)), "client."+protocol+".plain")
		a.renders(t, from, until, fmt.Sprintf("client.%s.tagged;dc=east;host=a_b %d=42", protocol, second(0)), "seriesByTag('name=client."+protocol+".tagged')")
		a.renders(t, from, until, fmt.Sprintf("sumSeries(client.%s.batch.*) %d=190", protocol, second(0)), "sumSeries(client."+protocol+".batch.*)")
	}
}

// TestCarbonTree: a template turns dotted names into metric and tags, and a tree also shows what
// Prometheus wrote.
func TestCarbonTree(t *testing.T) {
	needE2E(t)
	t.Parallel()
	a := startAdapter(t, withCarbon, "--graphite.template=hosts.{host}.{metric...}")
	sendCarbon(t, "tcp", a.carbonAddr(t), fmt.Sprintf("hosts.web01.sys.load 1 %d\nother.name 3 %d\n", second(0), second(0)))
	a.Write(t, series(samples(at(0), 2), "__name__", "sys.load", "host", "web02")).ok(t)
	from, until := epoch.Add(-time.Second), epoch.Add(time.Minute)
	a.renders(t, from, until, fmt.Sprintf("hosts.web01.sys.load %d=1\nhosts.web02.sys.load %d=2", second(0), second(0)), "hosts.*.sys.load")
	a.renders(t, from, until, fmt.Sprintf("other.name %d=3", second(0)), "other.*")
	all := pointSet{}
	all.add(keyText("__name__", "sys.load", "host", "web01"), second(0)*1000, 1)
	all.add(keyText("__name__", "sys.load", "host", "web02"), second(0)*1000, 2)
	all.check(t, "remote read", ourPoints(t, a.client, "sys.load", epoch, epoch.Add(time.Minute)))
	a.Stop(t)
	a.Restart(t)
	a.finds(t, "hosts.*.sys.*", "hosts.web01.sys.load hosts.web02.sys.load")
}

// TestCarbonTreeChanges gives a tree another path: points that are sent under a new name are
// rendered under it, although the series is an old one.
func TestCarbonTreeChanges(t *testing.T) {
	needE2E(t)
	t.Parallel()
	config := filepath.Join(t.TempDir(), "config.yml")
	declare := func(path string) {
		t.Helper()
		if err := os.WriteFile(config, []byte("trees: [{name: t, path: '"+path+"'}]\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	declare("old.{host}.{metric...}")
	a := startAdapter(t, withCarbon, "--config.file="+config)
	sendCarbon(t, "tcp", a.carbonAddr(t), fmt.Sprintf("old.w.load 1 %d\nold.w.load 2 %d\n", second(0), second(60)))
	from, until := epoch.Add(-time.Second), epoch.Add(10*time.Minute)
	a.renders(t, from, until, fmt.Sprintf("old.w.load %d=1 %d=2", second(0), second(60)), "old.*.load")
	a.Stop(t)
	declare("new.{host}.{metric...}")
	a.Restart(t)
	sendCarbon(t, "tcp", a.carbonAddr(t), fmt.Sprintf("new.w.load 3 %d\n", second(120)))
	a.renders(t, from, until, fmt.Sprintf("new.w.load %d=1 %d=2 %d=3", second(0), second(60), second(120)), "new.w.load")
}

// TestCarbonStop stops the adapter in order while lines come: every line that it took is there
// afterwards. The lines that it took are those that it counted.
func TestCarbonStop(t *testing.T) {
	needE2E(t)
	t.Parallel()
	a := startAdapter(t, withCarbon)
	conn, err := net.Dial("tcp", a.carbonAddr(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const names, steps = 50, 200
	r := rand.New(rand.NewPCG(1, 2))
	for step := range steps {
		var lines strings.Builder
		for _, n := range r.Perm(names) {
			fmt.Fprintf(&lines, "stop.n%02d %d %d\n", n, step, second(step*10))
		}
		if _, err := conn.Write([]byte(lines.String())); err != nil {
			t.Fatal(err)
		}
	}
	// Closed, so that the adapter reaches the end of it; it is told to stop while it reads.
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	a.renders(t, epoch.Add(-time.Second), epoch.Add(9*time.Second), fmt.Sprintf("countSeries(stop.*) %d=%d", second(0), names), "countSeries(stop.*)")
	a.Stop(t)
	a.Restart(t)
	got := ourPoints(t, a.client, "stop.n07", epoch, epoch.Add(time.Hour))
	for key, points := range got {
		for i := range len(points) {
			if v, ok := points[second(i*10)*1000]; !ok || v != bitText(float64(i)) {
				t.Fatalf("%s: point %d of %d is %q: the points that were taken are not the first ones", key, i, len(points), v)
			}
		}
	}
}
