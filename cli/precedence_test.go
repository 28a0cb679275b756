package cli

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/cli/settings"
)

// External labels are expanded once, and as Prometheus does.
func TestExternalLabels(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yml")
	if err := os.WriteFile(file, []byte(`global:
  external_labels: {a: 'a$$b', b: '$A-$B_2', c: '${A}$$A$', d: "$$$$x", e: '$', f: '${NONE:-$A}', g: '$1'}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := parseCommandIn(settings.Source{Environment: map[string]string{"A": "1", "B_2": "$A$$"}}, []string{"--config.file=" + file}, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{a="a$b", b="1-$A$$", c="1$A$", d="$$x", e="$", f="$A", g="$1"}`
	if got := c.options.PromConfig.GlobalConfig.ExternalLabels.String(); got != want {
		t.Errorf("external labels %s, want %s", got, want)
	}
	if _, err := parseCommandIn(settings.Source{}, []string{"--config.file=" + file}, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "line 2: the environment variable A is not set") {
		t.Error(err)
	}
}

// The command line wins over the environment, that over the file, and that over a TSD's.
func TestOrderOfSettings(t *testing.T) {
	dir := t.TempDir()
	file, tsd := filepath.Join(dir, "c.yml"), filepath.Join(dir, "tsd.conf")
	for name, text := range map[string]string{
		file: "query.timeout: 3s\nquery.max-series: 3\nquery.max-samples: 3\nopentsdb.config: " + tsd + "\ncarbon.udp: false\nquery.slow-after: ${file:" + filepath.Join(dir, "slow") + "}\n",
		tsd:  "tsd.query.timeout = 4000\ntsd.storage.max_tags = 4\n",

		filepath.Join(dir, "slow"): "17s\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	environment := map[string]string{
		"TSDBRIDGE_CONFIG_FILE": file, "TSDBRIDGE_QUERY_MAX_SERIES": "2", "TSDBRIDGE_QUERY_MAX_SAMPLES": "2", "TSDBRIDGE_CARBON_UDP": "true",
		"TSDBRIDGE_GRAPHITE_TEMPLATE": "a.{metric}\nb.{metric}\n", "TSDBRIDGE_PORT": "tcp://a", "TSDBRIDGE_QUERY_TIMEOUTS": "1s",
	}
	var log strings.Builder
	c, err := parseCommandIn(settings.Source{Environment: environment}, []string{"--query.max-samples=1"}, io.Discard, &log)
	if err != nil {
		t.Fatal(err)
	}
	o := c.options
	if o.QuerySamples != 1 || o.QuerySeries != 2 || o.QueryTimeout.String() != "3s" || o.OpenTSDB.MaxTags != 4 || !o.Carbon.UDP {
		t.Errorf("samples %d, series %d, timeout %v, tags %d, udp %v", o.QuerySamples, o.QuerySeries, o.QueryTimeout, o.OpenTSDB.MaxTags, o.Carbon.UDP)
	}
	if !slices.Equal(o.Graphite.Templates, []string{"a.{metric}", "b.{metric}"}) {
		t.Errorf("templates %q", o.Graphite.Templates)
	}
	if o.QuerySlow.String() != "17s" || o.Flags["query.slow-after"] != adapter.Hidden || o.Flags["query.max-series"] != "2" {
		t.Errorf("slow %v, shown as %q; series shown as %q", o.QuerySlow, o.Flags["query.slow-after"], o.Flags["query.max-series"])
	}
	if text := log.String(); !strings.Contains(text, "TSDBRIDGE_QUERY_TIMEOUTS (did you mean TSDBRIDGE_QUERY_TIMEOUT?)") || strings.Contains(text, "TSDBRIDGE_PORT") {
		t.Errorf("log: %s", text)
	}
	if c, err = parseCommandIn(settings.Source{Environment: environment}, []string{"--config.file="}, io.Discard, io.Discard); err != nil || c.options.QueryTimeout.String() != "2m0s" {
		t.Errorf("without a file: timeout %v, %v", c.options.QueryTimeout, err)
	}
}
