package timespec

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// TestParseTime reads lines between > and < in a zone, relative to now.
func TestParseTime(t *testing.T) {
	datadriven.RunTest(t, "testdata/timespec", func(t *testing.T, d *datadriven.TestData) string {
		var zone, now string
		d.ScanArgs(t, "tz", &zone)
		d.ScanArgs(t, "now", &now)
		loc, err := time.LoadLocation(zone)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		seconds, err := strconv.ParseInt(now, 10, 64)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		var b strings.Builder
		for line := range strings.SplitSeq(d.Input, "\n") {
			got, err := ParseTime(strings.TrimSuffix(strings.TrimPrefix(line, ">"), "<"), loc, time.Unix(seconds, 0))
			if err != nil {
				fmt.Fprintln(&b, "error")
				continue
			}
			fmt.Fprintln(&b, got.Unix())
		}
		return b.String()
	})
}

func FuzzParseTime(f *testing.F) {
	for _, s := range []string{"-1h30min", "noon yesterday", "8:50pm_20250304", "jan5", "monday+1d", "03/04/25", "1741050000"} {
		f.Add(s)
	}
	loc, err := time.LoadLocation("America/New_York")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseTime(text, loc, time.Unix(1741057200, 0))
		if err != nil {
			return
		}
		if again, err := ParseTime(strconv.FormatInt(got.Unix(), 10), loc, time.Time{}); got.Unix() > 99999999 && (err != nil || !again.Equal(got.Truncate(time.Second))) {
			t.Fatalf("ParseTime(%q) = %v, which reads as %v, %v", text, got, again, err)
		}
	})
}
