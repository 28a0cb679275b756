package put

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	"github.com/tsdbridge/tsdbridge/opentsdb/jackson"
	"github.com/tsdbridge/tsdbridge/opentsdb/opentsdbtest"
)

func ask(api *Handler, method, target string, content io.Reader, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, content)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	api.ServeHTTP(w, r)
	return w
}

func answerOf(m *opentsdbtest.Memory, w *httptest.ResponseRecorder) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d", w.Code)
	if w.Body.Len() > 0 {
		b.WriteString(" " + w.Body.String())
	}
	b.WriteString("\n")
	for _, p := range m.Stored() {
		b.WriteString("> " + p + "\n")
	}
	return b.String()
}

func TestPut(t *testing.T) {
	datadriven.RunTest(t, "testdata/put", func(t *testing.T, d *datadriven.TestData) string {
		method, path := http.MethodPost, "/api/put"
		d.MaybeScanArgs(t, "method", &method)
		d.MaybeScanArgs(t, "path", &path)
		for _, arg := range d.CmdArgs {
			if arg.Key == "query" {
				path += "?" + strings.Join(arg.Vals, ",")
			}
		}
		m := opentsdbtest.NewMemory()
		m.Resolving = refuseNamed
		in := newTestIngest(m)
		api := NewHandler(DefaultHandlerOptions(), in, otherEndpoints(), nil)
		put := func() string {
			w := ask(api, method, path, strings.NewReader(d.Input))
			if got := w.Header().Get("Content-Type"); got != httpapi.ContentType {
				t.Errorf("%s: content type %q", d.Pos, got)
			}
			return answerOf(m, w)
		}
		first := put()
		// The series of the first request are in the cache now.
		if second := put(); second != first {
			t.Errorf("%s: put again: %s", d.Pos, cmp.Diff(first, second))
		}
		received, rejected := testutil.ToFloat64(in.http.Received), testutil.ToFloat64(in.http.Rejected)
		if written := testutil.ToFloat64(in.http.Written); received != written+rejected || int(written) != 2*strings.Count(first, "\n> ") {
			t.Errorf("%s: received %v, written %v, rejected %v", d.Pos, received, written, rejected)
		}
		return first
	})
}

const onePoint = `{"metric":"m","timestamp":1,"value":1,"tags":{"s":"a"}}`

func TestPutEncodings(t *testing.T) {
	m := opentsdbtest.NewMemory()
	o := DefaultHandlerOptions()
	o.BodyBytes = 4096
	api := NewHandler(o, newTestIngest(m), otherEndpoints(), nil)
	var gzipped, deflated, bomb bytes.Buffer
	for _, c := range []struct {
		w    io.WriteCloser
		text string
	}{{gzip.NewWriter(&gzipped), onePoint}, {zlib.NewWriter(&deflated), onePoint}, {gzip.NewWriter(&bomb), strings.Repeat(" ", 1<<20) + onePoint}} {
		if _, err := io.WriteString(c.w, c.text); err != nil {
			t.Fatal(err)
		}
		if err := c.w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		encoding, content string
		want              int
	}{
		{"gzip", gzipped.String(), 204},
		{"X-Gzip", gzipped.String(), 204},
		{"deflate", deflated.String(), 204},
		{"identity", onePoint, 204},
		{"gzip", onePoint, 400},
		{"gzip", gzipped.String()[:gzipped.Len()-9], 400},
		{"br", onePoint, 415},
		{"gzip", bomb.String(), 413},
		{"", onePoint + strings.Repeat(" ", 4096), 413},
	} {
		// An io.Reader without a length is sent in chunks.
		for _, reader := range []io.Reader{strings.NewReader(c.content), iotest.OneByteReader(strings.NewReader(c.content))} {
			w := ask(api, http.MethodPost, "/api/put", reader, "Content-Encoding", c.encoding)
			if w.Code != c.want {
				t.Errorf("encoding %q, %d bytes: %d %s, want %d", c.encoding, len(c.content), w.Code, w.Body, c.want)
			}
			if stored := len(m.Stored()); (stored == 1) != (c.want == 204) {
				t.Errorf("encoding %q, %d bytes: %d points stored", c.encoding, len(c.content), stored)
			}
		}
	}
	if got := api.gate.Bytes() + api.gate.Requests(); got != 0 {
		t.Errorf("the gate still counts %d", got)
	}
}

