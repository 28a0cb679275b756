package carbon

import (
	"encoding/binary"
	"math/bits"

	"github.com/tsdbridge/tsdbridge/internal/decimal"
)

// plainLine reads the line that b begins with if it has the usual form: three fields of ASCII with
// one blank between, the value a decimal of a few digits, the timestamp digits. n is its length
// with its newline, 0 when ParseLine must read the line, or its end has not arrived yet.
//
// It reads the bytes once. ParseLine reads the same point from any line that plainLine takes.
func plainLine(b []byte) (p Point, n int) {
	name := textLength(b)
	if name == 0 || name >= len(b) || b[name] != ' ' {
		return Point{}, 0
	}
	n = name + 1
	number, length := decimal.Scan(b[n:])
	n += length
	if length == 0 || n >= len(b) || b[n] != ' ' {
		return Point{}, 0
	}
	value, ok := number.Float64()
	n++
	time, length := decimal.ScanDigits(b[n:])
	n += length
	if !ok || length == 0 || length > timeDigits || time > MaxTime {
		return Point{}, 0
	}
	if n < len(b) && b[n] == '\r' {
		n++
	}
	if n >= len(b) || b[n] != '\n' || n > MaxLine {
		return Point{}, 0
	}
	return Point{Name: b[:name], Time: time, Value: value}, n + 1
}

// timeDigits is the length of MaxTime.
const timeDigits = 10

// textLength returns how many bytes from ! to DEL b begins with. It looks at eight at a time.
func textLength(b []byte) int {
	const (
		ones  = 0x0101010101010101
		highs = 0x80 * ones
	)
	n := 0
	for ; n+8 <= len(b); n += 8 {
		w := binary.LittleEndian.Uint64(b[n:])
		// The high bit of each byte that is below ! (the difference borrows) or above DEL. A borrow
		// only spoils bytes after the first one.
		if other := (w - '!'*ones | w) & highs; other != 0 {
			return n + bits.TrailingZeros64(other)/8
		}
	}
	for n < len(b) && b[n]-'!' <= 0x7f-'!' {
		n++
	}
	return n
}
