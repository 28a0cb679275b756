package openmetrics

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
)

// printer prints what it is shown, a line each.
type printer struct{ b strings.Builder }

func (p *printer) Sample(s *Sample) error {
	fmt.Fprintf(&p.b, "%d %s %v", s.Line, s.Labels(), s.Value)
	if s.Timed {
		fmt.Fprintf(&p.b, " @%d", s.Time)
	}
	if s.Family != "" {
		fmt.Fprintf(&p.b, " of %s %s %q %q", s.Family, s.Metadata.Type, s.Metadata.Help, s.Metadata.Unit)
	}
	if e, ok := s.Exemplar(); ok {
		fmt.Fprintf(&p.b, " exemplar %s %v %d", e.Labels, e.Value, e.Ts)
	}
	p.b.WriteString("\n")
	return nil
}

func (p *printer) Bad(b *BadLine) error {
	fmt.Fprintf(&p.b, "bad %v\n", b)
	return nil
}

func printed(t testing.TB, text string, o Options) string {
	t.Helper()
	var p printer
	if err := Read(iotest.HalfReader(strings.NewReader(text)), o, &p); err != nil {
		t.Fatal(err)
	}
	return p.b.String()
}

func TestRead(t *testing.T) {
	for _, tc := range []struct {
		name, text, want string
		o                Options
	}{
		{"openmetrics", `# HELP a Some.
# TYPE a counter
a_total{x="1"} 2 1600000000.5 # {trace="t"} 0.5 1600000000
# TYPE h histogram
# UNIT h_seconds seconds
h_bucket{le="1"} 1 5
b 3
# EOF
`, `3 {__name__="a_total", x="1"} 2 @1600000000500 of a counter "Some." "" exemplar {trace="t"} 0.5 1600000000000
6 {__name__="h_bucket", le="1.0"} 1 @5000
7 {__name__="b"} 3
`, Options{}},
		{"help of another family", "# TYPE fa counter\n# HELP fb Of b.\nfb{x=\"y\"} 1\nfa 2\n# UNIT fc_s s\nfc_s 3\n# EOF\n", "3 {__name__=\"fb\", x=\"y\"} 1 of fb unknown \"Of b.\" \"\"\n4 {__name__=\"fa\"} 2\n6 {__name__=\"fc_s\"} 3 of fc_s unknown \"\" \"s\"\n", Options{}},
		{"a family goes on", "# TYPE fa counter\nfa 1\n# TYPE fb gauge\n# HELP fa Of a.\nfa 2\n# HELP fb Of b.\nfb 3\n", "2 {__name__=\"fa\"} 1 of fa counter \"\" \"\"\n5 {__name__=\"fa\"} 2 of fa counter \"Of a.\" \"\"\n7 {__name__=\"fb\"} 3 of fb gauge \"Of b.\" \"\"\n", Options{Format: Text}},
		{"names that begin as a family", "# TYPE a gauge\n# HELP a Of a.\na_bytes 1\na 2\na_total 3\n# TYPE c_total counter\nc_total 1\nc_total_x 2\n{\"c_total\",x=\"y\"} 3\n", "3 {__name__=\"a_bytes\"} 1\n4 {__name__=\"a\"} 2 of a gauge \"Of a.\" \"\"\n5 {__name__=\"a_total\"} 3\n7 {__name__=\"c_total\"} 1 of c_total counter \"\" \"\"\n8 {__name__=\"c_total_x\"} 2\n9 {__name__=\"c_total\", x=\"y\"} 3 of c_total counter \"\" \"\"\n", Options{Format: Text}},
		{"text", "# comment\n\n# TYPE a gauge\na  1 1600000000000\r\n", "bad line 4: expected next entry after timestamp, got \"\\r\" (\"INVALID\"): \"a  1 1600000000000\\r\"\n", Options{Format: Text}},
		{"text without a line break", "a 1 5\n# TYPE b untyped\nb{x=\"y\"} NaN", "1 {__name__=\"a\"} 1 @5\n3 {__name__=\"b\", x=\"y\"} NaN of b unknown \"\" \"\"\n", Options{Format: Text}},
		{"bad lines", "a 1\nb x\nc 2\nd{ 3\ne 4\n", "1 {__name__=\"a\"} 1\nbad line 2: strconv.ParseFloat: parsing \"x\": invalid syntax: \"b x\"\n3 {__name__=\"c\"} 2\nbad line 4: expected label name, got \"3\" (\"INVALID\"): \"d{ 3\"\n5 {__name__=\"e\"} 4\n", Options{Format: Text}},
		{"long line", "a 1\n" + strings.Repeat("x", 300<<10) + " 1\nb 2\n", "bad line 2: line of more than 1000 bytes: \"" + strings.Repeat("x", 120) + "\"\n", Options{Format: Text, LineBytes: 1000}},
		{"no end", "a 1\n", "1 {__name__=\"a\"} 1\nbad line 2: the text does not end with # EOF: \"\"\n", Options{}},
		{"after the end", "a 1\n# EOF\nb 2\nc 3\n", "1 {__name__=\"a\"} 1\nbad line 3: data after # EOF: \"b 2\"\n", Options{}},
		{"NUL after a type", "# TYPE a counter\n\x00b 1\nc 2\n# EOF\n", "bad line 2: invalid metric type \"counter\\n\": \"\\x00b 1\"\n3 {__name__=\"c\"} 2\n", Options{}},
		{"empty", "", "", Options{Format: Text}},
		{"only the end", "# EOF", "", Options{}},
	} {
		got := printed(t, tc.text, tc.o)
		if tc.name == "long line" { // where blocks are cut is not told
			if !strings.Contains(got, tc.want) || !strings.HasSuffix(got, "3 {__name__=\"b\"} 2\n") || !strings.HasPrefix(got, "1 {") {
				t.Errorf("%s: %s", tc.name, got)
			}
			continue
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", tc.name, diff)
		}
	}
}

