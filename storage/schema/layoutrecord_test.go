package schema

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestLayoutRecord runs testdata/layout_record: "record" prints the record of a layout, "parse"
// reads records.
func TestLayoutRecord(t *testing.T) {
	datadriven.RunTest(t, "testdata/layout_record", func(t *testing.T, d *datadriven.TestData) string {
		if d.Cmd == "record" {
			l := layoutOf(t, d)
			again, err := ParseLayout(l.Record())
			if err != nil || !l.SameRows(again) || !again.SameRows(l) {
				t.Errorf("ParseLayout(%q) = %+v, %v", l.Record(), again, err)
			}
			return string(l.Record()) + "\n"
		}
		return eachLine(d, func(line string) string {
			l, err := ParseLayout([]byte(line))
			if err != nil {
				return err.Error()
			}
			return fmt.Sprintf("%+v", l)
		})
	})
}

func TestSameRows(t *testing.T) {
	salted := Layout{3, 3, 3, 1, 20}
	for _, c := range []struct {
		a, b Layout
		same bool
	}{
		{DefaultLayout(), Layout{3, 3, 3, 0, 4}, true},
		{DefaultLayout(), Layout{4, 3, 3, 0, 20}, false},
		{DefaultLayout(), salted, false},
		{salted, Layout{3, 3, 3, 1, 4}, false},
		{salted, salted, true},
	} {
		if got := c.a.SameRows(c.b); got != c.same {
			t.Errorf("%+v SameRows %+v = %v, want %v", c.a, c.b, got, c.same)
		}
	}
}
