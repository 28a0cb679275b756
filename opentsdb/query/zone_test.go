package query

import (
	"bufio"
	"compress/gzip"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestZonesOfJava compares with what testdata/zones/Record.java printed with Java 17: the offset of every zone of
// TimeZone.getAvailableIDs at the first of January and July of three years.
func TestZonesOfJava(t *testing.T) {
	f, err := os.Open("testdata/zones/java.txt.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for s := bufio.NewScanner(lines); s.Scan(); {
		id, offsets, _ := strings.Cut(s.Text(), " ")
		if strings.HasPrefix(id, "SystemV/") { // which newer releases of Java do not have
			continue
		}
		n++
		zone, err := ParseZone(id)
		if err != nil {
			t.Errorf("%s: %v", id, err)
			continue
		}
		for i, want := range strings.Fields(offsets) {
			at := time.Date([]int{1985, 2013, 2024}[i/2], time.Month(1+i%2*6), 1, 0, 0, 0, 0, time.UTC)
			if _, got := at.In(zone).Zone(); strconv.Itoa(got) != want {
				t.Errorf("%s at %v: offset %d, Java has %s", id, at, got, want)
			}
		}
	}
	if n < 500 {
		t.Errorf("%d zones", n)
	}
}

// TestZonesOfNobody are refused, as Java has none of the name.
func TestZonesOfNobody(t *testing.T) {
	for _, id := range []string{
		"Local", "local", "localtime", "posix/Europe/Berlin", "posix/UTC", "right/UTC", "right/Europe/Berlin", "posixrules", "Factory", "ROC", "GMT+0", "GMT-0", "GMT+8", "+08:00", "utc", "gmt",
		"europe/berlin", "EUROPE/BERLIN", "pst", "PDT", "CEST", "EDT", "Z", "Europe/../Europe/Berlin", "../UTC", "/UTC", "/etc/localtime", "Europe", "Europe/", "UTC ", " UTC", "tzdata.zi", "zone.tab", "SystemV/PST8PDT", "UTC+1", "UTC\x00", `Europe\Berlin`,
	} {
		if zone, err := ParseZone(id); err == nil {
			t.Errorf("%q is %v", id, zone)
		}
	}
}

// TestZoneOfDatesAlone: the zone of the server is that of dates. Days begin in that of the request, without one in
// UTC, as a TSD's.
func TestZoneOfDatesAlone(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for timezone, want := range map[string]string{"": "UTC", "PST": "America/Los_Angeles"} {
		r := &Request{Start: "2013/01/01", End: "2013/01/02", Timezone: timezone, DefaultZone: berlin, Queries: []SubQuery{{Aggregator: "sum", Metric: "m", Downsample: "1dc-sum"}}}
		if err := r.Check(time.Unix(1.4e9, 0)); err != nil {
			t.Fatal(err)
		}
		start := time.UnixMilli(r.start).In(berlin).Hour()
		if got := r.Queries[0].downsampling.Zone.String(); got != want || (timezone == "") != (start == 0) {
			t.Errorf("timezone %q: days of %s, start at %d o'clock in Berlin", timezone, got, start)
		}
	}
}
