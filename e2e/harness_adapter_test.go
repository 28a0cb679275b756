package e2e_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

// adapter is a running tsdbridge. Its client sends requests to it.
type adapter struct {
	client
	process *process
	addr    string // host:port
	dir     string // working directory: ./data is in it
	args    []string
}

// startAdapter runs the adapter built from this checkout on a free port of the loopback interface,
// in a directory of its own (so that the default --storage.path=./data is fresh), and waits until
// it is ready. It is killed when the test ends.
func startAdapter(t testing.TB, args ...string) *adapter {
	t.Helper()
	a := launchAdapter(t, args...)
	a.WaitReady(t)
	return a
}

// launchAdapter is startAdapter, but waits only until the adapter listens.
func launchAdapter(t testing.TB, args ...string) *adapter {
	t.Helper()
	a := &adapter{client: client{http: &http.Client{Transport: &http.Transport{}}}, dir: t.TempDir(), args: args}
	if err := a.run(t, "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	return a
}

// run starts the process and waits until it listens.
func (a *adapter) run(t testing.TB, address string) error {
	t.Helper()
	a.process = startProcess(t, a.dir, adapterBinary(t), append([]string{"--web.listen-address=" + address}, a.args...)...)
	line, err := a.process.out.line("msg=listening", "protocol=http")
	if err != nil {
		return fmt.Errorf("start the adapter: %w\n%s", err, a.process.out.tail())
	}
	a.addr = regexp.MustCompile(`address=(\S+)`).FindStringSubmatch(line)[1]
	a.base = "http://" + a.addr
	return nil
}

// WaitReady waits until the adapter reports that it is ready, and returns how long that took.
func (a *adapter) WaitReady(t testing.TB) time.Duration {
	t.Helper()
	begin := time.Now()
	eventually(t, waitTimeout, "adapter ready", func() error {
		if r, err := a.do(t.Context(), http.MethodGet, "/-/ready", nil, nil); err != nil || r.status != http.StatusOK {
			return fmt.Errorf("%v %w", r, err)
		}
		return nil
	})
	return time.Since(begin)
}

// Kill ends the adapter as a crash does.
func (a *adapter) Kill() { a.process.Kill() }

// Stop ends the adapter in order.
func (a *adapter) Stop(t testing.TB) { t.Helper(); a.process.Stop(t) }

// Restart runs the adapter again after Kill or Stop: same directory, flags and port. It waits until
// it is ready.
func (a *adapter) Restart(t testing.TB) time.Duration {
	t.Helper()
	begin := time.Now()
	a.Relaunch(t)
	a.WaitReady(t)
	return time.Since(begin)
}

// Relaunch is Restart, but waits only until the adapter listens. The system may have given the port
// to an outgoing connection of another process in the meantime; Relaunch tries until it is free.
func (a *adapter) Relaunch(t testing.TB) {
	t.Helper()
	eventually(t, waitTimeout, "adapter listens again", func() error {
		err := a.run(t, a.addr)
		if err != nil && !strings.Contains(err.Error(), "address already in use") {
			t.Fatal(err)
		}
		return err
	})
}

// Log returns what the adapter printed since it was last started.
func (a *adapter) Log() string { return a.process.out.String() }
