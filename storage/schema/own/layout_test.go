package own

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
			again, err := ParseLayout(LayoutRecord(l))
			if err != nil || !l.SameRows(again) || !again.SameRows(l) {
				t.Errorf("ParseLayout(%q) = %+v, %v", LayoutRecord(l), again, err)
			}
			return string(LayoutRecord(l)) + "\n"
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
