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

// checkFsck runs OpenTSDB's check of all rows. It must find nothing, having looked at everything: it may stop early without a word.
func (s tables) checkFsck(t *testing.T, d tsd, points int, flags ...string) {
	t.Helper()
	// With more than one thread each reads all rows of a table as small as this.
	out, err := d.Tool(t.Context(), "Fsck", append([]string{"--threads=1", "--full-scan"}, flags...)...)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, m := range summaryLine.FindAllStringSubmatch(out, -1) {
		counts[m[1]], _ = strconv.Atoi(m[2]) // digits
	}
	cells := s.cells(t, s.name)
	want := map[string]int{
		"Key Values Processed": len(cells), "Rows Processed": countRows(cells), "Valid Datapoints": points,
		"Possible Future Objects": countObjects(cells), "Total Errors": 0,
	}
	for name, n := range want {
		if got, ok := counts[name]; !ok || got != n {
			t.Errorf("fsck %v: %s: %d, want %d", flags, name, got, n)
		}
		delete(counts, name)
	}
	for name, n := range counts {
		if n != 0 {
			t.Errorf("fsck %v: %s: %d", flags, name, n)
		}
	}
	t.Logf("fsck %v: %v", flags, want)
	if t.Failed() {
		t.Log(out)
	}
}

// summaryLine is a line of what Fsck counts.
var summaryLine = regexp.MustCompile(`(?m) Fsck: ([A-Z][\w ]*\w) ?: (\d+)$`)

func countRows(cells []cell) (rows int) {
	for i, c := range cells {
		if i == 0 || c.row != cells[i-1].row {
			rows++
		}
	}
	return rows
}

func countObjects(cells []cell) (objects int) {
	for _, c := range cells {
		if c.isObject() {
			objects++
		}
	}
	return objects
}
