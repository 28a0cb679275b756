package netserver

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// least is the memory of two lines.
const least = 32 << 10

// A line that is too long is not kept, however long it is.
func TestLinesMemory(t *testing.T) {
	l := Lines{Max: least, Longest: least / 2}
	for range 1000 {
		n := copy(l.Room(), bytes.Repeat([]byte("z"), least))
		l.Filled(n)
		for _, _, ok := l.Next(); ok; _, _, ok = l.Next() {
		}
	}
	if cap(l.buf) != least {
		t.Errorf("%d bytes kept, want %d", cap(l.buf), least)
	}
}

// The buffer of an idle connection stays small, and that of a busy one grows to its limit.
func TestLinesBuffer(t *testing.T) {
	l := Lines{Max: 256 << 10, Longest: 1024}
	for range 100 {
		l.Filled(copy(l.Room(), "a 1 1\n"))
		l.Next()
	}
	if cap(l.buf) != FirstBuffer {
		t.Errorf("idle: %d bytes, want %d", cap(l.buf), FirstBuffer)
	}
	for range 20 {
		l.Filled(copy(l.Room(), bytes.Repeat([]byte("a 1 1\n"), 256<<10)))
		for _, _, ok := l.Next(); ok; _, _, ok = l.Next() {
		}
	}
	if cap(l.buf) != 256<<10 {
		t.Errorf("busy: %d bytes, want %d", cap(l.buf), 256<<10)
	}
}

// The lines of a stream are the texts between its newlines, wherever reads cut it.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nb\r\n\nlonger\nc"), []byte{0}, true)
	f.Add([]byte("1234567\r\n12345678\r\n123456789\n1234567\r"), []byte{2, 200}, true)
	f.Add([]byte("12345678901234567890\n1\n"), []byte{6}, false)
	f.Fuzz(func(t *testing.T, stream, sizes []byte, dropReturn bool) {
		const longest = 8
		var want []string
		rest := stream
		for line, after, ok := bytes.Cut(rest, []byte("\n")); ok; line, after, ok = bytes.Cut(rest, []byte("\n")) {
			rest = after
			if dropReturn {
				line = bytes.TrimSuffix(line, []byte("\r"))
			}
			want = append(want, fmt.Sprintf("%q %v", line[:min(len(line), longest)], len(line) > longest))
		}
		got := cut(Lines{Max: 2 * (longest + 2), Longest: longest, DropReturn: dropReturn}, stream, sizes)
		// a line without an end may already be known to be too long
		if len(got) == len(want)+1 && len(rest) > longest {
			want = append(want, fmt.Sprintf("%q true", rest[:longest]))
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%q in pieces of %v: %v, want %v", stream, sizes, got, want)
		}
	})
}

func cut(l Lines, stream, sizes []byte) (out []string) {
	for i := 0; len(stream) > 0; i++ {
		size := len(stream)
		if len(sizes) > 0 {
			size = min(int(sizes[i%len(sizes)])+1, size)
		}
		n := copy(l.Room(), stream[:size])
		stream = stream[n:]
		l.Filled(n)
		for line, tooLong, ok := l.Next(); ok; line, tooLong, ok = l.Next() {
			out = append(out, fmt.Sprintf("%q %v", line, tooLong))
		}
	}
	return out
}

// Lines that were returned before a swap stay unchanged.
func TestLinesSwap(t *testing.T) {
	l := Lines{Max: 64, Longest: 16}
	l.Filled(copy(l.Room(), "one\ntw"))
	one, _, _ := l.Next()
	had := l.Swap(make([]byte, 0, 64))
	l.Filled(copy(l.Room(), "o\nthree\n"))
	two, _, _ := l.Next()
	three, _, _ := l.Next()
	if got := fmt.Sprintf("%s %s %s %s", one, two, three, had); got != "one two three one\ntw" {
		t.Errorf("%q", got)
	}
}

// When the budget is empty the memory stays at two lines, and all lines are read all the same; the
// memory is released.
func TestLinesBudget(t *testing.T) {
	budget := NewGate(1, 100<<10)
	read := func(l *Lines, text string) (lines int) {
		for len(text) > 0 {
			n := copy(l.Room(), text)
			if n == 0 {
				t.Fatal("no room")
			}
			l.Filled(n)
			text = text[n:]
			for {
				line, _, ok := l.Next()
				if !ok {
					break
				}
				if lines++; len(line) != 1000 {
					t.Fatalf("a line of %d bytes", len(line))
				}
			}
		}
		return lines
	}
	text := strings.Repeat(strings.Repeat("x", 1000)+"\n", 2000)
	rich := &Lines{Max: 64 << 10, Longest: 1000, Budget: budget}
	rich.Filled(copy(rich.Room(), text[:500]))
	poor := &Lines{Max: 64 << 10, Longest: 1000, Budget: NewGate(1, 0)}
	if n := read(rich, text[500:]); n != 2000 || cap(rich.buf) != 64<<10 || budget.Bytes() != int64(cap(rich.buf)-FirstBuffer) {
		t.Errorf("%d lines in %d bytes, of the budget %d", n, cap(rich.buf), budget.Bytes())
	}
	if n := read(poor, text); n != 2000 || cap(poor.buf) > FirstBuffer {
		t.Errorf("%d lines in %d bytes", n, cap(poor.buf))
	}
	rich.Close()
	if budget.Bytes() != 0 {
		t.Errorf("%d bytes are not given back", budget.Bytes())
	}
}
