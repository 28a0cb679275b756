package tsdtext

import (
	"bufio"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tsdbridge/tsdbridge/opentsdb/client"
	"github.com/tsdbridge/tsdbridge/opentsdb/putline"
	"github.com/tsdbridge/tsdbridge/storage"
)

// WriteQueryLines prints the points of a series of an answer as a TSD's "tsdb query" does: metric, time in milliseconds,
// integer or float with six decimals, and the tags in Java's order. The writer remembers the first error.
func WriteQueryLines(w *bufio.Writer, s *client.Series) {
	var tags []storage.Tag
	for key, value := range s.Tags {
		tags = append(tags, storage.Tag{Key: key, Value: value})
	}
	slices.SortFunc(tags, func(a, b storage.Tag) int { return strings.Compare(a.Key, b.Key) })
	after := " " + putline.TagsText(tags) + "\n"
	var line []byte
	for _, p := range s.Points {
		line = append(append(line[:0], s.Metric...), ' ')
		line = append(strconv.AppendInt(line, p.Time, 10), ' ')
		line = append(appendPrinted(line, p.Value), after...)
		_, _ = w.Write(line)
	}
}

// appendPrinted appends an integer as it is, and a float as Java's %f.
func appendPrinted(b []byte, value string) []byte {
	v, err := strconv.ParseFloat(value, 64)
	if !strings.ContainsAny(value, ".eE") || err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return append(b, value...)
	}
	return appendFixed(b, v)
}

// decimals are those of Java's %f.
const decimals = 6

// appendFixed rounds the shortest digits of a number half up, as Java does; Go rounds the exact value.
func appendFixed(b []byte, v float64) []byte {
	if math.Signbit(v) {
		b, v = append(b, '-'), -v
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', -1, 64), "e")
	digits := strings.Replace(mantissa, ".", "", 1)
	point, _ := strconv.Atoi(exponent) // it is one
	if point++; point <= 0 {
		digits, point = strings.Repeat("0", 1-point)+digits, 1
	}
	if len(digits) < point+decimals {
		digits += strings.Repeat("0", point+decimals-len(digits))
	}
	kept := []byte(digits[:point+decimals])
	if len(digits) > len(kept) && digits[len(kept)] >= '5' {
		kept, point = increment(kept, point)
	}
	return append(append(append(b, kept[:point]...), '.'), kept[point:]...)
}

// increment adds one to the last of digits. point is how many are before the point.
func increment(digits []byte, point int) ([]byte, int) {
	for i := len(digits) - 1; i >= 0; i-- {
		if digits[i]++; digits[i] <= '9' {
			return digits, point
		}
		digits[i] = '0'
	}
	return append([]byte{'1'}, digits...), point + 1
}
