package graphite

import (
	"bytes"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tsdbridge/tsdbridge/graphite/carbonapi"
)

// ask sends a message and returns the answer.
func (w *web) ask(t *testing.T, path string, message []byte) (int, []byte) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, path+"?format=carbonapi_v3_pb", bytes.NewReader(message))
	r.Header.Set("Content-Type", carbonapi.ContentType)
	out := w.do(r)
	if got := out.Header().Get("Content-Type"); out.Code == http.StatusOK && got != carbonapi.ContentType {
		t.Errorf("%s: type %s", path, got)
	}
	return out.Code, out.Body.Bytes()
}

// question returns a message with one field 1, of texts and numbers.
func question(fields map[protowire.Number]any) []byte {
	var one []byte
	for n := protowire.Number(1); n < 10; n++ {
		switch v := fields[n].(type) {
		case string:
			one = protowire.AppendString(protowire.AppendTag(one, n, protowire.BytesType), v)
		case int:
			one = protowire.AppendVarint(protowire.AppendTag(one, n, protowire.VarintType), uint64(v))
		}
	}
	return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), one)
}

// TestCarbonAPI: questions of carbonapi's protocol get what the other formats answer.
func TestCarbonAPI(t *testing.T) {
	w := newWeb(t)
	const at = webNow - webNow%60 - 600
	w.Points(t, "a.b", []int64{at * 1000, (at + 60) * 1000, (at + 180) * 1000})
	w.Points(t, "a.c.d", []int64{at * 1000})
	fetch := question(map[protowire.Number]any{1: "a.b", 2: at - 1, 3: at + 240, 5: "a.*"})
	series := carbonapi.Series{
		Name: "a.b", Expression: "a.*", Consolidation: "average", Start: at, Stop: at + 300, Step: 60, AskedStart: at - 1, AskedStop: at + 240,
		Values: []float64{0, 1, math.NaN(), 2, math.NaN()},
	}
	if code, got := w.ask(t, "/render/", fetch); code != 200 || !bytes.Equal(got, series.Append(nil)) {
		t.Errorf("fetch: %d\n%x, want\n%x", code, got, series.Append(nil))
	}
	small := question(map[protowire.Number]any{1: "a.b", 2: at - 1, 3: at + 240, 7: 2})
	if code, got := w.ask(t, "/render", append(fetch, small...)); code != 200 || !bytes.HasPrefix(got, series.Append(nil)) || len(got) < 3*len(series.Append(nil))/2 {
		t.Errorf("two: %d %x", code, got)
	}
	pattern := func(p string) []byte {
		return protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), p)
	}
	all, none := carbonapi.Glob{Pattern: "a.*", Matches: []carbonapi.Match{{Path: "a.b", Leaf: true}, {Path: "a.c"}}}, carbonapi.Glob{Pattern: "x.*"}
	if code, got := w.ask(t, "/metrics/find/", append(pattern("a.*"), pattern("x.*")...)); code != 200 || !bytes.Equal(got, none.Append(all.Append(nil))) {
		t.Errorf("find: %d %x", code, got)
	}
	if code, got := w.ask(t, "/_internal/capabilities/", nil); code != 200 || !bytes.Contains(got, []byte("carbonapi_v3_pb")) {
		t.Errorf("capabilities: %d %x", code, got)
	}
	for name, message := range map[string][]byte{
		"a cut message": fetch[:5],
		"no time":       question(map[protowire.Number]any{1: "a.b"}),
		"far times":     question(map[protowire.Number]any{1: "a.b", 2: 1, 3: 1 << 40}),
		"a bad target":  question(map[protowire.Number]any{1: "nofunction(a.b)", 2: 1, 3: 2}),
		"bad text":      question(map[protowire.Number]any{1: "\xff", 2: 1, 3: 2}),
		"many":          bytes.Repeat(small, 10_001),
	} {
		if code, text := w.ask(t, "/render", message); code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", name, code, text)
		}
	}
	if code, _ := w.ask(t, "/metrics/find", []byte{0xff}); code != http.StatusBadRequest {
		t.Errorf("find with no message: %d", code)
	}
	if out := w.get("/render?format=carbonapi_v3_pb&target=a.b"); out.Code != http.StatusOK || strings.Contains(out.Body.String(), "a.b") {
		t.Errorf("no body: %d %s", out.Code, out.Body)
	}
}
