package schema

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestCells runs the data files about cells:
//
//	decode    qualifier = value -> what the cell is and contains; if encoding that again gives other bytes, those
//	encode    points -> their one cell; values= chooses the encoding of floats
//	put       times in milliseconds and values -> base time and cell
//	classify  a qualifier a line -> the kind of its cell
func TestCells(t *testing.T) {
	for _, file := range []string{"points", "compacted", "append_cells", "other_cells"} {
		t.Run(file, func(t *testing.T) {
			datadriven.RunTest(t, "testdata/"+file, func(t *testing.T, d *datadriven.TestData) string {
				switch d.Cmd {
				case "decode":
					return describeCell(parseCell(t, d.Input))
				case "encode":
					return encodePoints(t, d)
				case "put":
					return eachLine(d, func(line string) string { return put(t, d, line) })
				case "classify":
					return eachLine(d, func(line string) string { return kindWord(ClassifyCell(parseHex(t, line))) })
				}
				d.Fatalf(t, "unknown command")
				return ""
			})
		})
	}
}

func kindWord(k CellKind) string {
	return [...]string{"unknown", "data", "append", "annotation", "histogram", "object"}[k]
}

func describeCell(qualifier, value []byte) string {
	var points []Point
	var err error
	kind := ClassifyCell(qualifier)
	switch kind {
	case CellData:
		points, err = DecodeData(nil, qualifier, value)
	case CellAppend:
		points, err = DecodeAppend(nil, value)
	default:
		return kindWord(kind)
	}
	if err != nil {
		return fmt.Sprintf("error: %v", err)
	}
	var out strings.Builder
	for _, p := range points {
		fmt.Fprintln(&out, describePoint(p))
	}
	if q, v := AppendCell(nil, nil, points); !bytes.Equal(q, qualifier) || !bytes.Equal(v, value) {
		fmt.Fprintf(&out, "we would write %X=%X\n", q, v)
	}
	return out.String()
}

func describePoint(p Point) string {
	at := fmt.Sprintf("%ds", p.Offset/1000)
	if p.Millis {
		at = fmt.Sprintf("%dms", p.Offset)
	}
	if p.Flags&FlagFloat == 0 {
		return fmt.Sprintf("%s int%d %d", at, p.Width(), p.Int())
	}
	if v := p.Float(); math.IsNaN(v) {
		return fmt.Sprintf("%s float%d NaN %X", at, p.Width(), p.Bits)
	}
	return fmt.Sprintf("%s float%d %v", at, p.Width(), p.Float())
}

func encodePoints(t *testing.T, d *datadriven.TestData) string {
	var points []Point
	for _, line := range inputLines(d) {
		at, value, _ := strings.Cut(line, " ")
		p, ok := parsePoint(t, d, parseOffset(t, at), value)
		if !ok {
			return fmt.Sprintf("%s: not a data point", line)
		}
		points = append(points, p)
	}
	q, v := AppendCell(nil, nil, points)
	return fmt.Sprintf("%X=%X", q, v)
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
func parsePoint(t *testing.T, d *datadriven.TestData, offset uint32, s string) (Point, bool) {
	t.Helper()
	values := ValuesAuto
	if d.HasArg("values") {
		var word string
		d.ScanArgs(t, "values", &word)
		var err error
		if values, err = ParseValues(word); err != nil {
			t.Fatal(err)
		}
	}
	kind, text, _ := strings.Cut(s, " ")
	if kind == "int" {
		v, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatalf("value %q: %v", s, err)
		}
		return IntPoint(offset, v), true
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatalf("value %q: %v", s, err)
	}
	return FloatPoint(offset, v, values)
}

func put(t *testing.T, d *datadriven.TestData, line string) string {
	t.Helper()
	at, value, _ := strings.Cut(line, " ")
	ms, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		t.Fatalf("time %q: %v", at, err)
	}
	if got := Time(Base(ms), Offset(ms)); got != ms {
		return fmt.Sprintf("time %d becomes %d", ms, got)
	}
	p, ok := parsePoint(t, d, Offset(ms), value)
	if !ok {
		return "not a data point"
	}
	return fmt.Sprintf("%08X  %X=%X", Base(ms), p.AppendQualifier(nil), p.AppendValue(nil))
}
