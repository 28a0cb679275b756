// Package cluster starts a real Apache HBase and real OpenTSDB TSDs for the tests, from Maven
// artifacts, on free loopback ports. It starts, kills and restarts processes and knows their
// configuration. It never reads or creates tables: that is the task of the tested program.
package cluster

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

//go:embed hbase.xml
var hbasePOM []byte

// Options of a Cluster.
type Options struct {
	// HeapMB is the greatest heap of the JVM in megabytes (default 1024).
	HeapMB int
	// Site contains additional and replaced settings of hbase-site.xml.
	Site map[string]string
}

// A Cluster is one standalone HBase, ZooKeeper, master and region server in one JVM, and the TSDs
// started on it.
type Cluster struct {
	dir       string
	heapMB    int
	classpath string
	ports     [3]int // ZooKeeper, master, region server
	site      map[string]string

	mu   sync.Mutex // guards what follows
	jvm  *process
	tsds []*TSD
}

// HBase starts a cluster for a test and kills it at the test's end, and shows its log if the test
// failed. It skips the test unless TSDBRIDGE_E2E=1 is set.
func HBase(tb testing.TB, o Options) *Cluster {
	tb.Helper()
	if os.Getenv("TSDBRIDGE_E2E") != "1" {
		tb.Skip("needs Java, Maven and half a minute: set TSDBRIDGE_E2E=1")
	}
	c, err := Start(tb.Context(), tb.TempDir(), o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		c.Kill()
		if tb.Failed() {
			tb.Log(c.jvm.tail())
		}
	})
	return c
}

// Start starts HBase with its data, configuration and logs in dir and returns when it answers. A
// dir used before keeps its tables.
func Start(ctx context.Context, dir string, o Options) (*Cluster, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if o.HeapMB == 0 {
		o.HeapMB = 1024
	}
	c := &Cluster{dir: dir, heapMB: o.HeapMB, site: o.Site}
	if c.classpath, err = classpath(ctx, hbasePOM); err != nil {
		return nil, fmt.Errorf("class path of HBase: %w", err)
	}
	// A port that was free when it was chosen may be taken before HBase binds it: choose again.
	for range 3 {
		if err = c.startOnFreePorts(ctx); !errors.Is(err, errEnded) {
			break
		}
	}
	if err != nil {
		c.Kill()
		return nil, err
	}
	return c, nil
}

func (c *Cluster) startOnFreePorts(ctx context.Context) error {
	ports, err := freePorts(len(c.ports))
	if err != nil {
		return err
	}
	copy(c.ports[:], ports)
	return c.Restart(ctx)
}

// Restart starts HBase again on the same ports and data, stopping it first if it runs, and returns
// when it answers.
func (c *Cluster) Restart(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.jvm.running() {
		if err := c.jvm.stop(); err != nil {
			return err
		}
	}
	conf := filepath.Join(c.dir, "conf")
	if err := writeConf(conf, site(c.dir, c.ports[0], c.ports[1], c.ports[2], c.site)); err != nil {
		return err
	}
	args := append(javaArgs(c.heapMB),
		"-Dhbase.log.dir="+c.dir, "-Dlog4j2.configurationFile=file:"+filepath.Join(conf, "log4j2.properties"),
		"-cp", conf+string(os.PathListSeparator)+c.classpath,
		"org.apache.hadoop.hbase.master.HMaster", "start")
	jvm, err := spawn("HBase", filepath.Join(c.dir, "hbase.log"), exec.Command("java", args...))
	if err != nil {
		return err
	}
	c.jvm = jvm
	return waitUntil(ctx, jvm, c.ready)
}

// ZooKeeper returns the host:port that clients of HBase need.
func (c *Cluster) ZooKeeper() string { return loopback(c.ports[0]) }

// Kill ends HBase and the TSDs with SIGKILL.
func (c *Cluster) Kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.tsds {
		t.jvm.kill()
	}
	c.tsds = nil
	c.jvm.kill()
}

// KillHBase ends HBase alone with SIGKILL; the TSDs see a crash.
func (c *Cluster) KillHBase() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.jvm.kill()
}

// Stop ends the TSDs and HBase in an orderly way; the tables are on disk afterwards.
func (c *Cluster) Stop() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for _, t := range c.tsds {
		errs = append(errs, t.jvm.stop())
	}
	c.tsds = nil
	return errors.Join(append(errs, c.jvm.stop())...)
}
