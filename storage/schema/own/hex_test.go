package own

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// parseHex reads annotated hexadecimal: blanks and line ends are free, # begins a comment.
func parseHex(t *testing.T, s string) []byte {
	t.Helper()
	var digits strings.Builder
	for line := range strings.Lines(s) {
		line, _, _ = strings.Cut(line, "#")
		digits.WriteString(strings.Join(strings.Fields(line), ""))
	}
	b, err := hex.DecodeString(digits.String())
	if err != nil {
		t.Fatalf("hex %q: %v", s, err)
	}
	return b
}

// parseCell reads "qualifier = value".
func parseCell(t *testing.T, s string) (qualifier, value []byte) {
	t.Helper()
	q, v, found := strings.Cut(s, "=")
	if !found {
		t.Fatalf("cell %q: want qualifier = value", s)
	}
	return parseHex(t, q), parseHex(t, v)
}

// inputLines returns the lines of the input that are neither empty nor comments.
func inputLines(d *datadriven.TestData) []string {
	var lines []string
	for line := range strings.Lines(d.Input) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// eachLine answers each line of the input on a line of its own.
func eachLine(d *datadriven.TestData, answer func(line string) string) string {
	var out strings.Builder
	for _, line := range inputLines(d) {
		fmt.Fprintf(&out, "%s\n", answer(line))
	}
	return out.String()
}

// layoutOf reads metric=, tagk=, tagv=, salt= and buckets= of a command; the default layout has the
// others.
func layoutOf(t *testing.T, d *datadriven.TestData) schema.Layout {
	t.Helper()
	l := schema.DefaultLayout()
	d.MaybeScanArgs(t, "metric", &l.MetricWidth)
	d.MaybeScanArgs(t, "tagk", &l.TagkWidth)
	d.MaybeScanArgs(t, "tagv", &l.TagvWidth)
	d.MaybeScanArgs(t, "salt", &l.SaltWidth)
	d.MaybeScanArgs(t, "buckets", &l.SaltBuckets)
	return l
}

// parseOffset reads 30s or 500ms as milliseconds.
func parseOffset(t *testing.T, s string) uint32 {
	t.Helper()
	digits, seconds := strings.TrimSuffix(s, "ms"), 1
	if digits == s {
		digits, seconds = strings.TrimSuffix(s, "s"), 1000
	}
	n, err := strconv.Atoi(digits)
	if err != nil {
		t.Fatalf("offset %q: %v", s, err)
	}
	return uint32(n * seconds)
}

func hexOrNone(b []byte) string {
	if len(b) == 0 {
		return "none"
	}
	return fmt.Sprintf("%X", b)
}

func randomBytes(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}
