package put

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/opentsdb/jackson"
	"github.com/tsdbridge/tsdbridge/opentsdb/opentsdbtest"
)

// edits yields each text that is one byte away from text.
func edits(text string, yield func([]byte)) {
	for i := range len(text) + 1 {
		for _, c := range []byte("\"\\{}[],: \n\r\t\x00.-+eE019am=\x80") {
			yield([]byte(text[:i] + string([]byte{c}) + text[i:]))
			if i < len(text) {
				yield([]byte(text[:i] + string([]byte{c}) + text[i+1:]))
			}
		}
		if i < len(text) {
			yield([]byte(text[:i] + text[i+1:]))
			yield([]byte(text[:i]))
		}
	}
}

// A body that is nearly plain means the same to the fast parser and to the careful one.
func TestPlainPointsAsCarefulParser(t *testing.T) {
	for _, text := range []string{
		`[{"metric":"m","timestamp":1,"value":1,"tags":{"s":"a"}},{"metric":"m","timestamp":1356998400500,"value":-10.25e-1,"tags":{"s":"a"}}]`,
		`[{"tags": {"s":"a"}, "value": 0.5, "timestamp": 20, "metric": "m"}]`,
	} {
		m := opentsdbtest.NewMemory()
		in := newTestIngest(m)
		walkOf(t, in, m, []byte(text), true)
		p := walker{job: in.job(&in.http), Scanner: jackson.Scanner{B: []byte(text)}}
		p.job.Begin()
		if p.I = 1; !p.plain() {
			t.Errorf("%s is not plain", text)
		}
		p.job.End()
		edits(text, func(edited []byte) {
			fresh := opentsdbtest.NewMemory()
			want := walkOf(t, newTestIngest(fresh), fresh, edited, true)
			if got := walkOf(t, in, m, edited, false); got != want {
				t.Errorf("%s: %s", edited, cmp.Diff(want, got))
			}
		})
	}
}

// The same for lines of telnet.
func TestPlainPutsAsCarefulParser(t *testing.T) {
	for _, text := range []string{"put m 1356998400 42 a=b c=d\n", "put m 1356998400500 -1.5e2 a=b\r\n"} {
		if _, _, n := plainPut([]byte(text), 1024); n != len(text) {
			t.Errorf("%q is not plain", text)
		}
		edits(text, func(edited []byte) {
			line, _, ok := bytes.Cut(edited, []byte{'\n'})
			if ok {
				checkLine(t, line)
			}
		})
	}
	long := "put m 1 1 a=" + strings.Repeat("b", 1024)
	for _, end := range []string{"\n", "\r\n"} {
		if _, _, n := plainPut([]byte(long[:1024]+end), 1024); n == 0 {
			t.Errorf("a line of 1024 bytes and %q is not taken", end)
		}
		if _, _, n := plainPut([]byte(long[:1025]+end), 1024); n != 0 {
			t.Errorf("a line of 1025 bytes and %q is taken", end)
		}
	}
}
