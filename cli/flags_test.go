package cli

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/cli/flagvalue"
)

// Without any flag the options are the defaults, and every flag of the fixed command line is there.
func TestDefaults(t *testing.T) {
	c, err := parseCommand(nil, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	ignore := cmpopts.IgnoreFields(adapter.Options{}, "Options.Logger", "Options.Now", "Flags", "Settings", "Several", "NotInFile", "Level")
	if diff := cmp.Diff(adapter.DefaultOptions(), c.options, ignore); diff != "" {
		t.Errorf("options without flags (-default +parsed):\n%s", diff)
	}
	if c.run == nil {
		t.Error("without a command nothing runs, want serve")
	}
	for flag := range strings.FieldsSeq(`config.file log.level log.format storage.engine storage.path hbase.zookeeper hbase.root
		storage.table.data storage.table.uid storage.table.meta storage.table.tree storage.uid-width.metric storage.uid-width.tagk
		storage.uid-width.tagv storage.salt.width storage.salt.buckets storage.values web.listen-address web.config.file`) {
		if _, ok := c.options.Flags[flag]; !ok {
			t.Errorf("there is no flag --%s", flag)
		}
	}
}

func TestConfigFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yml")
	text := "storage: {table: {data: points}, values: double}\nstorage.salt.width: 1\nwrite.max-body-bytes: 1MiB\nlog: {level: error}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := parseCommand([]string{"--storage.values=compact", "--config.file", file}, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	o := c.options
	if o.TableData != "points" || o.SaltWidth != 1 || o.Prometheus.Write.BodyBytes != 1<<20 || o.Values != "compact" {
		t.Errorf("options %+v", o)
	}
}

// TestBools sets flags to true and to false in every way.
func TestBools(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yml")
	if err := os.WriteFile(file, []byte("web.enable-admin-api: true\ncarbon: {udp: false, keep-open: true}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := parseCommand([]string{"--config.file=" + file, "--no-carbon.keep-open", "--opentsdb.allow-delete=true", "--opentsdb.auto-create-tagks=false", "--opentsdb.allow-edits"}, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	o := c.options
	if !o.AdminAPI || o.Carbon.UDP || o.Carbon.KeepOpen || !o.OpenTSDB.AllowDelete || o.OpenTSDB.AutoCreate.TagKeys || !o.OpenTSDB.AllowEdits {
		t.Errorf("%+v", o)
	}
	for _, bad := range []string{"--carbon.udp=perhaps", "--carbon.udp="} {
		if _, err := parseCommand([]string{bad}, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "want true or false") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// --write.max-future applies to every protocol when it is set; otherwise each has a default of its
// own.
func TestMaxFuture(t *testing.T) {
	for _, c := range []struct {
		args                    string
		write, carbon, opentsdb time.Duration
	}{
		{"", 10 * time.Minute, 0, 0},
		{"--write.max-future=1h", time.Hour, time.Hour, time.Hour},
		{"--write.max-future=1h --carbon.max-future=0s", time.Hour, 0, time.Hour},
		{"--opentsdb.max-future=5m", 10 * time.Minute, 0, 5 * time.Minute},
		{"--write.max-future=0s --opentsdb.max-future=5m", 0, 0, 5 * time.Minute},
	} {
		o, err := parseCommand(strings.Fields(c.args), io.Discard, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if got := [3]time.Duration{o.options.Prometheus.Write.Future, o.options.Carbon.MaxFuture, o.options.OpenTSDB.MaxFuture}; got != [3]time.Duration{c.write, c.carbon, c.opentsdb} {
			t.Errorf("%q: %v", c.args, got)
		}
	}
}

// Every flag of a number, a duration or a size is refused by name when it is negative or absurd.
func TestAbsurdNumbersAreRefused(t *testing.T) {
	model := newParser(io.Discard).app.Model()
	for _, f := range model.Flags {
		absurd := absurdValue(f.Value)
		if absurd == "" {
			continue
		}
		args := []string{"--opentsdb.listen-address=:0", "--" + f.Name + "=" + absurd}
		c, err := parseCommand(args, io.Discard, io.Discard)
		if err == nil {
			err = c.options.Validate()
		}
		if err == nil || !strings.Contains(err.Error(), "--"+f.Name) {
			t.Errorf("--%s=%s: %v, want an error with its name", f.Name, absurd, err)
		}
	}
}

// absurdValue is a value that no number, duration or size may have; empty: the flag is none of these.
func absurdValue(v kingpin.Value) string {
	text := v.String()
	if _, err := strconv.Atoi(text); err == nil {
		return "-7"
	}
	if _, err := time.ParseDuration(text); err == nil {
		return "-7s"
	}
	if _, err := flagvalue.ParseSize(text); err == nil {
		return "-7MiB"
	}
	return ""
}
