package translate

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/storage"
)

func eachLine(lines []string, show func(line string) string) string {
	var out strings.Builder
	for _, line := range lines {
		out.WriteString(show(line) + "\n")
	}
	return out.String()
}

func showPath(path string) string {
	ls := PathLabels(path)
	out := ls.String()
	if IsPlain(ls) {
		out += " plain"
	}
	if name := LabelsPath(ls); name != path {
		out += " is " + name
	}
	return out
}

func showName(ls labels.Labels) string {
	name := LabelsPath(ls)
	out := name + "\n"
	if back := PathLabels(name); !labels.Equal(back, ls.WithoutEmpty()) {
		out += "comes back as " + back.String() + "\n"
	}
	return out
}

// Any label set has a Graphite name of its own that is read back as the same set.
func FuzzPathLabels(f *testing.F) {
	addSeeds(f, 1500)
	f.Fuzz(func(t *testing.T, data []byte) {
		in := &source{data}
		tr := in.translator(t)
		x, y := in.graphiteLabels(), in.graphiteLabels()
		px, py := LabelsPath(x), LabelsPath(y)
		if back := PathLabels(px); !labels.Equal(back, x) {
			t.Errorf("PathLabels(%q) = %v, want %v", px, back, x)
		}
		if (px == py) != labels.Equal(x, y) {
			t.Errorf("%v is named %q, %v %q", x, px, y, py)
		}
		if px == "" || !utf8.ValidString(px) {
			t.Errorf("LabelsPath(%v) = %q", x, px)
		}
		checkTranslated(t, tr, x)
	})
}

// Any text is the name of some labels, and they have one canonical name.
func FuzzPath(f *testing.F) {
	for _, path := range []string{
		"", "a", "a.b.c", ".a..b.", "a/b", "~", "~a", "~~a", "~;", "~;=x", "~;a=1", ";a=1", "a;b=1", "a;b=1;b=2", "a;name=b", "a;b", "a;b=",
		"a;b=~c", "a;__name__=b", "~a;%5F_name__=b", `a{b="c"}`, `a{b="c",d="e\"\\"}`, `a{b="c":,d="e"}`, `a;b{c="d"}`, `a;b=1{c="d"}`,
		`~{a="b"}`, `a{"}`, "~%41%2e%zz%", "~a.%2Eb", "a..b;c=d", "a;b=c d", "\xff", "~\xff", "a;\xff=1",
	} {
		f.Add(path)
	}
	for _, seed := range seeds(1500) {
		in := &source{seed}
		f.Add(in.graphiteText())
	}
	mixed, err := New(Rule{Pattern: "[^.]*[ab][^.]*", Mode: Compat})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, path string) {
		ls := PathLabels(path)
		checkSet(t, path, ls)
		name := LabelsPath(ls)
		if back := PathLabels(name); !labels.Equal(back, ls) {
			t.Errorf("PathLabels(%q) = %v, want that of %q, %v", name, back, path, ls)
		}
		for _, tr := range []*Translator{{limits: storedLimits}, mixed} {
			checkTranslated(t, tr, ls)
			if s := tr.FromPath(path); !cmp.Equal(s, tr.FromPath(name)) {
				t.Errorf("FromPath(%q) = %q, FromPath(%q) = %q", path, s, name, tr.FromPath(name))
			}
		}
	})
}

func checkSet(t *testing.T, path string, ls labels.Labels) {
	t.Helper()
	last := ""
	ls.Range(func(l labels.Label) {
		if l.Value == "" || l.Name <= last && last != "" {
			t.Errorf("PathLabels(%q) = %v: unsorted, twice or empty", path, ls)
		}
		last = l.Name
	})
}

// checkTranslated translates labels to a stored series and back, and checks which of them are plain
// there.
func checkTranslated(t *testing.T, tr *Translator, ls labels.Labels) {
	t.Helper()
	s := tr.FromLabels(ls)
	path := tr.ToPath(s)
	if path != LabelsPath(ls) || !cmp.Equal(tr.FromPath(path), s) {
		t.Errorf("ToPath(%q) = %q, want %q, which is stored as %q", s, path, LabelsPath(ls), tr.FromPath(path))
	}
	packed := slices.ContainsFunc(s.Tags, func(tag storage.Tag) bool { return tag.Key == PackedKey })
	if got, want := tr.Plain(s), IsPlain(ls) && !packed; got != want {
		t.Errorf("Plain(%q) = %t, want %t", s, got, want)
	}
	bare := len(s.Tags) == 1 && s.Tags[0] == storage.Tag{Key: bareKey, Value: bareValue}
	if tr.Plain(s) != (bare && s.Metric != noMetric) {
		t.Errorf("Plain(%q) = %t", s, tr.Plain(s))
	}
}

