package eval

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"mime"
	"mime/multipart"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/expr"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
	"github.com/tsdbridge/tsdbridge/graphite/timespec"
)

// recorded is a request and graphite-web's reply; see testdata/README.md for how they were made.
type recorded struct {
	ID      string            `json:"id"`
	Group   string            `json:"group"`
	Method  string            `json:"method"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
	Data    string            `json:"data"`
	Status  int               `json:"status"`
	Body    string            `json:"body"`
}

// TestOracle replays recorded requests over the points of feed.txt.gz and compares with
// graphite-web 1.1.10's answers. EVAL_ORACLE names a further file of recordings, which may be plain
// or gzipped.
func TestOracle(t *testing.T) {
	feed := readFeed(t)
	files := []string{"testdata/render.jsonl.gz"}
	if more := os.Getenv("EVAL_ORACLE"); more != "" {
		files = append(files, strings.Split(more, ",")...)
	}
	for _, file := range files {
		passed, all := map[string]int{}, map[string]int{}
		for _, c := range readCases(t, file) {
			all[c.Group]++
			if diff := c.replay(feed); diff != "" {
				t.Errorf("%s [%s] %s\n      %s", c.ID, c.Group, c.URL+c.Data, diff)
				continue
			}
			passed[c.Group]++
		}
		total, good := 0, 0
		for _, group := range slices.Sorted(maps.Keys(all)) {
			total, good = total+all[group], good+passed[group]
			t.Logf("%4d/%-4d %s", passed[group], all[group], group)
		}
		t.Logf("%d of %d in %s", good, total, file)
	}
}

// replay returns the first difference, or nothing.
func (c recorded) replay(feed *memory) string {
	form, err := c.form()
	if err != nil {
		return err.Error()
	}
	got, err := render(feed, form)
	switch {
	case c.Status >= 500:
		return "" // What graphite-web fails on may be answered.
	case c.Status >= 400 && err == nil:
		return fmt.Sprintf("answered, want status %d: %.200s", c.Status, c.Body)
	case c.Status >= 400:
		return ""
	case err != nil:
		return err.Error()
	}
	return compare(c.Body, got)
}

func (c recorded) form() (url.Values, error) {
	u, err := url.Parse(c.URL)
	if err != nil {
		return nil, err
	}
	form := parseForm(u.RawQuery)
	kind, params, _ := mime.ParseMediaType(c.Headers["Content-Type"])
	if kind == "multipart/form-data" {
		f, err := multipart.NewReader(strings.NewReader(c.Data), params["boundary"]).ReadForm(1 << 20)
		if err != nil {
			return nil, err
		}
		form = url.Values(f.Value)
	} else if c.Data != "" {
		for k, v := range parseForm(c.Data) {
			form[k] = append(form[k], v...)
		}
	}
	return form, nil
}

// parseForm reads a query string in which a semicolon is not a separator.
func parseForm(s string) url.Values {
	form := url.Values{}
	for pair := range strings.SplitSeq(s, "&") {
		key, value, _ := strings.Cut(pair, "=")
		k, _ := url.QueryUnescape(key)
		v, err := url.QueryUnescape(value)
		if err != nil {
			v = value
		}
		if k != "" {
			form[k] = append(form[k], v)
		}
	}
	return form
}

// render evaluates a form as the render handler does, without the JSON.
func render(feed *memory, form url.Values) ([]*series.Series, error) {
	zone := time.UTC
	if z, err := time.LoadLocation(form.Get("tz")); err == nil {
		zone = z
	}
	now := time.Unix(1741057200, 0)
	at := func(key, otherwise string) (time.Time, error) {
		if text := form.Get(key); text != "" {
			return timespec.ParseTime(text, zone, now)
		}
		return timespec.ParseTime(otherwise, zone, now)
	}
	now, err := at("now", "now")
	if err != nil {
		return nil, err
	}
	from, err := at("from", "-1d")
	if err != nil {
		return nil, err
	}
	until, err := at("until", "now")
	if err != nil {
		return nil, err
	}
	r := call.Request{From: min(from.Unix(), until.Unix()), Until: max(from.Unix(), until.Unix()), Now: now.Unix(), Zone: zone, Template: map[string]string{}}
	if r.From == r.Until {
		return nil, python.Invalid("Invalid empty time range")
	}
	for k := range form {
		if name, ok := strings.CutPrefix(k, "template["); ok {
			r.Template[name[:len(name)-1]] = form.Get(k)
		}
	}
	if text := form.Get("xFilesFactor"); text != "" {
		if r.XFilesFactor, err = strconv.ParseFloat(text, 64); err != nil {
			return nil, err
		}
	}
	return renderTargets(feed, form, r)
}

func renderTargets(feed *memory, form url.Values, r call.Request) ([]*series.Series, error) {
	var targets []expr.Node
	texts := form["target"]
	if texts == nil {
		texts = form["target[]"]
	}
	for _, text := range texts {
		if strings.TrimSpace(text) == "" {
			continue
		}
		n, err := expr.Parser{}.Parse(text)
		if err != nil {
			return nil, err
		}
		targets = append(targets, n)
	}
	list, err := New().Eval(context.Background(), targets, r, feed)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(list, func(s *series.Series) bool { return len(s.Values) > 0 }) {
		return nil, nil
	}
	if most, err := strconv.Atoi(form.Get("maxDataPoints")); err == nil && most >= 0 {
		if err := series.Consolidate(list, most); err != nil {
			return nil, err
		}
	}
	if form.Has("noNullPoints") {
		list = slices.DeleteFunc(list, func(s *series.Series) bool {
			return !slices.ContainsFunc(s.Values, func(v float64) bool { return !math.IsNaN(v) })
		})
	}
	return list, nil
}

// compare compares series with graphite-web's JSON: names, order, times and tags exactly, values to
// 1e-9.
func compare(body string, got []*series.Series) string {
	var want []struct {
		Target     *string           `json:"target"`
		Tags       map[string]string `json:"tags"`
		Datapoints [][2]json.Number  `json:"datapoints"`
	}
	if err := json.Unmarshal([]byte(body), &want); err != nil {
		return err.Error()
	}
	if len(want) != len(got) {
		return fmt.Sprintf("%d series, want %d", len(got), len(want))
	}
	for i, w := range want {
		g := got[i]
		if (w.Target == nil) != g.Unnamed || w.Target != nil && *w.Target != g.Name {
			return fmt.Sprintf("name %q, want %q", g.Name, deref(w.Target))
		}
		n := 0
		for at, v := range g.Points() {
			if n >= len(w.Datapoints) {
				return fmt.Sprintf("%s: more than %d points", g.Name, n)
			}
			p := w.Datapoints[n]
			n++
			if p[1].String() != strconv.FormatInt(at, 10) {
				return fmt.Sprintf("%s: point %d at %d, want %s", g.Name, n-1, at, p[1])
			}
			if !equalValue(p[0].String(), v) {
				return fmt.Sprintf("%s: at %d %v, want %s", g.Name, at, v, p[0])
			}
		}
		if n < len(w.Datapoints) {
			return fmt.Sprintf("%s: %d points, want %d", g.Name, n, len(w.Datapoints))
		}
		if !maps.Equal(w.Tags, g.Tags) {
			return fmt.Sprintf("%s: tags %v, want %v", g.Name, g.Tags, w.Tags)
		}
	}
	return ""
}

func deref(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}

func equalValue(want string, got float64) bool {
	if want == "" {
		return math.IsNaN(got)
	}
	w, _ := strconv.ParseFloat(want, 64)
	return w == got || math.Abs(w-got) <= max(1e-12, 1e-9*max(math.Abs(w), math.Abs(got)))
}

func open(t *testing.T, file string) io.Reader {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if !strings.HasSuffix(file, ".gz") {
		return f
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func readCases(t *testing.T, file string) []recorded {
	t.Helper()
	var cases []recorded
	lines := bufio.NewScanner(open(t, file))
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		var c recorded
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(c.URL)
		if err != nil || strings.TrimSuffix(u.Path, "/") != "/render" {
			continue
		}
		if form, err := c.form(); err == nil && form.Get("format") == "json" && !form.Has("jsonp") && form.Get("graphType") != "pie" {
			cases = append(cases, c)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return cases
}