func TestPutLimits(t *testing.T) {
	m := opentsdbtest.NewMemory()
	o := DefaultHandlerOptions()
	o.Points, o.Requests = 2, 1
	api := NewHandler(o, newTestIngest(m), otherEndpoints(), nil)
	if w := ask(api, http.MethodPost, "/api/put", strings.NewReader("["+onePoint+","+onePoint+","+onePoint+"]")); w.Code != 413 || len(m.Stored()) != 0 {
		t.Errorf("three points: %d %s", w.Code, w.Body)
	}
	if w := ask(api, http.MethodPost, "/api/put", strings.NewReader("["+onePoint+","+onePoint+"]")); w.Code != 204 || len(m.Stored()) != 2 {
		t.Errorf("two points: %d %s", w.Code, w.Body)
	}
	api.gate.Enter()
	if w := ask(api, http.MethodPost, "/api/put", strings.NewReader(onePoint)); w.Code != 503 || w.Header().Get("Retry-After") == "" {
		t.Errorf("one request too many: %d, Retry-After %q", w.Code, w.Header().Get("Retry-After"))
	}
}

// Points that the store cannot take now are answered 503, whatever the request asks for, and the
// same request succeeds later.
func TestPutWhileTheStoreIsUnavailable(t *testing.T) {
	away := func() error { return opentsdbtest.ErrAway }
	for _, c := range []struct {
		name      string
		resolving func(string) error
		appending func() error
	}{{"resolve", func(string) error { return opentsdbtest.ErrAway }, nil}, {"append", nil, away}} {
		m := opentsdbtest.NewMemory()
		api := NewHandler(DefaultHandlerOptions(), newTestIngest(m), otherEndpoints(), nil)
		m.Set(c.resolving, c.appending)
		for _, target := range []string{"/api/put", "/api/put?summary", "/api/put?details&sync"} {
			w := ask(api, http.MethodPost, target, strings.NewReader(onePoint))
			if w.Code != 503 || w.Header().Get("Retry-After") == "" || len(m.Stored()) != 0 {
				t.Errorf("%s: %s: %d %s", c.name, target, w.Code, w.Body)
			}
			if target == "/api/put?details&sync" && !strings.Contains(w.Body.String(), "Storage exception: ") {
				t.Errorf("%s: %s: %s", c.name, target, w.Body)
			}
		}
		m.Set(nil, nil)
		if w := ask(api, http.MethodPost, "/api/put", strings.NewReader(onePoint)); w.Code != 204 || len(m.Stored()) != 1 {
			t.Errorf("%s: afterwards: %d %s", c.name, w.Code, w.Body)
		}
	}
}

// A request that times out is answered with that; its points may be stored all the same.
func TestPutTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := opentsdbtest.NewMemory()
		api := NewHandler(DefaultHandlerOptions(), newTestIngest(m), otherEndpoints(), nil)
		m.Set(nil, func() error {
			time.Sleep(time.Second)
			return nil
		})
		for _, c := range []struct{ flags, want string }{
			{"sync&sync_timeout=10", `{"error":{"code":400,"message":"The put call has timedout with 0 successful writes, 0 failed writes and 1 timed out writes.","details":"Please see the TSD logs or append \"details\" to the put request"}}`},
			{"sync&sync_timeout=10&summary", `{"failed":0,"success":0,"timeouts":1}`},
		} {
			w := ask(api, http.MethodPost, "/api/put?"+c.flags, strings.NewReader(onePoint))
			if w.Code != 400 || w.Body.String() != c.want {
				t.Errorf("%s: %d %s", c.flags, w.Code, w.Body)
			}
			if api.gate.Requests() != 1 {
				t.Error("a request that the store works on does not count any more")
			}
			time.Sleep(2 * time.Second)
			if stored := len(m.Stored()); stored != 1 || api.gate.Requests() != 0 || api.gate.Bytes() != 0 {
				t.Errorf("%s: %d points, %d requests at the end", c.flags, stored, api.gate.Requests())
			}
		}
	})
}

