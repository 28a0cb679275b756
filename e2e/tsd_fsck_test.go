package e2e_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// checkUIDFsck runs OpenTSDB's check of the UIDs, which must find nothing.
func checkUIDFsck(t *testing.T, d tsd) {
	t.Helper()
	out, err := d.Tool(t.Context(), "UidManager", "--verbose", "fsck")
	if err != nil || !strings.Contains(out, "No errors found") {
		t.Errorf("uid fsck: %v\n%s", err, out)
	}
}

// checkFsck runs OpenTSDB's check of all rows. It must find nothing and must have read everything,
// since it may stop early without an error.
func (s tables) checkFsck(t *testing.T, d tsd, points int, flags ...string) {
	t.Helper()
	cells := s.cells(t, s.name) // fsck may leave fewer
	// With more than one thread each reads all rows of a table as small as this.
	out, err := d.Tool(t.Context(), "Fsck", append([]string{"--threads=1", "--full-scan"}, flags...)...)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, m := range summaryLine.FindAllStringSubmatch(out, -1) {
		counts[m[1]], _ = strconv.Atoi(m[2]) // digits
	}
	want := map[string]int{
		"Key Values Processed": len(cells), "Valid Datapoints": points, "Possible Future Objects": countObjects(cells), "Total Errors": 0,
	}
	t.Logf("fsck %v: %v", flags, counts)
	delete(counts, "Rows Processed") // not the last one
	for name := range counts {
		if counts[name] != want[name] {
			t.Errorf("fsck %v: %s: %d, want %d", flags, name, counts[name], want[name])
		}
	}
	for name := range want {
		if _, ok := counts[name]; !ok {
			t.Errorf("fsck %v does not mention %s:\n%s", flags, name, out)
		}
	}
}

// summaryLine is a line of what Fsck counts.
var summaryLine = regexp.MustCompile(`(?m) Fsck: ([A-Z][\w ]*\w) ?: (\d+)$`)

func countObjects(cells []cell) (objects int) {
	for _, c := range cells {
		if c.isObject() {
			objects++
		}
	}
	return objects
}
