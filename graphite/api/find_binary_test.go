package api

import (
	"encoding/hex"
	"strings"
	"testing"
)

// TestBinaryFind: the bytes of find in pickle and msgpack. Python's pickle and msgpack read of them what
// they read of graphite-web's, but for the intervals, which are said to be all times.
func TestBinaryFind(t *testing.T) {
	w := newWeb(t)
	w.Add(t, strings.NewReader("a.b.c 1 1741050010\na.d 2 1741050010\n"))
	for url, want := range map[string][]string{
		"/metrics/find?query=a.*&format=pickle": {
			"8002", "5d28", // a list
			"7d28", "5804000000", hex.EncodeToString([]byte("path")), "5803000000", hex.EncodeToString([]byte("a.b")),
			"5807000000", hex.EncodeToString([]byte("is_leaf")), "89", "75",
			"7d28", "5804000000", hex.EncodeToString([]byte("path")), "5803000000", hex.EncodeToString([]byte("a.d")),
			"5807000000", hex.EncodeToString([]byte("is_leaf")), "88",
			"5809000000", hex.EncodeToString([]byte("intervals")), "5d285d284700000000000000004741efffffffe000006565", "75",
			"65", "2e",
		},
		"/metrics/find?query=a.*&format=msgpack": {
			"92",
			"82", "a4", hex.EncodeToString([]byte("path")), "a3", hex.EncodeToString([]byte("a.b")), "a7", hex.EncodeToString([]byte("is_leaf")), "c2",
			"83", "a4", hex.EncodeToString([]byte("path")), "a3", hex.EncodeToString([]byte("a.d")), "a7", hex.EncodeToString([]byte("is_leaf")), "c3",
			"a9", hex.EncodeToString([]byte("intervals")), "9192cb0000000000000000cb41efffffffe00000",
		},
		"/metrics/find?query=nosuch&format=pickle":  {"80025d2e"},
		"/metrics/find?query=nosuch&format=msgpack": {"90"},
	} {
		got := w.get(url)
		if text := hex.EncodeToString(got.Body.Bytes()); text != strings.Join(want, "") || !strings.HasPrefix(got.Header().Get("Content-Type"), "application/") {
			t.Errorf("%s answers %d %s, want %s", url, got.Code, text, strings.Join(want, ""))
		}
	}
}
