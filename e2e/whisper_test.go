package e2e_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// whisperSchemas are the archives of the files of these tests: pattern, retentions, and the same in seconds.
var whisperSchemas = []struct {
	name, retentions string
	archives         [][2]int64 // step, slots
}{
	{"short", "10s:30m,1m:3h,5m:1d", [][2]int64{{10, 180}, {60, 180}, {300, 288}}},
	{"long", "1m:2h,10m:2d,1h:60d,1d:3y", [][2]int64{{60, 120}, {600, 288}, {3600, 1440}, {86400, 1095}}},
	{"odd", "7s:20m,70s:2h,490s:1d", [][2]int64{{7, 171}, {70, 102}, {490, 176}}},
	{"one", "1m:1d", [][2]int64{{60, 1440}}},
}

// whisperMethods are the methods of aggregation, by a part of the names of series, with an xFilesFactor.
var whisperMethods = []struct{ name, method, xff string }{
	{"avg", "average", "0.5"},
	{"avg_any", "average", "0"},
	{"avg_all", "average", "1"},
	{"sum", "sum", "0.2"},
	{"last", "last", "0.3"},
	{"max", "max", "0"},
	{"min", "min", "0.7"},
}

// whisperTagged is a series with tags: the name of its file is a hash.
const whisperTagged = "tagged.load;dc=x;host=web.1"

// whisperFiles are files that a carbon-cache has written, and a graphite-web over them.
type whisperFiles struct {
	dir   string // of the files
	names []string
	now   int64 // after all points
	web   client
	known map[string][]rendered // answers of web
}

// makeWhisperFiles has a carbon-cache write files, with gaps, and with points that come late.
func makeWhisperFiles(t *testing.T) *whisperFiles {
	t.Helper()
	var schemas, aggregation strings.Builder
	fmt.Fprint(&schemas, "[last]\npattern = ^sentinel$\nretentions = 1s:1d\n[tagged]\npattern = ^tagged\nretentions = 10s:30m,1m:3h,5m:1d\n")
	for _, s := range whisperSchemas {
		fmt.Fprintf(&schemas, "[%s]\npattern = ^w\\.%[1]s\\.\nretentions = %s\n", s.name, s.retentions)
	}
	for _, m := range whisperMethods {
		fmt.Fprintf(&aggregation, "[%s]\npattern = \\.%[1]s$\nxFilesFactor = %s\naggregationMethod = %s\n", m.name, m.xff, m.method)
	}
	cache := startCarbond(t, "carbon-cache", "MAX_UPDATES_PER_SECOND = inf\nMAX_CREATES_PER_MINUTE = inf\n",
		map[string]string{"storage-schemas.conf": schemas.String(), "storage-aggregation.conf": aggregation.String()})
	f := &whisperFiles{dir: filepath.Join(cache.dir, "storage", "whisper"), known: map[string][]rendered{}}
	now := time.Now().Unix()
	rng := rand.New(rand.NewPCG(15, 1)) //nolint:gosec // a test repeats
	for round := range 3 {
		p := newCarbonPoints()
		for _, s := range whisperSchemas {
			for _, m := range whisperMethods {
				addWhisperPoints(p, rng, "w."+s.name+"."+m.name, s.archives, now, round)
			}
		}
		addWhisperPoints(p, rng, whisperTagged, whisperSchemas[0].archives, now, round)
		end := newCarbonPoints()
		end.add("sentinel", float64(round), time.Unix(now, 0))
		sendCarbon(t, "tcp", cache.lines, p.lines.String()+end.lines.String())
		cache.hasPoints(end, []string{"sentinel"}) // then the cache has all that came before
	}
	cache.end()
	for _, s := range whisperSchemas {
		for _, m := range whisperMethods {
			f.names = append(f.names, "w."+s.name+"."+m.name)
		}
	}
	f.now = time.Now().Unix()
	f.web = serveWhisper(t, f.dir)
	f.web.Post(t, "/tags/tagMultiSeries", map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, []byte(url.Values{"path": {whisperTagged}}.Encode())).ok(t)
	return f
}

