package carbon

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/cockroachdb/datadriven"
)

const testNow = 1741099999

func TestParseLine(t *testing.T) {
	datadriven.RunTest(t, "testdata/line", func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		for input := range strings.SplitSeq(d.Input, "\n") {
			if !strings.HasPrefix(input, `"`) {
				input = `"` + input + `"`
			}
			line, err := strconv.Unquote(input)
			if err != nil {
				d.Fatalf(t, "%s: %v", input, err)
			}
			fmt.Fprintln(&out, describeLine([]byte(line)))
		}
		return out.String()
	})
}

func describeLine(line []byte) string {
	p, reason := ParseLine(line, testNow)
	if reason != 0 {
		return reason.String()
	}
	return describePoint(p)
}

func describePoint(p Point) string {
	name := strconv.Quote(string(p.Name))
	return fmt.Sprintf("%s %v @%d", name[1:len(name)-1], p.Value, p.Time)
}

func TestParseLineAllocates(t *testing.T) {
	for _, text := range []string{
		"servers.web01.cpu.user 42.75 1741060000", "disk.used;rack=a1;dc=dc1 1234567890 1741060000.0", "a -1.5e-7 -1", "сервер.жук 0.30000000000000004 1741060000",
	} {
		line := []byte(text)
		if n := testing.AllocsPerRun(100, func() { ParseLine(line, testNow) }); n != 0 {
			t.Errorf("%s: %v allocations", text, n)
		}
	}
}

// digitOf relies on how Unicode orders digits.
func TestDigitsComeInRunsOfTen(t *testing.T) {
	check := func(lo, hi, stride int) {
		if stride != 1 || (hi-lo+1)%10 != 0 {
			t.Errorf("digits %U to %U, every %d", lo, hi, stride)
		}
	}
	for _, r := range unicode.Nd.R16 {
		check(int(r.Lo), int(r.Hi), int(r.Stride))
	}
	for _, r := range unicode.Nd.R32 {
		check(int(r.Lo), int(r.Hi), int(r.Stride))
	}
}

// Both ways to split a line agree, and so do both ways to parse a number.
func FuzzParseLine(f *testing.F) {
	for _, seed := range []string{
		"a 1 1741060000", "a.b;c=d -1.5e3 -1", "\u00a0x\u20031_000\t1e9", "v 123456789012345 1", "v 0.1 4294967295", "v nan inf", "\xff 1 1", "a 1\x1c2",
		"v ١٢.٣ 5", "v +infinity 1",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		p, reason := ParseLine(line, testNow)
		if reason == 0 && (len(p.Name) == 0 || !utf8.Valid(p.Name) || p.Time < 0 || p.Time > MaxTime || math.IsNaN(p.Value)) {
			t.Errorf("%q: %q %v @%d", line, p.Name, p.Value, p.Time)
		}
		if (reason == ReasonUTF8) == utf8.Valid(line) {
			t.Errorf("%q: %v", line, reason)
		}
		var one, two fields
		if n, ok := one.ascii(line); ok {
			if m := two.unicode(line); m != n || fmt.Sprintf("%q", one) != fmt.Sprintf("%q", two) {
				t.Errorf("%q splits into %q (%d) and %q (%d)", line, one, n, two, m)
			}
		}
		if fields := bytes.Fields(line); len(fields) > 1 {
			checkFloat(t, fields[1])
		}
		checkPlain(t, append(bytes.Clone(line), '\n'))
	})
}

// checkPlain checks that plainLine parses a line to the same point as ParseLine, if it accepts the
// line at all.
func checkPlain(t *testing.T, text []byte) {
	p, n := plainLine(text)
	if n == 0 {
		return
	}
	if end := bytes.IndexByte(text, '\n'); n != end+1 {
		t.Fatalf("%q: a line of %d bytes, want %d", text, n, end+1)
	}
	want, reason := ParseLine(text[:n-1], testNow)
	if reason != 0 || string(want.Name) != string(p.Name) || want.Time != p.Time || math.Float64bits(want.Value) != math.Float64bits(p.Value) {
		t.Errorf("%q: %s %v @%d; want %s %v @%d, %v", text, p.Name, p.Value, p.Time, want.Name, want.Value, want.Time, reason)
	}
}