func TestPlain(t *testing.T) {
	tr := &Translator{limits: storedLimits}
	bare := []storage.Tag{{Key: bareKey, Value: bareValue}}
	for _, tt := range []struct {
		name string
		s    storage.Series
		want bool
	}{
		{"a path", storage.Series{Metric: "a.b", Tags: bare}, true},
		{"an escaped path", storage.Series{Metric: "a._-b_25", Tags: bare}, true},
		{"no name", storage.Series{Metric: noMetric, Tags: bare}, false},
		{"a tag", storage.Series{Metric: "a", Tags: []storage.Tag{{Key: "b", Value: "c"}}}, false},
		{"a tag of another value", storage.Series{Metric: "a", Tags: []storage.Tag{{Key: bareKey, Value: "2"}}}, false},
		{"two tags", storage.Series{Metric: "a", Tags: append([]storage.Tag{{Key: "b", Value: "c"}}, bare...)}, false},
		{"a foreign metric", storage.Series{Metric: "_-a", Tags: bare}, false},
		{"a packed name", tr.FromLabels(labels.FromStrings(nameLabel, strings.Repeat("x", 40_000))), false},
		{"nothing", storage.Series{}, false},
	} {
		if got := tr.Plain(tt.s); got != tt.want {
			t.Errorf("%s: Plain = %t, want %t", tt.name, got, tt.want)
		}
	}
	for _, tt := range []struct {
		ls   labels.Labels
		want bool
	}{
		{labels.EmptyLabels(), false},
		{labels.FromStrings(nameLabel, "a"), true},
		{labels.FromStrings(nameLabel, "a", "b", ""), true},
		{labels.FromStrings(nameLabel, ""), false},
		{labels.FromStrings("", "x"), false},
		{labels.FromStrings("a", "b"), false},
		{labels.FromStrings(nameLabel, "a", "b", "c"), false},
	} {
		if got := IsPlain(tt.ls); got != tt.want {
			t.Errorf("IsPlain(%v) = %t, want %t", tt.ls, got, tt.want)
		}
	}
}

// A name that is too long for a label has no labels, and causes no panic. A name that is that long
// only as a whole is like any other.
// Names without tags are read and written without labels, as they would be with them.
func TestPathsWithoutLabels(t *testing.T) {
	elements := []string{"a", "", ".", "..", "/", "_-", "_-b", "b c", ":", "é", "\xff", "~", ";", ";k=v", "=", `{k="v"}`, "old", "__name__", "_-_/"}
	for _, rules := range [][]Rule{nil, {{Pattern: "old.*", Mode: Compat}}} {
		tr, err := New(rules...)
		if err != nil {
			t.Fatal(err)
		}
		for _, first := range elements {
			for _, second := range elements {
				checkPathWithoutLabels(t, tr, first+"."+second)
				checkPathWithoutLabels(t, tr, first+second)
			}
		}
	}
}

func checkPathWithoutLabels(t *testing.T, tr *Translator, path string) {
	t.Helper()
	ls := PathLabels(path)
	own, ok := tr.FromAnyPath(path)
	if want := tr.FromLabels(ls); !cmp.Equal(own, want) || ok == ls.IsEmpty() {
		t.Errorf("FromAnyPath(%q) = %v, %v, want %v", path, own, ok, want)
	}
	bare := func(value string) storage.Series {
		return storage.Series{Metric: path, Tags: []storage.Tag{{Key: bareKey, Value: value}}}
	}
	for _, s := range []storage.Series{own, bare(bareValue), bare("2")} {
		ls := tr.ToLabels(s)
		if got, want := tr.ToPath(s), LabelsPath(ls); got != want {
			t.Errorf("ToPath(%v) = %q, want %q", s, got, want)
		}
		if got, want := tr.Plain(s), len(s.Tags) == 1 && s.Tags[0].Key == bareKey && IsPlain(ls); got != want {
			t.Errorf("Plain(%v) = %v", s, got)
		}
	}
}

func TestPathTooLong(t *testing.T) {
	long := strings.Repeat("x", maxLabelLength)
	for _, tt := range []struct {
		path string
		want int
	}{
		{"x" + long, 0},
		{"m;a=" + long, 2},
		{"m;a=x" + long, 0},
	} {
		if ls := PathLabels(tt.path); ls.Len() != tt.want {
			t.Errorf("PathLabels(%.5s...): %d labels, want %d", tt.path, ls.Len(), tt.want)
		}
	}
}

// The last of many tags of one key counts, in either spelling.
func TestPathManyTags(t *testing.T) {
	const n = 5000
	want := labels.FromStrings(nameLabel, "m", "a", "4999", "b", "4999")
	var carbon, openMetrics strings.Builder
	for i := range n {
		fmt.Fprintf(&carbon, ";a=%d;b=%d", i, i)
		fmt.Fprintf(&openMetrics, `a="%d",b="%d",`, i, i)
	}
	for _, path := range []string{"m" + carbon.String(), "m{" + openMetrics.String() + `b="4999"}`} {
		if ls := PathLabels(path); !labels.Equal(ls, want) {
			t.Errorf("PathLabels(%.10s...): %d labels, want %v", path, ls.Len(), want)
		}
	}
}