// addWhisperPoints adds points of a series for all of its archives, the oldest first. Later rounds have a few, of
// which most are older than what is there.
func addWhisperPoints(p *carbonPoints, rng *rand.Rand, name string, archives [][2]int64, now int64, round int) {
	for _, a := range slices.Backward(archives) {
		step, slots := a[0], a[1]
		share := 0.9 - 0.3*float64(round)
		for t := now - step*slots + step; t <= now; t += step {
			if rng.IntN(40) == 0 || round > 0 && rng.IntN(10) > 0 { // a gap
				t += step * rng.Int64N(12)
			}
			if rng.Float64() < share {
				p.add(name, float64(rng.IntN(4000)-2000)/float64(1+rng.IntN(7)), time.Unix(min(t+rng.Int64N(step), now), 0))
			}
		}
	}
}

// ask asks graphite-web, once.
func (f *whisperFiles) ask(t *testing.T, query string) []rendered {
	t.Helper()
	if known, ok := f.known[query]; ok {
		return known
	}
	f.known[query] = renderedBy(t, f.web, query)
	return f.known[query]
}

func renderedBy(t *testing.T, c client, query string) (all []rendered) {
	t.Helper()
	r := c.Get(t, "/render?format=json&"+query).ok(t)
	if err := json.Unmarshal(r.body, &all); err != nil {
		t.Fatalf("%s: %v in %.2000s", query, err, r.body)
	}
	return all
}

// queries returns queries for ranges of all archives: some at random, and some at the edges of archives.
func (f *whisperFiles) queries() (all []string) {
	rng := rand.New(rand.NewPCG(15, 2)) //nolint:gosec // a test repeats
	add := func(target string, from, until int64) {
		q := url.Values{"target": {target}, "from": {fmt.Sprint(from)}, "until": {fmt.Sprint(until)}, "now": {fmt.Sprint(f.now)}}
		if rng.IntN(3) == 0 {
			q.Set("maxDataPoints", fmt.Sprint(1+rng.IntN(150)))
		}
		all = append(all, q.Encode())
	}
	wrap := func(name string) string {
		forms := []string{"%s", "%s", "%s", "consolidateBy(%s,'max')", "movingMedian(%s,5)", "timeShift(%s,'2h')", "summarize(%s,'1h','sum')", "derivative(%s)"}
		return fmt.Sprintf(forms[rng.IntN(len(forms))], name)
	}
	target := func(schema string) string {
		switch rng.IntN(6) {
		case 0:
			return "w." + schema + ".*"
		case 1:
			return "maxSeries(w.{short,long}." + whisperMethods[rng.IntN(len(whisperMethods))].name + ")"
		case 2:
			return "seriesByTag('name=tagged.load')"
		}
		return wrap("w." + schema + "." + whisperMethods[rng.IntN(len(whisperMethods))].name)
	}
	for _, s := range whisperSchemas {
		longest := s.archives[len(s.archives)-1]
		for range 40 { // ranges of all lengths
			back := math.Exp(rng.Float64() * math.Log(1.1*float64(longest[0]*longest[1])))
			from := f.now - int64(back) - 1
			add(target(s.name), from, from+1+int64(rng.Float64()*float64(f.now-from)))
		}
		for _, a := range s.archives { // the last range of one archive, the first of the next, and what is near
			for _, off := range []int64{-a[0] - 1, -a[0], -1, 0, 1, a[0]} {
				from := f.now - a[0]*a[1] + off
				add(target(s.name), from, from+1+rng.Int64N(f.now-from))
				add(target(s.name), from, f.now)
			}
		}
	}
	return all
}

// same compares the answers of an adapter with those of graphite-web.
func (f *whisperFiles) same(t *testing.T, a *adapter) {
	t.Helper()
	queries := f.queries()
	series, points, differ := 0, 0, 0
	for _, query := range queries {
		want, got := byName(f.ask(t, query)), byName(renderedBy(t, a.client, query))
		text := sameRendered(got, want)
		if text != "" {
			if differ++; differ < 10 {
				t.Errorf("%s: %s", query, text)
			}
		}
		series += len(want)
		for _, w := range want {
			points += len(w.Datapoints)
		}
	}
	if differ > 0 {
		t.Fatalf("%d of %d answers differ", differ, len(queries))
	}
	if series < len(queries) || points < 20*len(queries) {
		t.Errorf("%d answers have %d series of %d points", len(queries), series, points)
	}
	t.Logf("%d answers, %d series, %d points", len(queries), series, points)
}

// byName sorts by target, which are in the order of a directory otherwise.
func byName(all []rendered) []rendered {
	slices.SortStableFunc(all, func(a, b rendered) int { return strings.Compare(a.Target, b.Target) })
	return all
}

