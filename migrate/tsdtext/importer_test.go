package tsdtext

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
	"github.com/tsdbridge/tsdbridge/opentsdb/opentsdbtest"
	"github.com/tsdbridge/tsdbridge/opentsdb/put"
	"github.com/tsdbridge/tsdbridge/storage"
)

func testImporter(a storage.Appender) *Importer {
	return NewImporter(ImportOptions{Appender: a, AutoCreate: put.AutoCreate{Metrics: true, TagKeys: true, TagValues: true}, SeriesCache: 1000})
}

// Each line is a point, nothing, or bad.
func TestImportLine(t *testing.T) {
	for _, c := range []struct{ line, point, bad string }{
		{"sys.cpu 1356998400 42 host=a", "sys.cpu{host=a} 1356998400000 42i", ""},
		{"sys.cpu 1356998400 42 host=a\r", "sys.cpu{host=a} 1356998400000 42i", ""},
		{"put sys.cpu 1356998400 42 host=a", "sys.cpu{host=a} 1356998400000 42i", ""},
		{"put 1356998400 42 host=a", "put{host=a} 1356998400000 42i", ""},
		{"put put 1356998400 42.5 host=a", "put{host=a} 1356998400000 42.5", ""},
		{"put put 1356998400 1e3 host=a  dc=b", "put{dc=b,host=a} 1356998400000 1000", ""},
		{"sys.cpu 1356998400001 42.0 host=a", "sys.cpu{host=a} 1356998400001 42", ""},
		{"sys.cpu 1356998400.500 0.1 dc=b  host=a ", "sys.cpu{dc=b,host=a} 1356998400500 0.1", ""},
		{"sys.cpu 1 -9223372036854775808 host=a", "sys.cpu{host=a} 1000 -9223372036854775808i", ""},
		{"sys.cpu 1 NaN host=a", "sys.cpu{host=a} 1000 NaN", ""},
		{"sys.cpu 1 NaN:7ff0000000000002 host=a", "sys.cpu{host=a} 1000 NaN", ""},
		{"sys.cpu 1 Infinity host=a", "sys.cpu{host=a} 1000 +Inf", ""},
		{"sys.cpu 1 -Infinity host=a", "sys.cpu{host=a} 1000 -Inf", ""},
		{"sys.cpu 1 1 a=1 b=1 c=1 d=1 e=1 f=1 g=1 h=1 i=1", "sys.cpu{a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1} 1000 1i", ""},
		{"sys.cp\u00fc 1 1 host=a", "sys.cp\u00fc{host=a} 1000 1i", ""},
		{"sys.cp\xfc 1 1 host=a", "sys.cp\u00fc{host=a} 1000 1i", ""},
		{"", "", ""},
		{"\r", "", ""},
		{"sys.cpu 1 NaN:0 host=a", "", `1: Invalid character`},
		{"sys.cp\u20ac 1 1 host=a", "", "illegal character: \u20ac"},
		{"sys.cpu", "", "not enough arguments"},
		{"sys.cpu 1 1", "", "not enough arguments"},
		{"sys.cpu 0 1 host=a", "", "invalid timestamp: 0"},
		{"sys.cpu yesterday 1 host=a", "", "Invalid character 'y' in yesterday"},
		{"sys.cpu 1 one host=a", "", "For input string: \"one\""},
		{"sys.cpu 1 1 host", "", "invalid tag: host"},
		{"sys:cpu 1 1 host=a", "", "illegal character: :"},
		{" sys.cpu 1 1 host=a", "", "empty metric name"},
		{strings.Repeat("x", longestImport) + " 1 1 host=a", "", "line of more than 131072 bytes"},
	} {
		for _, end := range []string{"\n", ""} {
			m := opentsdbtest.NewMemory()
			stored, err := testImporter(m).Store(t.Context(), []byte(c.line+end), true)
			if err != nil {
				t.Fatal(err)
			}
			if stored.Bytes != len(c.line+end) || c.line != "" && stored.Lines != 1 {
				t.Errorf("%.40q: read %d lines of %d bytes", c.line, stored.Lines, stored.Bytes)
			}
			if got := strings.Join(m.Stored(), ", "); got != c.point || stored.Points != min(len(c.point), 1) {
				t.Errorf("%.40q: %d points %q, want %q", c.line, stored.Points, got, c.point)
			}
			bad := ""
			for _, b := range stored.Shown {
				bad += fmt.Sprintf("%d: %s", b.Line, b.Reason)
			}
			if !strings.Contains(bad, c.bad) || (bad != "") != (c.bad != "") || stored.Bad != min(len(c.bad), 1) {
				t.Errorf("%.40q: bad %q, want %q", c.line, bad, c.bad)
			}
		}
	}
}

