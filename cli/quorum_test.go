package cli

import (
	"io"
	"os"
	"strings"
	"testing"
)

// TestQuorum reads addresses as they are in the configurations of HBase.
func TestQuorum(t *testing.T) {
	for text, want := range map[string]string{
		"a:2181, b:2181":     "a:2181,b:2181",
		" a , b:1 ,":         "a:2181,b:1",
		"a:2181,,b:2181":     "a:2181,b:2181",
		"\ta:2181,\n b:2181": "a:2181,b:2181",
		"zk":                 "zk:2181",
		"[::1]:2181, b":      "[::1]:2181,b:2181",
		" , ":                "",
	} {
		c, err := parseCommand([]string{"tables", "create", "--dry-run", "--hbase.zookeeper=" + text, "--log.level=error"}, io.Discard, io.Discard)
		if err != nil || c.options.ZooKeeper != want {
			t.Errorf("%q is %q, %v, want %q", text, c.options.ZooKeeper, err, want)
		}
	}
	if _, err := parseCommand([]string{"--hbase.zookeeper=a:2181 b:2181"}, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "separated by commas") {
		t.Errorf("without a comma: %v", err)
	}
	c, err := parseCommand([]string{"--query.enable-feature=promql-binop-fill-modifiers, promql-experimental-functions", "--opentsdb.histogram-codecs=SimpleHistogramDecoder = 7"}, io.Discard, io.Discard)
	if err != nil || len(c.options.Prometheus.Query.Features) == 0 {
		t.Errorf("lists with blanks: %v", err)
	}
}

// TestTellEdits: whoever comes with the configuration of a TSD is told once what a TSD allows and this does not.
func TestTellEdits(t *testing.T) {
	conf := t.TempDir() + "/opentsdb.conf"
	if err := os.WriteFile(conf, []byte("tsd.network.port=4242\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		told int
	}{
		{[]string{"--opentsdb.config=" + conf}, 1},
		{[]string{"--opentsdb.config=" + conf, "--opentsdb.allow-edits"}, 0},
		{nil, 0},
	} {
		var log strings.Builder
		if _, err := parseCommand(c.args, io.Discard, &log); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(log.String(), "--opentsdb.allow-edits"); n != c.told {
			t.Errorf("%v: told %d times: %s", c.args, n, log.String())
		}
	}
}
