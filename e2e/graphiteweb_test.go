package e2e_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"image/png"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// recordings is where the points and the requests are that graphite-web's answers were recorded with.
const recordings = moduleRoot + "/graphite/eval/testdata/"

// gunzipped returns the text of a file of recordings.
func gunzipped(t testing.TB, name string) string {
	t.Helper()
	f, err := os.Open(recordings + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// startRecorded runs an adapter that has the points of the recordings.
func startRecorded(t testing.TB) *adapter {
	t.Helper()
	const schemas = "[coarse]\npattern = ^coarse\\.\nretentions = 60s:5y\n[s30]\npattern = ^mix\\.s30\\.\nretentions = 30s:5y\n[s60]\npattern = ^mix\\.s60\\.\nretentions = 60s:5y\n" +
		"[s300]\npattern = ^(mix\\.s300|hw)\\.\nretentions = 300s:5y\n[s1]\npattern = ^mix\\.s1\\.\nretentions = 1s:2y\n[default]\npattern = .*\nretentions = 10s:5y\n"
	path := filepath.Join(t.TempDir(), "storage-schemas.conf")
	if err := os.WriteFile(path, []byte(schemas), 0o600); err != nil {
		t.Fatal(err)
	}
	a := startAdapter(t, withCarbon, "--graphite.storage-schemas="+path)
	lines := gunzipped(t, "feed.txt.gz")
	sendCarbon(t, "tcp", a.carbonAddr(t), lines)
	want := fmt.Sprintf(`tsdbridge_carbon_lines_total{protocol="tcp"} %d`, strings.Count(lines, "\n"))
	eventually(t, waitTimeout, "the points have come", func() error {
		if !strings.Contains(string(a.Get(t, "/metrics").ok(t).body), want) {
			return fmt.Errorf("no %s", want)
		}
		return nil
	})
	last := "zz.very.deep.path.of.many.levels.indeed.here"
	a.finds(t, last, last)
	return a
}

// askedOfBoth are requests that a graphite-web in front answers as the adapter does.
func askedOfBoth(t testing.TB) []string {
	t.Helper()
	const at = "&from=1741050007&until=1741051207&now=1741057200&format=json"
	list := []string{
		"/metrics/index.json",
		"/metrics/expand?query=servers.*.cpu.*&query=mix.*&groupByExpr=1",
		"/metrics/expand?query=**.cpu&leavesOnly=1",
		"/metrics/find?query=*&format=json",
		"/metrics/find?query=*.*&format=json&from=1741050007&until=1741057200",
		"/metrics/find?query=servers.{web,db}0?.c*",
		"/metrics/find?query=both.*&format=json",
		"/metrics/find?query=se&format=completer",
		"/metrics/find?query=servers.*.cpu.*.user&format=nodelist&position=1",
		"/metrics/find?query=odd.*&format=completer&wildcards=1",
		"/metrics/find?query=no.such",
		"/tags/autoComplete/tags",
		"/tags/autoComplete/tags?tagPrefix=d",
		"/tags/autoComplete/tags?expr=server=~web&limit=2",
		"/tags/autoComplete/values?tag=server&valuePrefix=web",
		"/tags/autoComplete/values?tag=server&expr=name=disk.used&expr=rack=a1",
		"/tags/autoComplete/values?tag=server&limit=0",
		"/tags/findSeries?expr=name=disk.used&expr=rack!=",
		"/tags?filter=d|r",
		"/tags/server",
	}
	for _, target := range []string{
		"servers.*.cpu.0.*", "sumSeries(servers.web*.cpu.*.user)", "aliasByNode(movingAverage(servers.*.mem.used,'2min'),1)", "disk.used;server=web04",
		"groupByTags(seriesByTag('name=req.rate','dc=~dc.*'),'sum','dc')", "aliasByTags(seriesByTag('name=disk.used'),'server','rack')", "timeShift(one,'5min')",
		"summarize(mix.s1.v,'5min','max')", "asPercent(servers.*.cpu.0.user,sumSeries(servers.*.cpu.0.user))", "both.**", "no.such", "odd.{a1,a2,a10}", "odd.жук",
	} {
		one := "/render?target=" + url.QueryEscape(target)
		list = append(list, one+at, one+at+"&maxDataPoints=7", one+at+"&noNullPoints=1")
	}
	list = append(list, "/render?target=mix.*.v&target=sumSeries(mix.*.v)"+at, "/render?target=coarse.h1.a&target=one&maxDataPoints=9"+at)
	lines := bufio.NewScanner(strings.NewReader(gunzipped(t, "render.jsonl.gz")))
	lines.Buffer(nil, 1<<26)
	for n := 0; lines.Scan(); n++ {
		var r struct{ Method, URL string }
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		if n%4 == 0 && r.Method == http.MethodGet && strings.Contains(r.URL, "now=") {
			list = append(list, r.URL)
		}
	}
	return list
}

// TestGraphiteWebCluster: a graphite-web whose cluster store is the adapter answers as the adapter itself, by either
// format that graphite-web's servers have among them.
func TestGraphiteWebCluster(t *testing.T) {
	needE2E(t)
	t.Parallel()
	graphiteWebPython(t)
	a := startRecorded(t)
	const remote = "STORAGE_FINDERS = ['graphite.finders.remote.RemoteFinder']\nREMOTE_RETRY_DELAY = 0\nTAGDB = 'graphite.tags.http.HttpTagDB'\nTAGDB_HTTP_URL = 'http://%[1]s'\n" +
		"TAGDB_HTTP_AUTOCOMPLETE = True\nCLUSTER_SERVERS = ['%[1]s%[2]s']\n%[3]s"
	for name, settings := range map[string]string{
		"msgpack": fmt.Sprintf(remote, a.addr, "?format=msgpack", ""),
		"pickle":  fmt.Sprintf(remote, a.addr, "", "REMOTE_STORE_USE_POST = True\nREMOTE_BUFFER_SIZE = 0\n"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			web := startGraphiteWeb(t, settings)
			for _, path := range askedOfBoth(t) {
				answersAs(t, path, web.Get(t, path), a.Get(t, path))
			}
			samePictures(t, web.client, a.client)
			comes(t, web, a, "fresh."+name)
		})
	}
}

// comes sends a point to the adapter, and waits until a graphite-web has it.
func comes(t *testing.T, web *graphiteWeb, a *adapter, name string) {
	t.Helper()
	at := time.Now().Truncate(10 * time.Second)
	sendCarbon(t, "tcp", a.carbonAddr(t), fmt.Sprintf("%s 7 %d\n", name, at.Unix()))
	web.renders(t, at.Add(-time.Second), at.Add(time.Second), fmt.Sprintf("%s %d=7", name, at.Unix()), name)
	web.finds(t, name, name)
}

// answersAs compares two answers in JSON; one of an error with another of an error.
func answersAs(t *testing.T, what string, got, want reply) {
	t.Helper()
	if got.status/100 != 2 || want.status/100 != 2 {
		if got.status/100 == 2 || want.status/100 == 2 {
			t.Errorf("%s: %.500v, the adapter answers %.500v", what, got, want)
		}
		return
	}
	if d := cmp.Diff(readJSON(t, what, want.body), readJSON(t, what, got.body), cmp.Comparer(sameNumber)); d != "" {
		t.Errorf("%s: %.2000s", what, d)
	}
}

func readJSON(t *testing.T, what string, text []byte) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // 1e9999 is infinite
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v in %.500s", what, err, text)
	}
	return v
}

// sameNumber reports whether numbers are equal but for the last digits, which depend on the order of a sum.
func sameNumber(a, b json.Number) bool {
	x, _ := a.Float64()
	y, _ := b.Float64()
	return x == y || math.Abs(x-y) <= max(1e-12, 1e-9*max(math.Abs(x), math.Abs(y)))
}

// samePictures compares the sizes of pictures, in pixels.
func samePictures(t *testing.T, web, a client) {
	t.Helper()
	for _, options := range []string{"", "&width=800&height=400&areaMode=stacked&title=x", "&graphType=pie&hideLegend=false", "&graphOnly=true&width=100&height=90"} {
		path := "/render?target=servers.*.cpu.0.user&from=1741050007&until=1741051207&now=1741057200" + options
		var sizes [2]string
		for i, c := range []client{web, a} {
			r := c.Get(t, path).ok(t)
			config, err := png.DecodeConfig(bytes.NewReader(r.body))
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			sizes[i] = fmt.Sprintf("%s %d x %d", r.header.Get("Content-Type"), config.Width, config.Height)
		}
		if sizes[0] != sizes[1] {
			t.Errorf("%s: %s, the adapter draws %s", path, sizes[0], sizes[1])
		}
	}
}
