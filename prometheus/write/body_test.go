package write

import (
	"bytes"
	"encoding/binary"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/klauspost/compress/snappy"

	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/prometheus/writelimits"
)

// goodV1 and goodV2 are bodies of one sample each, ready to be sent.
func goodV1(t testing.TB) []byte {
	q, err := promtest.ParseWrite(`{__name__="up", job="a"} 1@1000`)
	if err != nil {
		t.Fatal(err)
	}
	m := q.V1()
	return snappy.Encode(nil, promtest.Marshal(t, &m))
}

func goodV2(t testing.TB) []byte {
	q, err := promtest.ParseWrite(`{__name__="up", job="a"} 1@1000`)
	if err != nil {
		t.Fatal(err)
	}
	m := q.V2()
	return snappy.Encode(nil, promtest.Marshal(t, &m))
}

const stored = "up{job=a} 1@1000\n"

func TestRemoteWriteNegotiation(t *testing.T) {
	const (
		none = "none"
		v2   = "application/x-protobuf;proto=io.prometheus.write.v2.Request"
	)
	for _, c := range []struct {
		contentType, encoding string
		body                  []byte
		want, stored          string
	}{
		{none, none, goodV1(t), "204", stored},
		{none, "snappy", goodV1(t), "204", stored},
		{"application/x-protobuf", "snappy", goodV1(t), "204", stored},
		{"Application/X-Protobuf", "snappy", goodV1(t), "204", stored},
		{"application/x-protobuf;proto=prometheus.WriteRequest", "snappy", goodV1(t), "204", stored},
		{`application/x-protobuf; charset=utf-8; proto="prometheus.WriteRequest"`, "snappy", goodV1(t), "204", stored},
		{v2, "snappy", goodV2(t), "204 written 1/0/0", stored},
		{v2, none, goodV2(t), "204 written 1/0/0", stored},
		{"application/x-protobuf; proto=io.prometheus.write.v2.Request", "snappy", goodV2(t), "204 written 1/0/0", stored},
		{`application/x-protobuf;proto="io.prometheus.write.v2.Request"`, "snappy", goodV2(t), "204 written 1/0/0", stored},
		// Each version's message is empty when it is read as the other version.
		{"application/x-protobuf", "snappy", goodV2(t), "204", "nothing\n"},
		{v2, "snappy", goodV1(t), "204 written 0/0/0", "nothing\n"},
		{"application/x-protobuf;proto=io.prometheus.write.v3.Request", "snappy", goodV2(t), "415", ""},
		{"application/x-protobuf;proto=", "snappy", goodV1(t), "415", ""},
		{"application/x-protobuf;proto=a;proto=b", "snappy", goodV1(t), "415", ""},
		{"application/json", "snappy", []byte("{}"), "415", ""},
		{"text/plain", none, []byte("up 1"), "415", ""},
		{";", none, goodV1(t), "415", ""},
		{"application/x-protobuf", "Snappy", goodV1(t), "415", ""},
		{v2, "gzip", goodV2(t), "415", ""},
		{v2, "zstd", []byte("garbage"), "415", ""},
	} {
		d := newTestDoor(nil)
		var headers []string
		if c.contentType != none {
			headers = append(headers, "Content-Type", c.contentType)
		}
		if c.encoding != none {
			headers = append(headers, "Content-Encoding", c.encoding)
		}
		got := describe(t, d.post(c.body, headers...))
		if c.want == "415" {
			got, _, _ = strings.Cut(got, " ")
			c.stored = "nothing\n"
		}
		if got != c.want || d.store.String() != c.stored {
			t.Errorf("content type %q, encoding %q: %s, stored %s; want %s, stored %s", c.contentType, c.encoding, got, d.store, c.want, c.stored)
		}
	}
}

func TestRemoteWriteMethods(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete} {
		w := httptest.NewRecorder()
		newTestDoor(nil).ServeHTTP(w, httptest.NewRequest(method, "/api/v1/write", bytes.NewReader(goodV1(t))))
		if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != http.MethodPost {
			t.Errorf("%s: %d, Allow %q", method, w.Code, w.Header().Get("Allow"))
		}
	}
}

// unread is a body that fails the test when it is read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.EOF
}

func TestRemoteWriteChecksHeadersBeforeBody(t *testing.T) {
	for _, change := range []func(*http.Request){
		func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") },
		func(r *http.Request) { r.Header.Set("Content-Encoding", "gzip") },
		func(r *http.Request) { r.ContentLength = 33 << 20 },
	} {
		r := httptest.NewRequest(http.MethodPost, "/", unread{t})
		change(r)
		w := httptest.NewRecorder()
		newTestDoor(nil).ServeHTTP(w, r)
		if w.Code != http.StatusUnsupportedMediaType && w.Code != http.StatusRequestEntityTooLarge {
			t.Errorf("status %d", w.Code)
		}
	}
}

