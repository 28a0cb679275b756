package cli

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestTSDConfig starts with a TSD's configuration file, below a YAML file and flags.
func TestTSDConfig(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	tsd := write("opentsdb.conf", `# of a site
tsd.network.port = 4242
tsd.network.bind = 0.0.0.0
tsd.http.staticroot = /usr/share/opentsdb/static/
tsd.core.auto_create_metrics = false
tsd.core.socket.timeout = 60
tsd.core.histograms.config = {"net.opentsdb.core.SimpleHistogramDecoder": 7}
tsd.storage.max_tags = 10
tsd.storage.max_tags = 12
tsd.query.timeout = 30000
tsd.http.query.allow_delete = True
tsd.http.request.cors_domains = http://a.example.org,http://b.example.org
tsd.storage.hbase.zk_quorum = zk1 ,, zk2:2182,
tsd.storage.hbase.data_table = metrics
tsd.storage.salt.width = 1
tsd.storage.enable_compaction = false
tsd.storage.enable_appends = true
`)
	var log bytes.Buffer
	c, err := parseCommand([]string{"--opentsdb.config=" + tsd, "--config.file=" + write("a.yml", "opentsdb.max-tags: 9\nquery.timeout: 45s\n"), "--query.timeout=50s"}, io.Discard, &log)
	if err != nil {
		t.Fatal(err)
	}
	o := c.options
	for _, check := range []struct {
		what      string
		got, want any
	}{
		{"engine", o.Engine, "hbase"},
		{"quorum", o.ZooKeeper, "zk1:2181,zk2:2182"},
		{"data table", o.TableData, "metrics"},
		{"salt", o.SaltWidth, 1},
		{"compaction", o.HBaseCompactAfter, time.Duration(0)},
		{"append cells", o.HBaseAppendCells, true},
		{"query timeout", o.QueryTimeout, 50 * time.Second},
		{"address", o.OpenTSDB.ListenAddress, ":4242"},
		{"tags", o.OpenTSDB.MaxTags, 9},
		{"metrics", o.OpenTSDB.AutoCreate.Metrics, false},
		{"tag keys", o.OpenTSDB.AutoCreate.TagKeys, true},
		{"idle", o.OpenTSDB.IdleTimeout, time.Minute},
		{"delete", o.OpenTSDB.AllowDelete, true},
		{"codecs", o.OpenTSDB.HistogramCodecs, "SimpleHistogramDecoder=7"},
		{"origins", strings.Join(o.OpenTSDB.CORSDomains, " "), "http://a.example.org http://b.example.org"},
	} {
		if check.got != check.want {
			t.Errorf("%s: %v, want %v", check.what, check.got, check.want)
		}
	}
	if !strings.Contains(log.String(), "keys=tsd.http.staticroot\n") {
		t.Errorf("log: %s", log.String())
	}
	for _, unused := range []struct{ text, flag string }{
		{"tsd.storage.hbase.zk_quorum=zk\ntsd.storage.enable_appends=true\ntsd.storage.repair_appends=true", "--log.level=info"},
		{"tsd.storage.hbase.zk_quorum=zk\ntsd.storage.enable_appends=true", "--storage.engine=embedded"},
		{"tsd.storage.enable_appends=true", "--log.level=info"},
	} {
		log.Reset()
		c, err := parseCommand([]string{"--opentsdb.config=" + write("unused.conf", unused.text), unused.flag}, io.Discard, &log)
		if err != nil {
			t.Fatal(err)
		}
		if c.options.HBaseAppendCells || !strings.Contains(log.String(), "keys=tsd.storage.enable_appends\n") {
			t.Errorf("%q: append cells %v, %s", unused.text, c.options.HBaseAppendCells, log.String())
		}
	}
	for _, bad := range []struct{ text, flag, want string }{
		{"tsd.storage.uid.width.metric=4", "--storage.uid-width.metric=3", "line 1: tsd.storage.uid.width.metric: it is 4, but --storage.uid-width.metric is 3"},
		{"\ntsd.storage.hbase.uid_table=x", "--storage.table.uid=y", "line 2: tsd.storage.hbase.uid_table: it is x"},
		{"tsd.core.authentication.enable=true", "", "--web.config.file"},
		{"tsd.query.timeout=soon", "", `"soon": want a number of 1ms`},
		{"tsd.query.timeout=-1", "", "want a number"},
		{"tsd.storage.max_tags=many", "", "--opentsdb.max-tags"},
		{"tsd.mode=xx", "", "--opentsdb.mode"},
		{`a=\u1`, "", "line 1"},
		{"tsd.core.histograms.config=/nowhere/codecs.json", "", "no such file"},
		{"tsd.core.histograms.config=[]", "", "want codecs and their ids as JSON"},
		{`tsd.core.histograms.config={"org.example.Mine":1}`, "", "--opentsdb.histogram-codecs"},
		{`tsd.core.histograms.config={"net.opentsdb.core.SimpleHistogramDecoder":1}`, "--opentsdb.histogram-codecs=SimpleHistogramDecoder=0", "the tables have one of both"},
	} {
		args := []string{"--opentsdb.config=" + write("bad.conf", bad.text)}
		if bad.flag != "" {
			args = append(args, bad.flag)
		}
		if _, err := parseCommand(args, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%s: %v, want %s", bad.text, err, bad.want)
		}
	}
	if _, err := parseCommand([]string{"--opentsdb.config=" + dir + "/none"}, io.Discard, io.Discard); err == nil {
		t.Error("a missing file is accepted")
	}
}