// sameRendered tells in what answers differ.
func sameRendered(got, want []rendered) string {
	if len(got) != len(want) {
		return fmt.Sprintf("%d series, want %d", len(got), len(want))
	}
	for i, w := range want {
		g := got[i]
		if g.Target != w.Target || len(g.Datapoints) != len(w.Datapoints) {
			return fmt.Sprintf("%s of %d points, want %s of %d", g.Target, len(g.Datapoints), w.Target, len(w.Datapoints))
		}
		for n, p := range w.Datapoints {
			if q := g.Datapoints[n]; *p[1] != *q[1] || (p[0] == nil) != (q[0] == nil) || p[0] != nil && *p[0] != *q[0] {
				return fmt.Sprintf("point %d of %s is %s, want %s", n, g.Target, pointText(q), pointText(p))
			}
		}
	}
	return ""
}

func pointText(p [2]*float64) string {
	if p[0] == nil {
		return fmt.Sprintf("none at %.0f", *p[1])
	}
	return fmt.Sprintf("%v at %.0f", *p[0], *p[1])
}

// importWhisper imports the files.
func (f *whisperFiles) importWhisper(t *testing.T, dir string, args ...string) {
	t.Helper()
	names := filepath.Join(t.TempDir(), "names")
	if err := os.WriteFile(names, []byte(whisperTagged+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Log(tsdbridge(t, dir, append(append([]string{"import", "whisper", "--tagged-names=" + names}, args...), f.dir)...))
}

// exported exports whisper files, and has whisper compare them with the original ones: what it reads of each
// archive.
func (f *whisperFiles) exported(t *testing.T, dir string, args ...string) {
	t.Helper()
	out := t.TempDir()
	t.Log(tsdbridge(t, dir, append(append([]string{"export", "whisper"}, args...), out)...))
	const script = `
import os, sys, time, whisper
theirs, ours = sys.argv[1:]
now, files, points = int(time.time()), 0, 0
for folder, _, names in os.walk(theirs):
    for name in names:
        path = os.path.join(folder, name)
        other = os.path.join(ours, os.path.relpath(path, theirs))
        a, b = whisper.info(path), whisper.info(other)
        assert a == b, (path, a, b)
        for archive in a['archives']:
            start = now - archive['retention']
            want, got = whisper.fetch(path, start, now, now), whisper.fetch(other, start, now, now)
            assert want[0] == got[0], (path, want[0], got[0])
            for i, (x, y) in enumerate(zip(want[1], got[1])):
                assert x == y, (path, want[0], i, x, y)
                points += x is not None
        files += 1
print(files, points)
`
	said, err := exec.CommandContext(t.Context(), pythonWith(t), "-c", script, f.dir, out).CombinedOutput()
	var files, points int
	if _, scanned := fmt.Sscan(string(said), &files, &points); err != nil || scanned != nil || files != len(f.names)+2 || points < 100*files {
		t.Fatalf("whisper over the exported files: %v\n%s", err, said)
	}
	hash := sha256.Sum256([]byte(whisperTagged))
	if found, err := filepath.Glob(filepath.Join(out, "_tagged", "*", "*", hex.EncodeToString(hash[:])+".wsp")); err != nil || len(found) != 1 {
		t.Errorf("%v, %v", found, err)
	}
}

// TestWhisper moves files of a carbon-cache into an embedded store, and back.
func TestWhisper(t *testing.T) {
	needE2E(t)
	t.Parallel()
	f := makeWhisperFiles(t)
	stopped := t.TempDir()
	f.importWhisper(t, stopped, "--storage.path=data")
	a := startAdapter(t, "--storage.path="+filepath.Join(stopped, "data"), "--web.enable-admin-api")
	f.same(t, a)
	f.exported(t, t.TempDir(), "--adapter-url="+a.base)

	running := startAdapter(t, "--web.enable-admin-api")
	f.importWhisper(t, running.dir, "--adapter-url="+running.base)
	f.same(t, running)
	running.Kill()
	running.Restart(t)
	f.same(t, running)
	running.Stop(t)
	f.exported(t, running.dir)
}

// testWhisperHBase moves files of a carbon-cache into HBase, and back.
func testWhisperHBase(t *testing.T, s tables) {
	s.flags = append(s.flags, "--storage.table.archive="+s.name+"-archive")
	s.create(t)
	f := makeWhisperFiles(t)
	f.importWhisper(t, t.TempDir(), s.args()...)
	f.same(t, s.startAdapter(t))
	f.exported(t, t.TempDir(), s.args()...)
}
