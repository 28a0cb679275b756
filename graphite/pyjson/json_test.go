package pyjson

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// The wanted texts are those of Python 3.11's json.dumps and repr.
func TestJSONValues(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
	}{
		{nil, "null"},
		{true, "true"},
		{-12, "-12"},
		{1.0, "1.0"},
		{math.Copysign(0, -1), "-0.0"},
		{0.1, "0.1"},
		{1e15, "1000000000000000.0"},
		{123456789012345.0, "123456789012345.0"},
		{1e16, "1e+16"},
		{9999999999999998.0, "9999999999999998.0"},
		{1e22, "1e+22"},
		{-1e-5, "-1e-05"},
		{0.0001, "0.0001"},
		{5e-324, "5e-324"},
		{math.MaxFloat64, "1.7976931348623157e+308"},
		{math.NaN(), "null"},
		{math.Inf(1), "1e9999"},
		{math.Inf(-1), "-1e9999"},
		{"a\"\\/\b\f\n\r\t\x01\x7f<é€😀", `"a\"\\/\b\f\n\r\t\u0001` + "\x7f" + `<\u00e9\u20ac\ud83d\ude00"`},
		{"\xff", `"\ufffd"`},
		{[]string{}, "[]"},
		{[]any{1, "x", []any{}}, `[1, "x", []]`},
		{Object{}, "{}"},
		{Object{{"a", []string{"b"}}, {"c", Object{{"d", nil}}}}, `{"a": ["b"], "c": {"d": null}}`},
	} {
		var j Writer
		j.Value(c.value)
		if got := string(j.Buf); got != c.want {
			t.Errorf("value(%v) = %s, want %s", c.value, got, c.want)
		}
	}
}

func TestJSONPretty(t *testing.T) {
	j := Writer{Pretty: true, Raw: true}
	j.Value([]any{Object{{"a", []string{"é\n"}}, {"b", Object{}}}, []any{}, 1})
	want := "[\n  {\n    \"a\": [\n      \"é\\n\"\n    ],\n    \"b\": {}\n  },\n  [],\n  1\n]"
	if got := string(j.Buf); got != want {
		t.Errorf("pretty:\n%s\nwant\n%s", got, want)
	}
}

// A body is written in pieces, without losing or misplacing one.
func TestJSONChunks(t *testing.T) {
	var out bytes.Buffer
	j := New(&out)
	j.Open('[')
	for i := range 100_000 {
		j.Int(int64(i))
	}
	j.Shut(']')
	j.Flush()
	var got []int
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	for i, n := range got {
		if i != n {
			t.Fatalf("item %d is %d", i, n)
		}
	}
	if len(got) != 100_000 {
		t.Errorf("%d items", len(got))
	}
}

// FuzzJSONString checks that texts and numbers come back from JSON unchanged.
func FuzzJSONString(f *testing.F) {
	f.Add("a", 1.5)
	f.Add("\x00\ud7ff\U0010ffff\"\\", 1e300)
	f.Add("\xff\xc0", -1e-7)
	f.Fuzz(func(t *testing.T, text string, v float64) {
		for _, raw := range []bool{false, true} {
			encoded := appendString(nil, text, raw)
			var back string
			if err := json.Unmarshal(encoded, &back); err != nil {
				t.Fatalf("%q as %s: %v", text, encoded, err)
			}
			if want := strings.ToValidUTF8(text, "\ufffd"); utf8.ValidString(text) && back != want {
				t.Errorf("%q as %s is %q", text, encoded, back)
			}
		}
		var j Writer
		j.Float(v)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return
		}
		back, err := strconv.ParseFloat(string(j.Buf), 64)
		if err != nil || math.Float64bits(back) != math.Float64bits(v) || !strings.ContainsAny(string(j.Buf), ".e") {
			t.Errorf("%v as %s is %v, %v", v, j.Buf, back, err)
		}
	})
}

func BenchmarkJSONPoints(b *testing.B) {
	j := New(discard{})
	b.ReportAllocs()
	for i := range b.N {
		j.Open('[')
		j.Float(float64(i) * 1.37)
		j.Int(1741050000 + int64(i))
		j.Shut(']')
	}
	b.SetBytes(30)
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
