package call

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// The start of a request in one zone is what Python makes of it in another.
func TestMktime(t *testing.T) {
	file, err := os.Open("testdata/mktime.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	checked := 0
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		var local, zone string
		var second, want int64
		if _, err := fmt.Sscan(lines.Text(), &local, &zone, &second, &want); err != nil {
			t.Fatal(err)
		}
		at := time.Unix(second, 0).In(location(t, zone))
		_, offset := at.Zone()
		if got := mktime(second+int64(offset), at.IsDST(), location(t, local)); got != want {
			t.Errorf("%s: %d", lines.Text(), got)
		}
		checked++
	}
	if checked < 90 {
		t.Errorf("%d lines were checked", checked)
	}
}

func location(t *testing.T, name string) *time.Location {
	t.Helper()
	l, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}