// A NaN keeps its bits.
func TestImportSpecial(t *testing.T) {
	for word, want := range map[string]uint64{"NaN:7ff0000000000002": 0x7ff0000000000002, "NaN": math.Float64bits(math.NaN()), "NaN:fff8000000000000": 0xfff8000000000000} {
		if n, ok := parseSpecial(word); !ok || n.Bits != want || n.Integer {
			t.Errorf("%s: %x, %v", word, n.Bits, ok)
		}
	}
	for _, word := range []string{"nan", "NaN:", "NaN:1", "NaN:7ff0000000000000", "Inf", ""} {
		if _, ok := parseSpecial(word); ok {
			t.Errorf("%q is a number", word)
		}
	}
}

// The points of a long block arrive in the order of its lines, however many parts it is parsed in, and
// bad lines have their numbers.
func TestImportBlock(t *testing.T) {
	var text bytes.Buffer
	var want []string
	bad := 0
	for n := 1; text.Len() < 5*importShare; n++ {
		switch n % 1000 {
		case 17:
			fmt.Fprintf(&text, "bad %d\n", n)
			bad++
		case 20:
			text.WriteString("\n")
		default:
			fmt.Fprintf(&text, "m %d %d host=h%d\n", n, n, n%100)
			want = append(want, fmt.Sprintf("m{host=h%d} %d000 %di", n%100, n, n))
		}
	}
	m := opentsdbtest.NewMemory()
	i := testImporter(m)
	stored, err := i.Store(t.Context(), bytes.Clone(text.Bytes()), true)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, m.Stored()); diff != "" {
		t.Error(diff)
	}
	if stored.Bytes != text.Len() || stored.Points != len(want) || stored.Bad != bad || len(stored.Shown) != bad {
		t.Errorf("stored %+v", stored)
	}
	for n, b := range stored.Shown {
		if line := n*1000 + 17; b.Line != line || b.Text != fmt.Sprintf("bad %d", line) {
			t.Errorf("bad line %+v", b)
		}
	}
	stored, err = i.Store(t.Context(), bytes.Clone(text.Bytes()), false)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want[:16], m.Stored()); diff != "" {
		t.Error(diff)
	}
	if stored.Lines != 16 || stored.Points != 16 || stored.Bytes != bytes.Index(text.Bytes(), []byte("bad 17")) || stored.Bad != 1 || stored.Shown[0].Line != 17 {
		t.Errorf("stored %+v", stored)
	}
}