func TestRemoteWriteBodies(t *testing.T) {
	var framed bytes.Buffer
	fw := snappy.NewBufferedWriter(&framed)
	if _, err := fw.Write(goodV1(t)); err != nil {
		t.Fatal(err)
	}
	if err := fw.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := snappy.Decode(nil, goodV1(t))
	if err != nil {
		t.Fatal(err)
	}
	small := func(l *Options) { l.BodyBytes, l.DecodedBytes = 100, 1000 }
	declares := func(n uint64) []byte { return append(binary.AppendUvarint(nil, n), 0) }
	many := goodV1(t)
	for _, c := range []struct {
		name   string
		body   []byte
		limits func(*Options)
		want   string
	}{
		{"snappy of nothing", snappy.Encode(nil, nil), nil, "204"},
		{"empty body", nil, nil, "400"},
		{"raw protobuf", raw, nil, "400"},
		{"framed snappy", framed.Bytes(), nil, "400"},
		{"cut off", goodV1(t)[:20], nil, "400"},
		{"two bodies", append(many, many...), nil, "400"},
		{"claims 2 GiB", declares(2 << 30), nil, "400"},
		{"claims 2^40", declares(1 << 40), nil, "400"},
		{"claims more than it can hold", declares(30 << 20), nil, "400"},
		{"compressed too long", make([]byte, 101), small, "413"},
		{"compressed just right, decoded too long", snappy.Encode(nil, make([]byte, 1001)), small, "400"},
		{"not protobuf", snappy.Encode(nil, []byte("not protobuf at all")), nil, "400"},
		{"cut off protobuf", snappy.Encode(nil, raw[:len(raw)-1]), nil, "400"},
		{"too many series", snappy.Encode(nil, bytes.Repeat([]byte{0x0a, 0x00}, 3)), func(l *Options) { l.RequestSeries = 2 }, "400"},
		{"too many samples", snappy.Encode(nil, append([]byte{0x0a, 6}, bytes.Repeat([]byte{0x12, 0x00}, 3)...)), func(l *Options) { l.RequestData = 2 }, "400"},
		{"a very long label", goodV1(t), func(l *Options) { l.SeriesBytes = 13 }, "400"},
		{"a label just right", goodV1(t), func(l *Options) { l.SeriesBytes = 14 }, "204"},
	} {
		d := newTestDoor(c.limits)
		got := describe(t, d.post(c.body))
		if status, text, _ := strings.Cut(got, " "); status != c.want || (text == "") != (status == "204") {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if got := d.store.String(); got != "nothing\n" && c.want != "204" {
			t.Errorf("%s: stored %s", c.name, got)
		}
	}
}

// One symbol of 1 MiB with many references to it is a small message: its expansion is never built.
func TestRemoteWriteSymbolBomb(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"series":  func(l *Options) { l.SeriesBytes = 4000 },
		"request": func(l *Options) { l.LabelBytes = 200_000 },
	} {
		q, err := promtest.ParseWrite(strings.Repeat(`{__name__="up", job="`+strings.Repeat("x", 4000)+"\"} 1@1000\n", 100))
		if err != nil {
			t.Fatal(err)
		}
		m := q.V2()
		d := newTestDoor(change)
		if got := describe(t, d.send(version2, promtest.Marshal(t, &m))); !strings.HasPrefix(got, "400 written 0/0/0") || d.store.String() != "nothing\n" {
			t.Errorf("%s: %s, stored %s", name, got, d.store)
		}
	}
}

func TestDecodeBodyUsesItsMemory(t *testing.T) {
	in := writelimits.New(writelimits.Options{Requests: 1, InFlightBytes: 1 << 20})
	dst := make([]byte, 0, 4096)
	out, err := decodeBody(dst, goodV1(t), 4096, in.Share())
	if err != nil || &out[0] != &dst[:1][0] {
		t.Errorf("decodeBody: %v, other memory: %v", err, &out[0] != &dst[:1][0])
	}
	if got := in.Gate().Bytes(); got != int64(len(out)) {
		t.Errorf("%d bytes in flight, want %d", got, len(out))
	}
}

// Whatever is posted, the status is one of the intended ones, and the counters add up.
func FuzzRemoteWrite(f *testing.F) {
	v1, v2 := sampleV1(), sampleV2()
	f.Add(false, promtest.Marshal(f, &v1))
	f.Add(true, promtest.Marshal(f, &v2))
	for _, b := range oddBodies() {
		f.Add(false, b)
		f.Add(true, b)
	}
	f.Fuzz(func(t *testing.T, second bool, message []byte) {
		d := newTestDoor(nil)
		v := version1
		if second {
			v = version2
		}
		res := d.send(v, message)
		text := describe(t, res)
		if res.StatusCode != http.StatusNoContent && res.StatusCode != http.StatusBadRequest || len(text) > maxAnswer+100 {
			t.Errorf("%d bytes of answer: %s", len(text), text)
		}
		checkCounters(t, d)
	})
}
