package carbon

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// cutAll feeds a stream in pieces of the given sizes, repeatedly, and lists the lines that come
// out.
func cutAll(stream []byte, longest int, sizes []byte) (out []string, rest int) {
	l := newLines(longest, nil)
	for i := 0; len(stream) > 0; i++ {
		size := len(stream)
		if len(sizes) > 0 {
			size = min(int(sizes[i%len(sizes)])+1, size)
		}
		n := copy(l.Room(), stream[:size])
		stream = stream[n:]
		l.Filled(n)
		for {
			for p, n := plainLine(l.Rest()); n > 0; p, n = plainLine(l.Rest()) {
				out = append(out, describePoint(p))
				l.Skip(n)
			}
			line, tooLong, ok := l.Next()
			if !ok {
				break
			}
			if tooLong {
				out = append(out, ReasonTooLong.String())
				continue
			}
			out = append(out, describeLine(line))
		}
	}
	return out, len(l.Unfinished())
}

func TestLinesLength(t *testing.T) {
	name := strings.Repeat("y", MaxLine-len(" 1 1"))
	for _, test := range []struct {
		stream string
		want   string
	}{
		{name + " 1 1\nb 2 2\n", name + " 1 @1; b 2 @2; 0 left"},
		{name + "y 1 1\nb 2 2\n", "too_long; b 2 @2; 0 left"},
		{strings.Repeat("z", 10*MaxLine) + "\nb 2 2\n", "too_long; b 2 @2; 0 left"},
		{"a 1 1\n" + strings.Repeat("z", 10*MaxLine), "a 1 @1; too_long; 0 left"},
		{name + " 1 1", fmt.Sprint(MaxLine, " left")},
		{name + "y 1 1", "too_long; 0 left"},
		{"\n\na 1 1\r\nb 2 ", "fields; fields; a 1 @1; 4 left"},
		{"", "0 left"},
	} {
		for _, sizes := range [][]byte{nil, {0}, {255, 7}, {99}} {
			out, rest := cutAll([]byte(test.stream), leastBuffer, sizes)
			if got := strings.Join(append(out, fmt.Sprint(rest, " left")), "; "); got != test.want {
				t.Errorf("%.20q... in pieces of %v: %.80s, want %.80s", test.stream, sizes, got, test.want)
			}
		}
	}
}

// However a stream is cut into reads, its points are the same.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a 1 1\nb 2 2\r\n\nc"), []byte{0})
	f.Add([]byte("a 1 nan\nb \xff 2\nd 1 1"), []byte{2, 200})
	f.Add(append(bytes.Repeat([]byte("long"), MaxLine), "\nb 2 2\n"...), []byte{250})
	f.Add(append(bytes.Repeat([]byte("y"), MaxLine), "\nb 2 2\n"...), []byte{9, 1})
	f.Fuzz(func(t *testing.T, stream, sizes []byte) {
		whole, rest := cutAll(stream, 1<<22, nil)
		pieces, rest2 := cutAll(stream, leastBuffer, sizes)
		if strings.Join(whole, "\n") != strings.Join(pieces, "\n") || rest != rest2 {
			t.Errorf("%.100q: in one %.200q and %d left, in pieces %.200q and %d left", stream, whole, rest, pieces, rest2)
		}
	})
}