// What the store refuses is a bad line; what it cannot take now is an error, and may be stored again.
func TestImportRefused(t *testing.T) {
	const text = "a 1 1 h=a\n\nb 1 1 h=a\nc 1 1 h=a\n"
	m := opentsdbtest.NewMemory()
	m.Set(func(name string) error {
		if strings.HasPrefix(name, "b") {
			return fmt.Errorf("%w: no", storage.ErrInvalid)
		}
		return nil
	}, nil)
	i := testImporter(m)
	stored, err := i.Store(t.Context(), []byte(text), true)
	want := pipeline.Stored{Points: 2, Lines: 4, Bytes: len(text), Bad: 1, Shown: []pipeline.BadLine{{Line: 3, Text: "b h=a", Reason: "invalid: no"}}}
	if diff := cmp.Diff(want, stored); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	stored, err = i.Store(t.Context(), []byte(text), false)
	if want.Lines, want.Bytes = 2, strings.Index(text, "b"); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(want, stored); diff != "" {
		t.Error(diff)
	}
	m.Stored()
	m.Set(nil, func() error { return opentsdbtest.ErrAway })
	block := []byte(text)
	if _, err = i.Store(t.Context(), block, true); !errors.Is(err, opentsdbtest.ErrAway) {
		t.Error(err)
	}
	m.Set(nil, func() error { return fmt.Errorf("%w: never", storage.ErrInvalid) })
	if _, err = i.Store(t.Context(), []byte(text), true); !errors.As(err, &pipeline.FinalError{}) {
		t.Errorf("%v is not final", err)
	}
	m.Set(nil, nil)
	if _, err = i.Store(t.Context(), []byte(text), true); err != nil || len(m.Stored()) != 3 {
		t.Error(err)
	}
}

// A metric that has no UID is refused where puts of it are.
func TestImportKnownOnly(t *testing.T) {
	m := opentsdbtest.NewMemory()
	i := NewImporter(ImportOptions{Appender: m, Names: noNames{}, SeriesCache: 10, AutoCreate: put.AutoCreate{Metrics: false, TagKeys: true, TagValues: true}})
	stored, err := i.Store(t.Context(), []byte("a 1 1 h=a\n"), true)
	if err != nil || stored.Bad != 1 || stored.Shown[0].Reason != "No such name for 'metrics': 'a'" {
		t.Errorf("%+v %v", stored, err)
	}
}

// Whatever the text is, all of it is read or the first bad line ends it, and no line is two.
func FuzzImport(f *testing.F) {
	for _, seed := range []string{"m 1 1 a=b\n", "put m 1 1 a=b\nx", "put 1 1 a=b\r\n\n", "a\nm 1 1 a=b\n", "m 1 NaN a=b", "m\n1 1 1 a=b\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		i := testImporter(&opentsdbtest.Discard{})
		all, err := i.Store(t.Context(), bytes.Clone(text), true)
		if err != nil {
			t.Fatal(err)
		}
		lines := bytes.Count(text, []byte("\n"))
		if len(text) > 0 && text[len(text)-1] != '\n' {
			lines++
		}
		if all.Bytes != len(text) || all.Lines != lines || all.Points+all.Bad > lines {
			t.Fatalf("%q: %+v of %d lines", text, all, lines)
		}
		some, err := i.Store(t.Context(), bytes.Clone(text), false)
		if err != nil {
			t.Fatal(err)
		}
		if some.Bad != min(all.Bad, 1) || some.Bad > 0 && (some.Bytes > len(text) || all.Shown[0].Line != some.Shown[0].Line || some.Lines != some.Shown[0].Line-1) {
			t.Fatalf("%q: %+v, with errors skipped %+v", text, some, all)
		}
		if some.Bad > 0 && !slices.Contains([]int{0}, bytes.Count(text[:some.Bytes], []byte("\n"))-some.Lines) {
			t.Fatalf("%q: %d bytes are not %d lines", text, some.Bytes, some.Lines)
		}
		sum := some.Points
		for _, line := range bytes.SplitAfter(text, []byte("\n")) { // one by one
			one, err := i.Store(context.Background(), bytes.Clone(line), true)
			if err != nil {
				t.Fatal(err)
			}
			sum -= one.Points
		}
		if some.Bad == 0 && sum != 0 {
			t.Fatalf("%q: %d points more than line by line", text, sum)
		}
	})
}

// noNames knows no name.
type noNames struct{}

func (noNames) Lookup(_ context.Context, _ storage.NameKind, names []string) ([]string, error) {
	return make([]string, len(names)), nil
}
