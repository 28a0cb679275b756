package jackson

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// all has a field of each kind, as the class of testdata/Record.java.
type all struct {
	s  *string
	b  bool
	i  int
	l  int64
	d  float64
	f  any
	ls []*string
	ms map[string]*string
	o  *all
	lo []*all
}

func newAll() all {
	unset := "unset"
	return all{s: &unset, i: 7, l: 7, d: 7}
}

func (a *all) read() Reader { return Strict(a.fields()) }

func (a *all) fields() Fields {
	one := func(to **all) Reader { return Pointer(to, newAll, (*all).read) }
	return Fields{
		"s": TextOrNull(&a.s), "b": Bool(&a.b), "i": Int(&a.i), "l": Long(&a.l), "d": Double(&a.d), "ls": List(&a.ls, TextOrNull[string]), "ms": Texts(&a.ms),
		"o": one(&a.o), "lo": List(&a.lo, one),
	}
}

// shown returns a value as Jackson prints it.
func (a *all) shown() map[string]any {
	var o any
	if a.o != nil {
		o = a.o.shown()
	}
	var lo any
	if a.lo != nil {
		list := []any{}
		for _, one := range a.lo {
			if one == nil {
				list = append(list, nil)
			} else {
				list = append(list, one.shown())
			}
		}
		lo = list
	}
	return map[string]any{"s": a.s, "b": a.b, "i": a.i, "l": a.l, "d": number(a.d), "f": a.f, "ls": a.ls, "lf": nil, "ms": a.ms, "o": o, "lo": lo}
}

// number is a number, or text for one that JSON does not have.
func number(f float64) any {
	switch text := fmt.Sprint(f); text {
	case "NaN":
		return text
	case "+Inf":
		return "Infinity"
	case "-Inf":
		return "-Infinity"
	}
	return f
}

// TestAsJackson compares with what a TSD's own Jackson read (testdata/Record.java).
func TestAsJackson(t *testing.T) {
	f, err := os.Open("testdata/jackson.tsv.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for s := bufio.NewScanner(lines); s.Scan(); {
		part := strings.Split(s.Text(), "\t")
		kind, sent, want := part[0], unquote(t, part[1]), part[2]
		if kind == "f" || kind == "lf" { // nobody wants a number that may be null
			continue
		}
		n++
		text := sent
		if kind != "doc" {
			text = `{"` + kind + `":` + sent + `}`
		}
		var a *all
		err := Read([]byte(text), Pointer(&a, newAll, (*all).read))
		if (err != nil) != (want == "error") {
			t.Errorf("%s %q: %v, Jackson has %s", kind, sent, err, want)
			continue
		}
		if err == nil {
			compare(t, kind, sent, a, want)
		}
	}
	if n < 400 {
		t.Errorf("%d lines", n)
	}
}

// unquote returns what a line has in the escapes of JSON.
func unquote(t *testing.T, s string) string {
	text, err := strconv.Unquote(`"` + strings.ReplaceAll(s, `"`, `\"`) + `"`)
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return text
}

func compare(t *testing.T, kind, sent string, a *all, want string) {
	t.Helper()
	var shown any
	switch {
	case a == nil:
	case kind == "doc":
		shown = a.shown()
	default:
		shown = a.shown()[kind]
	}
	text, err := json.Marshal(shown)
	if err != nil {
		t.Fatal(err)
	}
	if got, wanted := plain(t, string(text)), plain(t, strings.ReplaceAll(want, `\\`, `\`)); !reflect.DeepEqual(got, wanted) {
		t.Errorf("%s %q: %s, Jackson has %s", kind, sent, text, want)
	}
}

func plain(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// TestStandard: documents are read by others, whose JSON is that of the standard.
func TestStandard(t *testing.T) {
	for text, want := range map[string]string{
		` {"a" : NaN, "b":[1.50,true,null,"x\n\u00e9",{}, -Infinity ] } trailing`: `{"a":"NaN","b":[1.50,true,null,"x\n\u00e9",{},"-Infinity"]}`,
		`{"a":1}{"b":2}`: `{"a":1}`,
		`"true" x`:       `"true"`,
		`null`:           `null`,
		`[]]`:            `[]`,
	} {
		got, err := Standard([]byte(text))
		if err != nil || string(got) != want || !json.Valid(got) {
			t.Errorf("%s: %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", " ", "{", `{"a":INF}`, `{"a":01}`, "\ufeff{}", strings.Repeat("[", 600)} {
		if got, err := Standard([]byte(text)); err == nil {
			t.Errorf("%q: %s", text, got)
		}
	}
}

// FuzzStandard: what is read is JSON, also of damaged texts.
func FuzzStandard(f *testing.F) {
	f.Add(`{"a":[NaN,"\ud83d",1e5]} x`)
	f.Fuzz(func(t *testing.T, text string) {
		if got, err := Standard([]byte(text)); err == nil && !json.Valid(got) {
			t.Errorf("%q: %q", text, got)
		}
	})
}