// The lines that real senders write are plain ones.
func TestPlainLine(t *testing.T) {
	for _, text := range []string{
		"a 1 1\n", "servers.web-0042.cpu.cpu3.user 42.75 1741060000\r\n", "disk.used;rack=a1 -1.7179869184e+10 4294967295\n", "abcdefgh 281474976710655 5\nb 2 2\n",
	} {
		if _, n := plainLine([]byte(text)); n == 0 {
			t.Errorf("%q is no plain line", text)
		}
		checkPlain(t, []byte(text))
	}
	for _, text := range []string{
		"", "\n", "a", "a ", "a 1", "a 1 ", "a 1 1", "a 1 1\r", " a 1 1\n", "a  1 1\n", "a\t1 1\n", "a 1 1 \n", "a 1 -1\n", "a 1 1.5\n", "a 1 4294967296\n", "a nan 1\n",
		"a 1_0 1\n", "é 1 1\n", "abcdefgé 1 1\n", "a 1 00000000001\n", strings.Repeat("n", MaxLine) + " 1 1\n",
	} {
		if p, n := plainLine([]byte(text)); n != 0 {
			t.Errorf("%q is taken for %v", text, p)
		}
	}
}

// A line that is nearly plain means the same to the fast parser and to the careful one.
func TestPlainLinesAsCarefulParser(t *testing.T) {
	const text = "servers.web-01;a=b -10.25e-1 1741060000\r\n"
	for i := range len(text) {
		checkPlain(t, []byte(text[:i]+text[i+1:]))
		for c := range 256 {
			checkPlain(t, []byte(text[:i]+string([]byte{byte(c)})+text[i+1:]))
			checkPlain(t, []byte(text[:i]+string([]byte{byte(c)})+text[i:]))
		}
	}
}

// checkFloat compares with strconv where Python and Go agree on the grammar.
func checkFloat(t *testing.T, b []byte) {
	got, ok := parseFloat(b)
	if bytes.ContainsAny(b, "_xXpP") || bytes.ContainsFunc(b, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return
	}
	want, err := strconv.ParseFloat(string(b), 64)
	if math.IsInf(want, 0) {
		err = nil // out of range is not an error in Python
	}
	// Go's NaN has no sign
	signed := len(b) > 3 && (b[0] == '+' || b[0] == '-') && bytes.EqualFold(b[1:], []byte("nan"))
	if ok != (err == nil || signed) || ok && !signed && math.Float64bits(got) != math.Float64bits(want) && !math.IsNaN(want) {
		t.Errorf("%q is %v, %v; want %v, %v", b, got, ok, want, err)
	}
}

func BenchmarkPlainLine(b *testing.B) {
	text := []byte("servers.web-0042.cpu.cpu3.user 42.75 1741060000\n")
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, n := plainLine(text); n == 0 {
			b.Fatal("no plain line")
		}
	}
}

func BenchmarkParseLine(b *testing.B) {
	for _, text := range []string{
		"servers.web-0042.cpu.cpu3.user 42.75 1741060000", "servers.web-0042.disk.sda1.bytes_read 18446744073709551615 1741060000",
		"disk.used;datacenter=dc1;rack=a1;server=web01 0.30000000000000004 1741060000",
	} {
		b.Run(strings.Fields(text)[1], func(b *testing.B) {
			line := []byte(text)
			b.ReportAllocs()
			b.SetBytes(int64(len(line) + 1))
			for b.Loop() {
				if _, reason := ParseLine(line, testNow); reason != 0 {
					b.Fatal(reason)
				}
			}
		})
	}
}
