package write

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
)

// testDoor is a handler over a store that records.
type testDoor struct {
	http.Handler
	store    *recordingStore
	registry *prometheus.Registry
}

func newTestDoor(change func(*Options)) testDoor {
	o := DefaultOptions()
	if change != nil {
		change(&o)
	}
	d := testDoor{store: newRecordingStore(), registry: prometheus.NewPedanticRegistry()}
	o.Appender, o.Metadata, o.Names = d.store, d.store, plainNames{}
	o.Logger, o.Registerer, o.Now = slog.New(slog.DiscardHandler), d.registry, promtest.Now
	d.Handler = New(o)
	return d
}

// post sends a body as it is. Headers are name, value, ...
func (d testDoor) post(body []byte, headers ...string) *http.Response {
	r := httptest.NewRequest(http.MethodPost, "/api/v1/write", bytes.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w.Result()
}

// send sends a message as its version demands.
func (d testDoor) send(v version, message []byte) *http.Response {
	contentType := "application/x-protobuf"
	if v == version2 {
		contentType += ";proto=" + protoV2
	}
	return d.post(snappy.Encode(nil, message), "Content-Type", contentType, "Content-Encoding", "snappy")
}

// describe formats what a client sees of an answer.
func describe(t testing.TB, res *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	out := strconv.Itoa(res.StatusCode)
	if n := res.Header.Get("X-Prometheus-Remote-Write-Samples-Written"); n != "" {
		out += fmt.Sprintf(" written %s/%s/%s", n, res.Header.Get("X-Prometheus-Remote-Write-Histograms-Written"), res.Header.Get("X-Prometheus-Remote-Write-Exemplars-Written"))
	}
	return strings.TrimSpace(out + " " + string(text))
}

// TestRemoteWrite runs testdata/remote_write. A case is one request, sent as 1.0, as 2.0 or as
// both, each to a store of its own:
//
//	write [1|2]         both without a number
//	{__name__="up", job="a"} 1@1000 ...
//	metadata counter "family" "help" "unit"
//	----
//	what is answered, then what is stored
//
// A datum is value@milliseconds, value@milliseconds<start, int:NAME@..., float:NAME@... (a
// histogram of testHistograms), ex:{labels}=value@milliseconds or meta:type,"help","unit". Values
// are Go floats or nan:BITS.
func TestRemoteWrite(t *testing.T) {
	datadriven.RunTest(t, "testdata/remote_write", func(t *testing.T, d *datadriven.TestData) string {
		req, err := promtest.ParseWrite(d.Input)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		v1, v2 := newTestDoor(nil), newTestDoor(nil)
		answer1 := func() string { m := req.V1(); return describe(t, v1.send(version1, promtest.Marshal(t, &m))) }
		answer2 := func() string { m := req.V2(); return describe(t, v2.send(version2, promtest.Marshal(t, &m))) }
		switch {
		case d.HasArg("1"):
			return answer1() + "\n" + v1.store.String()
		case d.HasArg("2"):
			return answer2() + "\n" + v2.store.String()
		}
		out := "1.0: " + answer1() + "\n2.0: " + answer2() + "\n"
		if one, two := v1.store.String(), v2.store.String(); one != two {
			return out + "1.0: " + one + "2.0: " + two
		}
		return out + v1.store.String()
	})
}
