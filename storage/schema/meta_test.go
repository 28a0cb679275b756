package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tsdbridge/tsdbridge/storage"
)

// TestDocuments runs the data file about the JSON documents:
//
//	uidmeta, tsmeta, annotation  a document -> its fields; if printing it again gives other bytes, those
//	fresh                        -> the documents of a new metric and a new series
func TestDocuments(t *testing.T) {
	datadriven.RunTest(t, "testdata/documents", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "uidmeta":
			m, err := ParseUIDMeta([]byte(d.Input))
			return describeDocument(d.Input, m, m.AppendTo(nil), err)
		case "tsmeta":
			m, err := ParseTSMeta([]byte(d.Input))
			return describeDocument(d.Input, m, m.AppendTo(nil), err)
		case "annotation":
			a, err := ParseAnnotation([]byte(d.Input))
			return describeDocument(d.Input, a, AppendAnnotation(nil, a), err) + showAnnotation(d, a)
		case "fresh":
			u := UIDMeta{Type: "METRIC", Created: 1700000000}
			s := NewTSMeta([]byte{0, 0, 1, 0, 0, 1, 0, 0, 1}, 1700000000)
			return fmt.Sprintf("%s\n%s", u.AppendTo(nil), s.AppendTo(nil))
		}
		d.Fatalf(t, "unknown command")
		return ""
	})
}

// showAnnotation returns how the API shows an annotation, if a directive asks for it.
func showAnnotation(d *datadriven.TestData, a storage.Annotation) string {
	if !d.HasArg("shown") {
		return ""
	}
	return string(AppendShownAnnotation(nil, a)) + "\n"
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
		"é中😀\ufffd":          `"é中\uD83D\uDE00` + "\ufffd" + `"`,
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
	const want = `{"":"0","a":"1","b":"2","\uD83D\uDE00":"3","｡":"4"}`
	if got := string(appendMap(nil, m)); got != want {
		t.Errorf("appendMap = %s, want %s", got, want)
	}
}

// TestCustomIsOrderedLikeAHashMap: recorded of a TSD 2.4.1, which was sent the keys in the first order.
func TestCustomIsOrderedLikeAHashMap(t *testing.T) {
	for _, c := range []struct{ sent, stored string }{
		{`{"zebra":"1","apple":"2","mango":"3","kiwi":"4","plum":"5","fig":"6","date":"7"}`, `{"zebra":"1","plum":"5","date":"7","apple":"2","kiwi":"4","fig":"6","mango":"3"}`},
		{`{"x1":"1","x2":"2","x3":"3","AaAa":"a","BBBB":"b","AaBB":"c"}`, `{"x1":"1","x2":"2","x3":"3","AaAa":"a","BBBB":"b","AaBB":"c"}`},
		{`{"zebra":"1","apple":"2","mango":"3"}`, `{"zebra":"1","apple":"2","mango":"3"}`},
		{`{"d":"1","a":"2","e":"3"}`, `{"a":"2","d":"1","e":"3"}`},
		{`{"b":2,"a":"","c":true}`, `{"a":"","b":"2","c":"true"}`},
		{`{}`, `{}`},
		{`null`, `null`},
	} {
		m, err := ParseUIDMeta([]byte(`{"custom":` + c.sent + `}`))
		if got := string(m.Custom.AppendTo(nil)); err != nil || got != c.stored {
			t.Errorf("%s is stored as %s, %v, want %s", c.sent, got, err, c.stored)
		}
	}
}

func TestCustomWith(t *testing.T) {
	var c Custom
	for _, step := range []struct{ name, value, want string }{
		{"a", "", `{}`}, {"b", "1", `{"b":"1"}`}, {"a", "2", `{"a":"2","b":"1"}`}, {"b", "3", `{"a":"2","b":"3"}`}, {"c", "", `{"a":"2","b":"3"}`}, {"a", "", `{"b":"3"}`},
	} {
		before := string(c.AppendTo(nil))
		with := c.With(step.name, step.value)
		if got := string(with.AppendTo(nil)); got != step.want || string(c.AppendTo(nil)) != before {
			t.Errorf("%s with %s=%s is %s, want %s", before, step.name, step.value, got, step.want)
		}
		if c = with; c.Get(step.name) != step.value || c.Map()[step.name] != step.value {
			t.Errorf("Get(%s) = %q after With", step.name, c.Get(step.name))
		}
	}
}

func FuzzParseUIDMeta(f *testing.F) {
	f.Add(string(UIDMeta{Type: "METRIC", Created: 1356998400}.AppendTo(nil)))
	f.Add(`{"type":"TAGV","displayName":"a\u0001\ud83d\ude00","custom":{"b":"2","a":"<&>/"},"more":[1]}`)
	f.Add(`{"custom":{},"created":-1}`)
	f.Add(`null`)
	f.Add(`{"custom":{"zebra":1,"apple":null,"\ud83d\ude00":true,"AaAa":"","BBBB":"","apple":"2"},"x":{},"x":[ 1 ],"notes":null}`)
	f.Fuzz(func(t *testing.T, document string) {
		m, err := ParseUIDMeta([]byte(document))
		if err != nil {
			return
		}
		printed := m.AppendTo(nil)
		again, err := ParseUIDMeta(printed)
		if stable := again.AppendTo(nil); string(stable) != string(printed) {
			t.Errorf("%s is printed as %s the second time", printed, stable)
		}
		sort := cmpopts.SortSlices(func(a, b CustomKey) bool { return a.Name < b.Name })
		if diff := cmp.Diff(m, again, cmpopts.EquateNaNs(), sort); err != nil || diff != "" {
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
		if stable := again.AppendTo(nil); string(stable) != string(printed) {
			t.Errorf("%s is printed as %s the second time", printed, stable)
		}
		sort := cmpopts.SortSlices(func(a, b CustomKey) bool { return a.Name < b.Name })
		if diff := cmp.Diff(m, again, cmpopts.EquateNaNs(), sort); err != nil || diff != "" {
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
