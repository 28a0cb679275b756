package columns

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

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

// parsePoint reads "int 42" or "float 42.5".
func parsePoint(t *testing.T, d *datadriven.TestData, offset uint32, s string) (schema.Point, bool) {
	t.Helper()
	values := schema.ValuesAuto
	if d.HasArg("values") {
		var word string
		d.ScanArgs(t, "values", &word)
		var err error
		if values, err = schema.ParseValues(word); err != nil {
			t.Fatal(err)
		}
	}
	kind, text, _ := strings.Cut(s, " ")
	if kind == "int" {
		v, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatalf("value %q: %v", s, err)
		}
		return schema.IntPoint(offset, v), true
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatalf("value %q: %v", s, err)
	}
	return schema.FloatPoint(offset, v, values)
}

// randomPoints returns n points at ascending instants, about half of them whole seconds, with
// values of every length.
func randomPoints(rng *rand.Rand, n int) []schema.Point {
	offsets := map[uint32]bool{}
	for len(offsets) < n {
		offset := rng.Uint32N(schema.RowSeconds * 1000)
		if rng.IntN(2) == 0 {
			offset = offset / 1000 * 1000
		}
		offsets[offset] = true
	}
	points := make([]schema.Point, 0, n)
	for offset := range offsets {
		points = append(points, randomPoint(rng, offset))
	}
	slices.SortFunc(points, func(a, b schema.Point) int { return int(a.Offset) - int(b.Offset) })
	return points
}

func randomPoint(rng *rand.Rand, offset uint32) schema.Point {
	if p, ok := schema.FloatPoint(offset, math.Float64frombits(rng.Uint64()), schema.ValuesAuto); ok && rng.IntN(3) == 0 {
		return p
	}
	if p, ok := schema.FloatPoint(offset, float64(math.Float32frombits(rng.Uint32())), schema.ValuesAuto); ok && rng.IntN(2) == 0 {
		return p
	}
	return schema.IntPoint(offset, rng.Int64()>>rng.UintN(64))
}
