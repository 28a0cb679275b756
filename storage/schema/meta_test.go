package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestDocuments runs the data file about the JSON documents:
//
//	uidmeta, tsmeta  a document -> its fields; if printing it again gives other bytes, those
//	fresh            -> the documents of a new metric and a new series
func TestDocuments(t *testing.T) {
	datadriven.RunTest(t, "testdata/documents", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "uidmeta":
			m, err := ParseUIDMeta([]byte(d.Input))
			return describeDocument(d.Input, m, m.AppendTo(nil), err)
		case "tsmeta":
			m, err := ParseTSMeta([]byte(d.Input))
			return describeDocument(d.Input, m, m.AppendTo(nil), err)
		case "fresh":
			u := UIDMeta{Type: "METRIC", Created: 1700000000}
			s := NewTSMeta([]byte{0, 0, 1, 0, 0, 1, 0, 0, 1}, 1700000000)
			return fmt.Sprintf("%s\n%s", u.AppendTo(nil), s.AppendTo(nil))
		}
		d.Fatalf(t, "unknown command")
		return ""
	})
}

func describeDocument(input string, m any, again []byte, err error) string {
	if err != nil {
		return "refused" // the words are encoding/json's
	}
	out := fmt.Sprintf("%+q\n", fmt.Sprintf("%+v", m))
	if string(again) != input {
		out += fmt.Sprintf("we would write %s\n", again)
	}
	return out
}

// TestNumbersAreJavas: expectations are what java.lang.Double.toString gives.
func TestNumbersAreJavas(t *testing.T) {
	for _, c := range []struct {
		f    float64
		want string
	}{
		{0, "0.0"},
		{math.Copysign(0, -1), "-0.0"},
		{1, "1.0"},
		{-0.5, "-0.5"},
		{100, "100.0"},
		{0.1, "0.1"},
		{0.001, "0.001"},
		{0.00099, "9.9E-4"},
		{9999999, "9999999.0"},
		{9999999.999999998, "9999999.999999998"},
		{1e7, "1.0E7"},
		{-12345678, "-1.2345678E7"},
		{1e10, "1.0E10"},
		{1e100, "1.0E100"},
		{1e-10, "1.0E-10"},
		{math.MaxFloat64, "1.7976931348623157E308"},
		{math.SmallestNonzeroFloat64, "4.9E-324"},
		{math.NaN(), `"NaN"`},
		{math.Inf(1), `"Infinity"`},
		{math.Inf(-1), `"-Infinity"`},
	} {
		got := string(appendDouble(nil, c.f))
		if got != c.want {
			t.Errorf("appendDouble(%v) = %s, want %s", c.f, got, c.want)
		}
		var d double
		if err := json.Unmarshal([]byte(got), &d); err != nil || !sameNumber(float64(d), c.f) {
			t.Errorf("parse %s = %v, %v, want %v", got, d, err, c.f)
		}
	}
}

func sameNumber(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b)
}

func TestStringsAreJacksons(t *testing.T) {
	for s, want := range map[string]string{
		"a/b<c>&'\u2028\x7F": `"a/b<c>&'` + "\u2028\x7F" + `"`,
		"\b\t\n\f\r\"\\":     `"\b\t\n\f\r\"\\"`,
		"\x00\x01\x0B\x1F":   `"\u0000\u0001\u000B\u001F"`,
		"é中😀":                `"é中😀"`,
		"a\xFFb":             `"a` + "\uFFFD" + `b"`,
		"":                   `""`,
	} {
		if got := string(appendString(nil, s)); got != want {
			t.Errorf("appendString(%q) = %s, want %s", s, got, want)
		}
	}
}

// TestCustomIsSortedLikeATreeMap: U+FF61 comes after the surrogates of U+1F600 in UTF-16, before it
// in UTF-8.
func TestCustomIsSortedLikeATreeMap(t *testing.T) {
	m := map[string]string{"\uFF61": "4", "\U0001F600": "3", "b": "2", "a": "1", "": "0"}
	const want = `{"":"0","a":"1","b":"2","😀":"3","｡":"4"}`
	if got := string(appendMap(nil, m)); got != want {
		t.Errorf("appendMap = %s, want %s", got, want)
	}
}

func FuzzParseUIDMeta(f *testing.F) {
	f.Add(string(UIDMeta{Type: "METRIC", Created: 1356998400}.AppendTo(nil)))
	f.Add(`{"type":"TAGV","displayName":"a\u0001\ud83d\ude00","custom":{"b":"2","a":"<&>/"},"more":[1]}`)
	f.Add(`{"custom":{},"created":-1}`)
	f.Add(`null`)
	f.Fuzz(func(t *testing.T, document string) {
		m, err := ParseUIDMeta([]byte(document))
		if err != nil {
			return
		}
		printed := m.AppendTo(nil)
		again, err := ParseUIDMeta(printed)
		if diff := cmp.Diff(m, again); err != nil || diff != "" {
			t.Errorf("%q prints as %s: %v\n%s", document, printed, err, diff)
		}
	})
}

func FuzzParseTSMeta(f *testing.F) {
	f.Add(string(NewTSMeta([]byte{0, 0, 1}, 1356998400).AppendTo(nil)))
	f.Add(`{"tsuid":"000001","custom":{"b":"2"},"retention":7,"max":1.0E10,"min":-0.5}`)
	f.Add(`{"max":"Infinity","min":4.9E-324}`)
	f.Fuzz(func(t *testing.T, document string) {
		m, err := ParseTSMeta([]byte(document))
		if err != nil {
			return
		}
		printed := m.AppendTo(nil)
		again, err := ParseTSMeta(printed)
		if diff := cmp.Diff(m, again, cmpopts.EquateNaNs()); err != nil || diff != "" {
			t.Errorf("%q prints as %s: %v\n%s", document, printed, err, diff)
		}
	})
}

// New series get the document that the general way makes.
func TestAppendNewTSMeta(t *testing.T) {
	for _, tsuid := range [][]byte{{0, 0, 1}, {0, 0, 1, 0xAB, 0xCD, 0xEF, 0xFF, 0x10, 0x09}} {
		want := NewTSMeta(tsuid, 1_356_998_400).AppendTo([]byte("before"))
		got := AppendNewTSMeta([]byte("before"), tsuid, 1_356_998_400)
		if string(got) != string(want) {
			t.Errorf("AppendNewTSMeta = %s, want %s", got, want)
		}
		if size := NewTSMetaSize(tsuid); len(got)-len("before") > size {
			t.Errorf("a document of %d bytes, at most %d were promised", len(got), size)
		}
	}
}
