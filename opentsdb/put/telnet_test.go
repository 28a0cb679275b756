package put

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/opentsdb/opentsdbtest"
	"github.com/tsdbridge/tsdbridge/opentsdb/putline"
	"github.com/tsdbridge/tsdbridge/storage"
)

// refuseNamed refuses series whose metric begins with "refused".
func refuseNamed(name string) error {
	if strings.HasPrefix(name, "refused") {
		return fmt.Errorf("resolve %s: %w", name, storage.ErrInvalid)
	}
	return nil
}

// say sends bytes in pieces on one connection, and returns the answers and the stored points.
func say(t testing.TB, m *opentsdbtest.Memory, pieces ...[]byte) string {
	tel, d := telnetOver(newTestIngest(m))
	l := NewLines(64<<10, 1024, nil)
	var answers []byte
	open := true
	for _, piece := range pieces {
		for len(piece) > 0 && open {
			n := copy(l.Room(), piece)
			l.Filled(n)
			piece = piece[n:]
			open = tel.Take(t.Context(), &l, d)
			answers = append(answers, tel.Answer...)
			tel.Answer = nil
		}
	}
	var b strings.Builder
	b.WriteString(quoteBytes(answers))
	if !open {
		b.WriteString("closed\n")
	}
	for _, p := range m.Stored() {
		b.WriteString("> " + p + "\n")
	}
	return b.String()
}

var hexByte = regexp.MustCompile(`\\x[0-9a-f]{2}|\\r`)

func unquoteBytes(s string) []byte {
	return hexByte.ReplaceAllFunc([]byte(s), func(b []byte) []byte {
		if b[1] == 'r' {
			return []byte{'\r'}
		}
		c, _ := strconv.ParseUint(string(b[2:]), 16, 8)
		return []byte{byte(c)}
	})
}

func quoteBytes(b []byte) string {
	var s strings.Builder
	for _, c := range b {
		if c != '\n' && (c < ' ' || c > '~') {
			fmt.Fprintf(&s, `\x%02x`, c)
			continue
		}
		s.WriteByte(c)
	}
	return s.String()
}

func TestTelnet(t *testing.T) {
	datadriven.RunTest(t, "testdata/telnet", func(t *testing.T, d *datadriven.TestData) string {
		input := append(unquoteBytes(d.Input), '\n')
		m := opentsdbtest.NewMemory()
		m.Resolving = refuseNamed
		whole := say(t, m, bytes.Clone(input))
		// The same lines again, now with series in the cache, and cut at each byte.
		if again := say(t, m, bytes.Clone(input)); again != whole {
			t.Errorf("%s: said again:\n%s\nwant\n%s", d.Pos, again, whole)
		}
		for i := 1; i < len(input); i++ {
			parts := say(t, m, bytes.Clone(input[:i]), bytes.Clone(input[i:]))
			if normal(parts) != normal(whole) {
				t.Fatalf("%s: cut at byte %d: %s", d.Pos, i, cmp.Diff(whole, parts))
			}
		}
		return whole
	})
}

