package api

import (
	"bufio"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/graphite/graphitetest"
)

// recording is a request and graphite-web's reply; see testdata/README.md.
type recording struct {
	ID      string            `json:"id"`
	Group   string            `json:"group"`
	Method  string            `json:"method"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
	Data    string            `json:"data"`
	Status  int               `json:"status"`
	Type    string            `json:"ctype"`
	Body    string            `json:"body"`
	Base64  string            `json:"base64"`
	Setup   bool              `json:"setup"`
}

// TestRecorded replays the recorded requests and compares with graphite-web 1.1.10's answers.
func TestRecorded(t *testing.T) {
	w := newWeb(t)
	w.Add(t, graphitetest.Open(t, "../eval/testdata/feed.txt.gz"))
	files := []string{"testdata/web.jsonl"}
	if more := os.Getenv("GRAPHITE_ORACLE"); more != "" {
		files = append(files, strings.Split(more, ",")...)
	}
	for _, file := range files {
		passed, all := map[string]int{}, map[string]int{}
		for _, c := range readRecordings(t, file, isOther) {
			all[c.Group]++
			if _, diff := c.replay(w); diff != "" {
				t.Errorf("%s [%s] %s %s %s\n      %s", c.ID, c.Group, c.Method, c.URL, c.Data, diff)
				continue
			}
			passed[c.Group]++
		}
		for _, group := range slices.Sorted(maps.Keys(all)) {
			t.Logf("%4d/%-4d %s", passed[group], all[group], group)
		}
	}
}

func isOther(c recording) bool {
	return !strings.HasPrefix(c.URL, "/render") && !strings.HasPrefix(c.URL, "/events")
}

// readRecordings returns the wanted cases of a file, with the cases that prepare others first.
func readRecordings(t *testing.T, file string, wanted func(recording) bool) []recording {
	t.Helper()
	var list []recording
	lines := bufio.NewScanner(graphitetest.Open(t, file))
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		var c recording
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		if wanted(c) {
			list = append(list, c)
		}
	}
	if err := lines.Err(); err != nil || len(list) == 0 {
		t.Fatal(file, err)
	}
	slices.SortStableFunc(list, func(a, b recording) int {
		switch {
		case a.Setup == b.Setup:
			return 0
		case a.Setup:
			return -1
		}
		return 1
	})
	return list
}

// replay returns the body and the first difference, or nothing.
func (c recording) replay(w *web) (body, diff string) {
	r, err := c.request()
	if err != nil {
		return "", err.Error()
	}
	got := w.do(r)
	return got.Body.String(), c.differs(got)
}

func (c recording) differs(got *httptest.ResponseRecorder) string {
	kind, _, _ := strings.Cut(got.Header().Get("Content-Type"), ";")
	wanted, _, _ := strings.Cut(c.Type, ";")
	switch {
	case c.Status >= 500:
		if got.Code < 400 && !strings.HasPrefix(c.URL, "/render") || got.Code >= 500 {
			return fmt.Sprintf("status %d, want one of 400", got.Code)
		}
		return ""
	case got.Code != c.Status:
		return fmt.Sprintf("status %d, want %d: %s", got.Code, c.Status, got.Body)
	case c.Status >= 400:
		if want := c.errorText(); !strings.HasPrefix(got.Body.String(), want) {
			return fmt.Sprintf("%s, want %s", got.Body, want)
		}
		return ""
	case kind != wanted && wanted != "":
		return fmt.Sprintf("type %q, want %q", kind, wanted)
	case c.Base64 != "": // TestBinaryFind compares what other decoders than ours read
		return ""
	case kind == "text/html" && c.Method == http.MethodGet && (c.Body == "" || strings.Contains(c.Body, "<html>")): // a page of our own
		if !strings.HasPrefix(got.Body.String(), "<!DOCTYPE html>") {
			return "no page: " + got.Body.String()
		}
		return ""
	}
	path, _, _ := strings.Cut(c.URL, "?")
	return cmp.Diff(whatCounts(path, c.Body), whatCounts(path, got.Body.String()), cmp.Comparer(equalValue))
}

// errorText returns the part of an error's text that our answer must have too: the reason and the
// targets, without the series in Python's form; nothing of an HTML page.
func (c recording) errorText() string {
	text, _, _ := strings.Cut(html.UnescapeString(c.Body), `; func: `)
	if strings.HasPrefix(text, "Invalid") || strings.HasPrefix(text, "{") {
		return text
	}
	return ""
}

func (c recording) request() (*http.Request, error) {
	// They are escaped as diff.py sends them: Go's parser accepts only what it calls a URL.
	url := strings.NewReplacer(" ", "%20", `"`, "%22").Replace(c.URL)
	r, err := http.NewRequest(c.Method, "http://graphite"+url, strings.NewReader(c.Data))
	if err != nil {
		return nil, err
	}
	if c.Data == "" {
		r = httptest.NewRequest(c.Method, "http://graphite"+url, nil)
	}
	for k, v := range c.Headers {
		r.Header.Set(k, v)
	}
	return r, nil
}

// whatCounts returns the parts of a body that are compared.
func whatCounts(path, body string) any {
	if call, argument, ok := strings.Cut(strings.TrimSuffix(body, ")"), "("); ok && strings.HasSuffix(body, ")") && !strings.ContainsAny(call, `"[{`) {
		return map[string]any{"call": call, "argument": whatCounts(path, argument)}
	}
	var v any
	if err := json.Unmarshal([]byte(strings.NewReplacer("-1e9999", `"-inf"`, "1e9999", `"inf"`).Replace(body)), &v); err != nil {
		return body
	}
	switch {
	case strings.HasPrefix(path, "/functions"):
		return dropKeys(v, "description", "module")
	case strings.HasPrefix(path, "/tags"):
		return dropKeys(v, "id")
	case strings.HasPrefix(path, "/metrics/find"):
		return byPath(untagged(dropKeys(v, "intervals")))
	case strings.HasPrefix(path, "/metrics"):
		return untagged(v)
	}
	return v
}

func dropKeys(v any, keys ...string) any {
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			v[k] = dropKeys(inner, keys...)
			if slices.Contains(keys, k) {
				delete(v, k)
			}
		}
	case []any:
		for i := range v {
			v[i] = dropKeys(v[i], keys...)
		}
	}
	return v
}

// untagged removes whisper's directory of tagged series.
func untagged(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = untagged(v[k])
		}
	case []any:
		var kept []any
		for _, item := range v {
			if !strings.HasPrefix(pathOf(item), "_tagged") {
				kept = append(kept, untagged(item))
			}
		}
		return kept
	}
	return v
}

func pathOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case map[string]any:
		for _, key := range []string{"path", "id"} {
			if s, ok := v[key].(string); ok {
				return s
			}
		}
	}
	return ""
}

// byPath sorts nodes with paths: those of equal names come in the order of directories.
func byPath(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = byPath(v[k])
		}
	case []any:
		slices.SortStableFunc(v, func(a, b any) int {
			x, _ := a.(map[string]any)
			y, _ := b.(map[string]any)
			if x["path"] == nil || y["path"] == nil {
				return 0
			}
			return strings.Compare(fmt.Sprint(x["path"], x["is_leaf"]), fmt.Sprint(y["path"], y["is_leaf"]))
		})
	}
	return v
}

// equalValue compares as diff.py does: relative to 1e-9.
func equalValue(a, b float64) bool {
	return a == b || math.Abs(a-b) <= max(1e-12, 1e-9*max(math.Abs(a), math.Abs(b)))
}
