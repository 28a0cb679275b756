package queries_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/opentsdb/tsdtest"
)

// TestCodings sends queries compressed and in chunks, and asks for compressed answers.
func TestCodings(t *testing.T) {
	address := tsdtest.Start(t)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = io.WriteString(w, `{"type":"metrics","q":"none"}`)
	_ = w.Close()
	var bomb bytes.Buffer
	w = gzip.NewWriter(&bomb)
	_, _ = io.Copy(w, io.LimitReader(strings.NewReader(strings.Repeat(" ", 64<<20)), 64<<20))
	_ = w.Close()
	for _, c := range []struct {
		name, coding string
		body         io.Reader
		status       int
	}{
		{"gzip", "gzip", bytes.NewReader(packed.Bytes()), http.StatusOK},
		{"chunks", "", struct{ io.Reader }{strings.NewReader(`{"type":"metrics"}`)}, http.StatusOK},
		{"a bomb", "gzip", &bomb, http.StatusRequestEntityTooLarge},
		{"no gzip", "gzip", strings.NewReader(`{"type":"metrics"}`), http.StatusBadRequest},
		{"cut", "gzip", bytes.NewReader(packed.Bytes()[:packed.Len()-5]), http.StatusBadRequest},
		{"unknown", "br", strings.NewReader("x"), http.StatusUnsupportedMediaType},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/api/suggest", c.body)
		if err != nil {
			t.Fatal(err)
		}
		if c.coding != "" {
			r.Header.Set("Content-Encoding", c.coding)
		}
		if status, _, text := tsdtest.Exchange(t, r); status != c.status {
			t.Errorf("%s: %d %s, want %d", c.name, status, text, c.status)
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/api/config/filters", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept-Encoding", "gzip") // the transport does not decompress then
	_, header, text := tsdtest.Exchange(t, r)
	unpacked, err := gzip.NewReader(strings.NewReader(text))
	if err != nil || header.Get("Content-Encoding") != "gzip" {
		t.Fatal(err, header)
	}
	if plain, err := io.ReadAll(unpacked); err != nil || !bytes.Contains(plain, []byte("literal_or")) {
		t.Errorf("%v: %s", err, plain)
	}
}