// normal returns answers and stored points in a fixed order: refusals of the store are answered
// after errors of the lines themselves.
func normal(s string) string {
	lines := strings.Split(s, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func TestTelnetSeriesCache(t *testing.T) {
	m := opentsdbtest.NewMemory()
	in := newTestIngest(m)
	tel, d := telnetOver(in)
	send := func(text string) {
		l := NewLines(64<<10, 1024, nil)
		l.Filled(copy(l.Room(), text))
		tel.Take(t.Context(), &l, d)
	}
	send("put m 1 1 a=1 b=2\nput m 2 2 a=1 b=2\nput m 3 3 b=2 a=1\n")
	m.Resolving = func(string) error { return fmt.Errorf("asked again: %w", storage.ErrInvalid) }
	send("put m 4 4 b=2 a=1\nput m 5 5 a=1 b=2\n")
	want := []string{"m{a=1,b=2} 1000 1i", "m{a=1,b=2} 2000 2i", "m{a=1,b=2} 3000 3i", "m{a=1,b=2} 4000 4i", "m{a=1,b=2} 5000 5i"}
	if diff := cmp.Diff(want, m.Stored()); diff != "" || len(tel.Answer) > 0 {
		t.Errorf("answer %q, points (-want +got):\n%s", tel.Answer, diff)
	}
	in.DropCaches()
	send("put m 6 6 a=1 b=2\n")
	if !strings.Contains(string(tel.Answer), "asked again") {
		t.Errorf("after DropCaches the series was not resolved again: %q", tel.Answer)
	}
}

// A line that is too long is answered, and its end is not read as another line.
func TestTelnetLongLine(t *testing.T) {
	for _, end := range []string{"\n", "\r\n"} {
		longest := "put m 1 1 s=" + strings.Repeat("a", 1024-len("put m 1 1 s="))
		longer := "put m 1 1 s=" + strings.Repeat("a", 5000) + " put m 2 2 s=b"
		want := "put: illegal argument: line of more than 1024 bytes\n> " + "m{s=" + longest[len("put m 1 1 s="):] + "} 1000 1i\n> m{s=c} 3000 3i\n"
		text := longest + end + longer + end + "put m 3 3 s=c" + end
		if got := normal(say(t, opentsdbtest.NewMemory(), []byte(text))); got != normal(want) {
			t.Errorf("lines ending in %q: %s", end, cmp.Diff(normal(want), got))
		}
		for i := 1000; i < len(text); i += 13 {
			if got := normal(say(t, opentsdbtest.NewMemory(), []byte(text[:i]), []byte(text[i:]))); got != normal(want) {
				t.Fatalf("lines ending in %q, cut at byte %d: %s", end, i, cmp.Diff(normal(want), got))
			}
		}
		over := longest + "a" + end
		if got := say(t, opentsdbtest.NewMemory(), []byte(over)); !strings.HasPrefix(got, "put: illegal argument: line of more") {
			t.Errorf("1025 bytes and %q: %s", end, got)
		}
	}
}

// FuzzTelnet checks that the fast parser and the general parser of a line agree, and that answers
// and stored points do not depend on where the bytes were cut.
func FuzzTelnet(f *testing.F) {
	for _, seed := range []string{
		"put m 1 1 s=a\n", "put m 1356998400.500 -1.5e3 a=b c=d\r\nput m 2 2 s=a\n", "put  1 1\n\nhelp\nexit\n", "put m 1 9223372036854775808 s=a\n",
		"put m 1 1 a=1  b=2 \nput m 99999999999999 1 a=b\n", "rollup\nhistogram\nstats\nput m 1 1e400 s=a\n", "put caf\xe9 1 1 s=a\n",
	} {
		f.Add([]byte(seed), 7)
	}
	f.Fuzz(func(t *testing.T, text []byte, at int) {
		m := opentsdbtest.NewMemory()
		whole := say(t, m, bytes.Clone(text))
		at = min(max(at, 0), len(text))
		if parts := say(t, m, bytes.Clone(text[:at]), bytes.Clone(text[at:])); normal(parts) != normal(whole) {
			t.Errorf("cut at byte %d: %s", at, cmp.Diff(whole, parts))
		}
		for line := range bytes.SplitSeq(text, []byte{'\n'}) {
			checkLine(t, line)
		}
	})
}

func checkLine(t *testing.T, line []byte) {
	line = bytes.TrimSuffix(line, []byte{'\r'})
	if !bytes.HasPrefix(line, []byte(putline.PutWord)) || len(line) > 1024 {
		return
	}
	series, p, err := explainPut(line, putline.NameRules{MaxTags: 8})
	if key, plain, n := plainPut(append(bytes.Clone(line), "\r\n"...), 1024); n > 0 {
		plainSeries, plainErr := putline.TextSeries(putline.Latin1(key), putline.NameRules{MaxTags: 8})
		if n != len(line)+2 || (err == nil) != (plainErr == nil) || err != nil && err.Error() != plainErr.Error() {
			t.Fatalf("line %q: %v, plain: %v", line, err, plainErr)
		}
		if err == nil && (p != plain || opentsdbtest.SeriesName(series) != opentsdbtest.SeriesName(plainSeries)) {
			t.Fatalf("line %q: %s %v, plain: %s %v", line, opentsdbtest.SeriesName(series), p, opentsdbtest.SeriesName(plainSeries), plain)
		}
	}
	key, short, ok := putline.ScanPoint(bytes.Clone(line), len(putline.PutWord))
	if !ok {
		return
	}
	shortSeries, shortErr := putline.TextSeries(putline.Latin1(key), putline.NameRules{MaxTags: 8})
	if (err == nil) != (shortErr == nil) || err != nil && err.Error() != shortErr.Error() {
		t.Fatalf("line %q: %v, short: %v", line, err, shortErr)
	}
	if err == nil && (p != short || opentsdbtest.SeriesName(series) != opentsdbtest.SeriesName(shortSeries)) {
		t.Fatalf("line %q: %s %v, short: %s %v", line, opentsdbtest.SeriesName(series), p, opentsdbtest.SeriesName(shortSeries), short)
	}
}
