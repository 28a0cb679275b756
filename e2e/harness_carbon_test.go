package e2e_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// withCarbon is the flag for a carbon listener on a free port.
const withCarbon = "--carbon.listen-address=127.0.0.1:0"

// carbonAddr returns where the adapter takes carbon's lines.
func (a *adapter) carbonAddr(t testing.TB) string {
	t.Helper()
	line, err := a.process.out.line("msg=listening", "protocol=carbon")
	if err != nil {
		t.Fatalf("carbon listener: %v\n%s", err, a.process.out.tail())
	}
	return regexp.MustCompile(`address=(\S+)`).FindStringSubmatch(line)[1]
}

// sendCarbon sends text over one connection, or in one datagram, and closes.
func sendCarbon(t testing.TB, network, addr, text string) {
	t.Helper()
	conn, err := net.DialTimeout(network, addr, waitTimeout)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
}

// rendered is one series of an answer of /render. Points are value and time; a value is nil where
// there is none.
type rendered struct {
	Target     string
	Tags       map[string]string
	Datapoints [][2]*float64
}

// String returns the name and the points that have a value: name time=value ...
func (r rendered) String() string {
	var b strings.Builder
	b.WriteString(r.Target)
	for _, p := range r.Datapoints {
		if p[0] != nil {
			fmt.Fprintf(&b, " %d=%s", int64(*p[1]), strconv.FormatFloat(*p[0], 'g', -1, 64))
		}
	}
	return b.String()
}

// Render asks for targets between two times, of which the first is excluded.
func (c client) Render(t testing.TB, from, until time.Time, targets ...string) []rendered {
	t.Helper()
	r := c.Get(t, "/render?"+url.Values{
		"target": targets, "from": {fmt.Sprint(from.Unix())}, "until": {fmt.Sprint(until.Unix())}, "format": {"json"},
	}.Encode()).ok(t)
	var all []rendered
	if err := json.Unmarshal(r.body, &all); err != nil {
		t.Fatalf("render %q: %v in %.2000s", targets, err, r.body)
	}
	return all
}

// renders waits until /render returns these series for the targets: a line for each, see
// rendered.String.
func (c client) renders(t testing.TB, from, until time.Time, want string, targets ...string) {
	t.Helper()
	eventually(t, waitTimeout, fmt.Sprintf("render %q", targets), func() error {
		var lines []string
		for _, r := range c.Render(t, from, until, targets...) {
			lines = append(lines, r.String())
		}
		if got := strings.Join(lines, "\n"); got != want {
			return fmt.Errorf("got\n%s\nwant\n%s", got, want)
		}
		return nil
	})
}

// finds waits until a search returns these names: a branch ends in a dot.
func (c client) finds(t testing.TB, query, want string) {
	t.Helper()
	eventually(t, waitTimeout, "find "+query, func() error {
		r := c.Get(t, "/metrics/find?format=completer&query="+url.QueryEscape(query)).ok(t)
		var answer struct{ Metrics []struct{ Path string } }
		if err := json.Unmarshal(r.body, &answer); err != nil {
			return fmt.Errorf("%w in %v", err, r)
		}
		var paths []string
		for _, m := range answer.Metrics {
			paths = append(paths, m.Path)
		}
		if got := strings.Join(paths, " "); got != want {
			return fmt.Errorf("found %s, want %s", got, want)
		}
		return nil
	})
}

// python is an environment with the clients that the tests need. It is made once.
var python struct {
	once sync.Once
	path string
	err  error
}

// pythonPackages are a client of carbon, and Graphite itself.
var pythonPackages = []string{"graphyte==1.7.1", "carbon==1.1.10", "whisper==1.1.10", "graphite-web==1.1.10", "Django<3.1"}

// pythonWith returns a Python that has pythonPackages. pip fetches them.
func pythonWith(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(filepath.Dir(adapterBinary(t)), "python")
	python.once.Do(func() {
		python.path = filepath.Join(dir, "bin", "python")
		if out, err := exec.Command("python3", "-m", "venv", dir).CombinedOutput(); err != nil {
			python.err = fmt.Errorf("python3 -m venv (Debian: apt-get install python3-venv): %w\n%s", err, out)
			return
		}
		pip := exec.Command(python.path, append([]string{"-m", "pip", "install", "-q", "--disable-pip-version-check"}, pythonPackages...)...)
		pip.Env = append(os.Environ(), "GRAPHITE_NO_PREFIX=True") // otherwise graphite-web goes into /opt/graphite
		if out, err := pip.CombinedOutput(); err != nil {
			python.err = fmt.Errorf("pip install %v: %w\n%s", pythonPackages, err, out)
		}
	})
	if python.err != nil {
		t.Fatal(python.err)
	}
	return python.path
}
