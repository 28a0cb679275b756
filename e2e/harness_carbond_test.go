package e2e_test

import (
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// carbond is one of carbon's own daemons, in a directory of its own.
type carbond struct {
	t       testing.TB
	program string // carbon-relay, carbon-aggregator or carbon-cache
	dir     string
	lines   string // the address of its lines
	pickle  string
	process *process
}

// carbonSections are the sections of carbon.conf by program.
var carbonSections = map[string]string{"carbon-relay": "relay", "carbon-aggregator": "aggregator", "carbon-cache": "cache"}

// startCarbond runs a daemon of carbon 1.1.10 with additional settings and files of configuration, and waits
// until it listens.
func startCarbond(t testing.TB, program, settings string, files map[string]string) *carbond {
	t.Helper()
	c := &carbond{t: t, program: program, dir: t.TempDir(), lines: freeAddr(t), pickle: freeAddr(t)}
	port := func(address string) string {
		_, port, _ := net.SplitHostPort(address)
		return port
	}
	all := map[string]string{
		"storage-schemas.conf": "[all]\npattern = .*\nretentions = 1s:1d\n",
		"carbon.conf": fmt.Sprintf("[%s]\nSTORAGE_DIR = %s/storage\nCONF_DIR = %[2]s\nLOG_DIR = %[2]s\nPID_DIR = %[2]s\nUSER =\n"+
			"LINE_RECEIVER_INTERFACE = 127.0.0.1\nLINE_RECEIVER_PORT = %s\nPICKLE_RECEIVER_INTERFACE = 127.0.0.1\nPICKLE_RECEIVER_PORT = %s\n"+
			"CACHE_QUERY_PORT = %s\nENABLE_TAGS = False\nCARBON_METRIC_INTERVAL = 0\n%s\n",
			carbonSections[program], c.dir, port(c.lines), port(c.pickle), port(freeAddr(t)), settings),
	}
	maps.Copy(all, files)
	for name, text := range all {
		if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c.start()
	return c
}

// start runs the daemon, also after it was stopped.
func (c *carbond) start() {
	c.t.Helper()
	python := pythonWith(c.t)
	_ = os.Remove(filepath.Join(c.dir, c.program+"-a.pid")) // of one that was killed
	c.process = startProcess(c.t, c.dir, python, filepath.Join(filepath.Dir(python), c.program+".py"),
		"--config="+filepath.Join(c.dir, "carbon.conf"), "--nodaemon", "start")
	eventually(c.t, waitTimeout, c.program+" listens", func() error {
		conn, err := net.Dial("tcp", c.lines)
		if err != nil {
			return err
		}
		return conn.Close()
	})
}

// end asks the daemon to end, which writes what it has first.
func (c *carbond) end() {
	c.t.Helper()
	if err := c.process.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		c.t.Fatal(err)
	}
	select {
	case <-c.process.done: // by the signal, as Twisted ends
	case <-time.After(stopGrace):
		c.t.Fatalf("%s still ran %v after SIGTERM", c.program, stopGrace)
	}
}

// freeAddr returns an address of the loopback interface that nobody listens on, for programs that have to be
// told one.
func freeAddr(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
