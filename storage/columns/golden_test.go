package columns

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// TestColumnsFile runs testdata/columns, which fixes the form on disk: points, as in the files
// about cells, and the columns of their cell. A line that ends in "every 15000 ms 20 times" stands
// for as many points.
func TestColumnsFile(t *testing.T) {
	datadriven.RunTest(t, "testdata/columns", func(t *testing.T, d *datadriven.TestData) string {
		var points []schema.Point
		for _, line := range inputLines(d) {
			line, repeat, _ := strings.Cut(line, " every ")
			step, times := 0, 1
			if repeat != "" {
				if _, err := fmt.Sscanf(repeat, "%d ms %d times", &step, &times); err != nil {
					d.Fatalf(t, "%q: %v", repeat, err)
				}
			}
			at, value, _ := strings.Cut(line, " ")
			for i := range times {
				p, ok := parsePoint(t, d, parseOffset(t, at)+uint32(i*step), value)
				if !ok {
					d.Fatalf(t, "%q is no point", line)
				}
				points = append(points, p)
			}
		}
		q, v := schema.AppendCell(nil, nil, points)
		var e Encoder
		coded, ok := e.Append(nil, q, v)
		if !ok {
			return fmt.Sprintf("%d points, %d bytes, not coded\n", len(points), len(q)+len(v))
		}
		var decoder Decoder
		if gotQ, gotV, err := decoder.AppendCell(nil, nil, coded); err != nil || !bytes.Equal(gotQ, q) || !bytes.Equal(gotV, v) {
			d.Fatalf(t, "%X comes back as %X=%X, %v", coded, gotQ, gotV, err)
		}
		return fmt.Sprintf("%d points, %d bytes, coded %d\n%X\n", len(points), len(q)+len(v), len(coded), coded)
	})
}