// TestBlocks reads a text of many blocks, whose families are longer than a block.
func TestBlocks(t *testing.T) {
	var b, want strings.Builder
	line := 0
	for f := range 3 {
		fmt.Fprintf(&b, "# TYPE h%d histogram\n# HELP h%d Help.\n", f, f)
		line += 2
		for i := range 5000 {
			line++
			if i == 4000 {
				b.WriteString("broken\n")
				fmt.Fprintf(&want, "bad line %d: expected value after metric, got \"\\n\" (\"INVALID\"): \"broken\"\n", line)
				continue
			}
			fmt.Fprintf(&b, "h%d_bucket{n=\"%d\",le=\"1\"} %d 7\n", f, i, i)
			fmt.Fprintf(&want, "%d {__name__=\"h%d_bucket\", le=\"1.0\", n=\"%d\"} %d @7000 of h%d histogram \"Help.\" \"\"\n", line, f, i, i, f)
		}
	}
	b.WriteString("# EOF\n")
	if diff := cmp.Diff(want.String(), printed(t, b.String(), Options{})); diff != "" {
		t.Errorf("(-want +got)\n%.2000s", diff)
	}
}

func TestReadErrors(t *testing.T) {
	broken := errors.New("broken")
	var p printer
	if err := Read(iotest.ErrReader(broken), Options{}, &p); !errors.Is(err, broken) {
		t.Errorf("a broken reader: %v", err)
	}
	if _, err := ParseFormat("xml"); err == nil {
		t.Error("xml is a format")
	}
}

// FuzzRead compares with the module's parser over the whole text: when that one reads all of it, so
// do blocks of lines.
func FuzzRead(f *testing.F) {
	f.Add("# TYPE a counter\na_total{x=\"1\"} 2 1600000000.5 # {trace=\"t\"} 0.5\n# EOF\n", true)
	f.Add("# TYPE a gauge\na 1 5\n\nb{le=\"1\"} 2\n", false)
	f.Add("a 1\nb x\n# EOF", true)
	f.Fuzz(func(t *testing.T, text string, open bool) {
		o := Options{Format: Text}
		if open {
			o.Format = OpenMetrics
		}
		got := printed(t, text, o)
		want, ok := whole(text, o.Format)
		if ok && !strings.Contains(got, "bad ") && shown(got) != want {
			t.Errorf("%q is read as\n%s, the module reads\n%s", text, got, want)
		}
	})
}

// shown leaves the lines' numbers and families out.
func shown(printed string) string {
	var b strings.Builder
	for line := range strings.Lines(printed) {
		_, rest, _ := strings.Cut(line, " ")
		rest, _, _ = strings.Cut(strings.TrimSuffix(rest, "\n"), "} ")
		b.WriteString(rest + "\n")
	}
	return b.String()
}

func whole(text string, f Format) (string, bool) {
	var p textparse.Parser
	if f == OpenMetrics {
		p = textparse.NewOpenMetricsParser([]byte(text), labels.NewSymbolTable())
	} else {
		p = textparse.NewPromParser([]byte(text), labels.NewSymbolTable(), false)
	}
	var b strings.Builder
	for {
		entry, err := p.Next()
		if err != nil {
			return b.String(), err.Error() == "EOF"
		}
		if entry == textparse.EntrySeries {
			var ls labels.Labels
			p.Labels(&ls)
			line, _, _ := strings.Cut(ls.String()+" ", "} ")
			b.WriteString(line + "\n")
		}
	}
}
