package api

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tsdbridge/tsdbridge/graphite/carbonapi"
	"github.com/tsdbridge/tsdbridge/graphite/conf"
	"github.com/tsdbridge/tsdbridge/translate"
)

// ask sends a message, with GET as carbonapi does, and returns the answer.
func (w *web) ask(t *testing.T, path string, message []byte) (int, []byte) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path+"?format=carbonapi_v3_pb", bytes.NewReader(message))
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
	small := question(map[protowire.Number]any{1: "a.b", 2: at - 1, 3: at + 240, 7: 2}) // points are not made fewer
	again := series
	again.Expression = "a.b"
	if code, got := w.ask(t, "/render", append(fetch, small...)); code != 200 || !bytes.Equal(got, again.Append(series.Append(nil))) {
		t.Errorf("two: %d %x", code, got)
	}
	if out := w.get(fmt.Sprintf("/render?format=carbonapi_v3_pb&target=a.b&from=%d&until=%d", at-1, at+240)); !bytes.Equal(out.Body.Bytes(), again.Append(nil)) {
		t.Errorf("without a message: %d %x", out.Code, out.Body)
	}
	pattern := func(p string) []byte {
		return protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), p)
	}
	all, none := carbonapi.Glob{Pattern: "a.*", Matches: []carbonapi.Match{{Path: "a.b", Leaf: true}, {Path: "a.c"}}}, carbonapi.Glob{Pattern: "x.*"}
	if code, got := w.ask(t, "/metrics/find/", append(pattern("a.*"), pattern("x.*")...)); code != 200 || !bytes.Equal(got, none.Append(all.Append(nil))) {
		t.Errorf("find: %d %x", code, got)
	}
	if out := w.get("/metrics/find?format=carbonapi_v3_pb&query=a.*"); !bytes.Equal(out.Body.Bytes(), all.Append(nil)) {
		t.Errorf("find without a message: %d %x", out.Code, out.Body)
	}
	if code, got := w.ask(t, "/_internal/capabilities/", nil); code != 200 || !bytes.Contains(got, []byte("carbonapi_v3_pb")) {
		t.Errorf("capabilities: %d %x", code, got)
	}
	w.Points(t, "a.e", []int64{at * 1000})
	later := again
	later.AskedStart, later.Start, later.Values = at, at+60, series.Values[1:]
	both := append(fetch, question(map[protowire.Number]any{1: "a.b", 2: at, 3: at + 240})...) // a.e is not asked for, though a.* is the expression
	if code, got := w.ask(t, "/render", append(both, fetch...)); code != 200 || !bytes.Equal(got, series.Append(later.Append(series.Append(nil)))) {
		t.Errorf("other times: %d %x", code, got)
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
}

// TestCarbonAPINames: a name is that of a series, although it would not be all of a target.
func TestCarbonAPINames(t *testing.T) {
	w := newWeb(t)
	const at = webNow - webNow%60 - 600
	for _, name := range []string{"x;path=/a(b)", "x;path=c d", "ж.b", "a.b"} {
		w.AddLabels(t, translate.PathLabels(name))
		w.Points(t, name, []int64{at * 1000, (at + 60) * 1000})
		_, got := w.ask(t, "/render/", question(map[protowire.Number]any{1: name, 2: at - 1, 3: at + 100, 5: "an expression"}))
		if !bytes.Contains(got, []byte(name)) || !bytes.Contains(got, []byte("an expression")) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestInfo: /info tells how series are kept. The messages were written by the generated code of
// github.com/go-graphite/protocol v1.0.0.
func TestInfo(t *testing.T) {
	w := newWeb(t, func(o *Options) {
		var err error
		if o.Schemas, err = conf.ParseSchemas("storage-schemas.conf", "[all]\npattern = ^a\nretentions = 10s:1d,60s:5y\n"); err != nil {
			t.Fatal(err)
		}
		if o.Aggregation, err = conf.ParseAggregations("storage-aggregation.conf", "[max]\npattern = max$\naggregationMethod = max\nxFilesFactor = 0.3\n"); err != nil {
			t.Fatal(err)
		}
	})
	for _, name := range []string{"a.b", "a.max", "other"} {
		w.Points(t, name, []int64{webNow * 1000, webNow*1000 + 60_000})
	}
	message := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "a.b")
	const one = "0a03612e62120741766572616765188083984b250000003f2a05080a10c0432a07083c10a0b3a001"
	if code, got := w.ask(t, "/info/", message); code != 200 || hex.EncodeToString(got) != "0a28"+one {
		t.Errorf("carbonapi_v3_pb: %d %x", code, got)
	}
	for url, want := range map[string]string{
		"/info?target=a.b&format=carbonapi_v3_pb": "0a28" + one,
		"/info?target=a.b&format=protobuf":        one,
		"/info/?target=a.b&format=msgpack":        one,
	} {
		if got := hex.EncodeToString(w.get(url).Body.Bytes()); got != want {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
	for url, want := range map[string]string{
		"/info?target=a.b&target=a.max&format=json": `{"metrics": [{"name": "a.b", "consolidationFunc": "Average", "xFilesFactor": 0.5, "maxRetention": "157680000", "retentions": [` +
			`{"secondsPerPoint": "10", "numberOfPoints": "8640"}, {"secondsPerPoint": "60", "numberOfPoints": "2628000"}]}, ` +
			`{"name": "a.max", "consolidationFunc": "Max", "xFilesFactor": 0.3, "maxRetention": "157680000", "retentions": [` +
			`{"secondsPerPoint": "10", "numberOfPoints": "8640"}, {"secondsPerPoint": "60", "numberOfPoints": "2628000"}]}]}`,
		"/info?target=other&format=json": `{"metrics": [{"name": "other", "consolidationFunc": "Average", "xFilesFactor": 0.5, "maxRetention": "2147483640", "retentions": [` +
			`{"secondsPerPoint": "60", "numberOfPoints": "35791394"}]}]}`,
	} {
		if got := w.get(url).Body.String(); got != want {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
	for url, code := range map[string]int{"/info?format=json": 400, "/info?target=a.b&format=xml": 400, "/info?target=a.*&format=json": 404, "/info?target=a.b&target=no.such&format=json": 404, "/info?target=a.b": 404} {
		if got := w.get(url); got.Code != code {
			t.Errorf("%s: %d %s", url, got.Code, got.Body)
		}
	}
}
