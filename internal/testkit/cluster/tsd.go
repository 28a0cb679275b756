package cluster

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

//go:embed tsd.xml
var tsdPOM []byte

// TSDOptions of one TSD.
type TSDOptions struct {
	// Tables is the name of the data table; the others add -uid, -meta and -tree. Default tsdb.
	// They must exist.
	Tables string
	// Compaction lets the TSD rewrite the cells of past hours into one.
	Compaction bool
	// HeapMB is the greatest heap of the JVM in megabytes (default 512).
	HeapMB int
	// Config contains additional and replaced settings of opentsdb.conf.
	Config map[string]string
}

// A TSD is a running OpenTSDB daemon.
type TSD struct {
	dir, conf string
	port      int
	heapMB    int
	classpath string
	jvm       *process
}

// TSD starts an OpenTSDB 2.4.1 on the cluster and returns when it answers.
func (c *Cluster) TSD(ctx context.Context, o TSDOptions) (*TSD, error) {
	if o.Tables == "" {
		o.Tables = "tsdb"
	}
	if o.HeapMB == 0 {
		o.HeapMB = 512
	}
	jars, err := classpath(ctx, tsdPOM)
	if err != nil {
		return nil, fmt.Errorf("class path of OpenTSDB: %w", err)
	}
	ports, err := freePorts(1)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(c.dir, fmt.Sprintf("tsd-%s-%d", o.Tables, ports[0]))
	t := &TSD{dir: dir, conf: filepath.Join(dir, "opentsdb.conf"), port: ports[0], heapMB: o.HeapMB, classpath: jars}
	if err := t.configure(c.ZooKeeper(), o); err != nil {
		return nil, err
	}
	daemon := exec.Command("java", t.args("warn", "TSDMain", t.conf)...)
	if t.jvm, err = spawn("TSD", filepath.Join(dir, "tsd.log"), daemon); err != nil {
		return nil, err
	}
	if err := waitUntil(ctx, t.jvm, t.ready); err != nil {
		t.jvm.kill()
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tsds = append(c.tsds, t)
	return t, nil
}

// URL returns the address of the TSD's HTTP API, without a slash at its end. The same port speaks
// telnet.
func (t *TSD) URL() string { return "http://" + t.Addr() }

// Addr returns the host:port of the TSD.
func (t *TSD) Addr() string { return loopback(t.port) }

// Stop ends the TSD in an orderly way.
func (t *TSD) Stop() error { return t.jvm.stop() }

// Tool runs one of OpenTSDB's command-line tools with the TSD's configuration, by the name of its
// class in net.opentsdb.tools (Fsck, UidManager, DumpSeries, TextImporter, ...), and returns what
// it printed, without the lines about its own start. UidManager prints nothing without --verbose as
// its first argument.
func (t *TSD) Tool(ctx context.Context, class string, args ...string) (string, error) {
	conf := filepath.Join(t.dir, "tool.conf")
	text, err := os.ReadFile(t.conf)
	if err != nil {
		return "", err
	}
	// With the default of a second a tool that writes waits two seconds for each row. Of a daemon
	// tsd.storage.flush_interval would be it.
	text = append(text, "hbase.rpcs.buffered_flush_interval=20\n"...) // milliseconds
	if err := os.WriteFile(conf, text, 0o644); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "java", append(t.args("info", class, conf), args...)...)
	cmd.SysProcAttr = dieWithParent()
	out, err := cmd.CombinedOutput()
	said := toolOutput(string(out))
	if err != nil {
		return said, fmt.Errorf("OpenTSDB's %s %s: %w\n%s", class, strings.Join(args, " "), err, said)
	}
	return said, nil
}

// args returns the command line of a main class of OpenTSDB, which logs to its output from that
// level on.
func (t *TSD) args(level, class, conf string) []string {
	return append(javaArgs(t.heapMB),
		"-cp", filepath.Join(t.dir, level)+string(os.PathListSeparator)+t.classpath,
		"net.opentsdb.tools."+class, "--config="+conf)
}

// ready asks the TSD for something that it must read from HBase.
func (t *TSD) ready(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.URL()+"/api/suggest?type=metrics", http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
		return fmt.Errorf("suggest: %s: %s", resp.Status, body)
	}
	return nil
}

// configure writes opentsdb.conf and, for each level of logging, a directory with a logback.xml.
func (t *TSD) configure(zk string, o TSDOptions) error {
	for _, level := range []string{"warn", "info"} {
		if err := os.MkdirAll(filepath.Join(t.dir, level), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(t.dir, level, "logback.xml"), fmt.Appendf(nil, logback, level), 0o644); err != nil {
			return err
		}
	}
	config := map[string]string{
		"tsd.network.port":                        strconv.Itoa(t.port),
		"tsd.network.bind":                        "127.0.0.1",
		"tsd.network.worker_threads":              "2",
		"tsd.http.staticroot":                     t.dir,
		"tsd.http.cachedir":                       t.dir,
		"tsd.http.query.allow_delete":             "true",
		"tsd.http.request.enable_chunked":         "true",
		"tsd.http.request.max_chunk":              "10485760",
		"tsd.storage.hbase.zk_quorum":             zk,
		"tsd.storage.hbase.zk_basedir":            "/hbase",
		"tsd.storage.hbase.data_table":            o.Tables,
		"tsd.storage.hbase.uid_table":             o.Tables + "-uid",
		"tsd.storage.hbase.meta_table":            o.Tables + "-meta",
		"tsd.storage.hbase.tree_table":            o.Tables + "-tree",
		"tsd.storage.enable_compaction":           strconv.FormatBool(o.Compaction),
		"tsd.core.auto_create_metrics":            "true",
		"tsd.core.timezone":                       "UTC",
		"tsd.core.meta.enable_realtime_ts":        "true",
		"tsd.core.meta.enable_realtime_uid":       "true",
		"tsd.core.meta.enable_tsuid_tracking":     "true",
		"tsd.core.meta.enable_tsuid_incrementing": "true",
		"tsd.core.tree.enable_processing":         "true",
		// HBase 2 has no other way to look up regions
		"hbase.meta.scan": "true",
	}
	maps.Copy(config, o.Config)
	var text []byte
	for _, key := range slices.Sorted(maps.Keys(config)) {
		text = fmt.Appendf(text, "%s=%s\n", key, config[key])
	}
	return os.WriteFile(t.conf, text, 0o644)
}

// Without a logback.xml OpenTSDB logs every detail; above INFO its tools print nothing.
const logback = `<configuration>
 <appender name="out" class="ch.qos.logback.core.ConsoleAppender">
  <encoder><pattern>%%d{ISO8601} %%-5level [%%thread] %%logger{0}: %%msg%%n</pattern></encoder>
 </appender>
 <root level="%s"><appender-ref ref="out"/></root>
</configuration>
`

// toolOutput leaves out the lines that every tool prints about its start and its connections.
func toolOutput(all string) string {
	var keep strings.Builder
line:
	for line := range strings.Lines(all) {
		for _, noise := range []string{"PluginLoader", "Config:", "ZooKeeper: ", "ClientCnxn", "HBaseClient:", "X509Util"} {
			if strings.Contains(line, noise) {
				continue line
			}
		}
		keep.WriteString(line)
	}
	return keep.String()
}
