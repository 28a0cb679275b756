package conf_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/opentsdb/conf"
)

// TestParse reads the forms that java.util.Properties has.
func TestParse(t *testing.T) {
	const text = "# comment\n  ! another\n\ntsd.network.port = 4242\r\ntsd.a:b\ntsd.b c d \n" +
		"tsd.long = one,\\\n    two,\\\n    three\ntsd.empty\ntsd.empty2=\n" +
		"tsd.esc\\=aped\\:\\ key = v\\t\\u00e9\\\\\n\\\n= nameless\ntsd.smile=\\ud83d\\ude00 \\ud83d\ntsd.last=x\\"
	got, err := conf.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	want := []conf.Property{
		{"tsd.network.port", "4242", 4},
		{"tsd.a", "b", 5},
		{"tsd.b", "c d ", 6},
		{"tsd.long", "one,two,three", 7},
		{"tsd.empty", "", 10},
		{"tsd.empty2", "", 11},
		{"tsd.esc=aped: key", "v\té\\", 12},
		{"", "nameless", 13},
		{"tsd.smile", "😀 \ufffd", 15},
		{"tsd.last", "x", 16},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{`a=\u12`, `a=\u12g4`, `\u=1`, "ok=1\na=\\u"} {
		if got, err := conf.Parse(bad); err == nil || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%q: %v, %v", bad, got, err)
		}
	}
}

// FuzzParse reads anything: lines grow, and no key has a separator that was not escaped.
func FuzzParse(f *testing.F) {
	f.Add("a=b\n# c\r\nd : e\\\n f\n\\u0041 x")
	f.Add("\\")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := conf.Parse(text)
		if err != nil {
			return
		}
		lines := 1 + strings.Count(text, "\n") + strings.Count(text, "\r")
		last := 0
		for _, p := range all {
			if p.Line <= last || p.Line > lines {
				t.Fatalf("%+v after line %d of %d", p, last, lines)
			}
			if last = p.Line; !strings.Contains(text, `\`) && strings.ContainsAny(p.Key, " \t\f=:\r\n") {
				t.Fatalf("key %q", p.Key)
			}
		}
	})
}