// A client that leaves stops neither its request nor those that were grouped with it.
func TestPutOfAClientThatIsGone(t *testing.T) {
	m := opentsdbtest.NewMemory()
	api := NewHandler(DefaultHandlerOptions(), newTestIngest(m), otherEndpoints(), nil)
	r := httptest.NewRequest(http.MethodPost, "/api/put", strings.NewReader(onePoint))
	w := httptest.NewRecorder()
	api.ServeHTTP(w, r.WithContext(cancelled(t)))
	if w.Code != 204 || len(m.Stored()) != 1 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// FuzzPut compares the walk over a body with encoding/json: what it accepts as JSON, and which
// points it finds.
func FuzzPut(f *testing.F) {
	for _, seed := range []string{
		onePoint, "[" + onePoint + "]", `[{"metric":"m\u0041","timestamp":"1","value":"1.5","tags":{"a":"b","c":1}},null,{}]`, `{"a":[1,2,{"b":null}],"metric":1}`,
		`[]`, `{"tags":{"a":"}"},"metric":"m","value":-1e-5,"timestamp":1e3}`, ` [ ] `, `{"metric":"m","tags":null,"tags":{}}`, `[{"x":"\ud83d\ude00"}]`,
		`[{"metric": "m", "timestamp": 1, "value": 1, "tags": {"s": "a"}}, {"tags":{"s":"a"},"value":-0.5e1,"timestamp":2,"metric":"m"}]`,
		`{"metric":"m","timestamp":1,"value":01,"tags":{"s":"a"}}`, `{"metric":"m","timestamp":1,"value":1.,"tags":{"s":"a"},"value":2}`,
		`{"metric":"m\"","timestamp":1,"value":1,"tags":{"s":"}"}}`, `[{"metric":"m","timestamp":1,"value":1,"tags":{"s":"a"}},]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m := opentsdbtest.NewMemory()
		in := newTestIngest(m)
		first := walkOf(t, in, m, text, false)
		if second := walkOf(t, in, m, text, false); first != second {
			t.Errorf("the same body again: %s", cmp.Diff(first, second))
		}
		if careful := walkOf(t, in, m, text, true); first != careful {
			t.Errorf("without the short way: %s", cmp.Diff(careful, first))
		}
		if words.Match(text) {
			return
		}
		if walked := !strings.HasPrefix(first, "no JSON"); walked && !json.Valid(text) {
			t.Errorf("%q is taken for JSON: %s", text, first)
		} else if !walked && wellShaped(text) {
			t.Errorf("%q is not taken: %s", text, first)
		}
	})
}

func walkOf(t *testing.T, in *Store, m *opentsdbtest.Memory, text []byte, careful bool) string {
	j := in.job(&in.http)
	defer j.Release()
	p := walker{job: j, limit: 1000, careful: careful, Scanner: jackson.Scanner{B: bytes.Clone(text)}}
	if err := p.walk(); err != nil {
		return "no JSON: " + err.Error()
	}
	if err := in.Store(t.Context(), j.Job); err != nil {
		t.Fatal(err)
	}
	j.EachRefused(p.refuseUnknown)
	var b strings.Builder
	fmt.Fprintln(&b, p.points, len(p.bad), m.Stored())
	for _, bad := range p.bad {
		shown, err := json.Marshal(echo(p.B[bad.from:bad.to], false))
		fmt.Fprintf(&b, "%s %v %v\n", shown, bad.err, err)
	}
	return b.String()
}

// wellShaped reports whether encoding/json reads text as points, without anything that only Jackson
// accepts.
func wellShaped(text []byte) bool {
	var points []*struct {
		Metric, Value *string
		Timestamp     *uint32
		Tags          map[string]*string
	}
	text = bytes.Trim(text, " \n\t\r")
	if len(text) > 0 && text[0] == '{' {
		text = []byte("[" + string(text) + "]")
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	if len(text) == 0 || text[0] != '[' || decoder.Decode(&points) != nil || len(points) > 1000 {
		return false
	}
	_, err := decoder.Token()
	return errors.Is(err, io.EOF) && bytes.Count(text, []byte{'['})+bytes.Count(text, []byte{'{'}) < jackson.MaxDepth
}
