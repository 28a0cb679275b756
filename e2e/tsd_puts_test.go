package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// testTSDPuts sends the same puts to the adapter and to a TSD, and compares the stored bytes. Then
// it sends the same points to both: a TSD answers with an error where a row contains an instant in
// two forms.
func testTSDPuts(t *testing.T, s tables) {
	s.create(t)
	a := s.startAdapter(t, "--opentsdb.listen-address=127.0.0.1:0")
	addr := a.opentsdbAddr(t)
	d := s.startTSD(t, false, withoutMeta()...)
	us := newClient(addr)
	for by, door := range map[string]struct {
		addr string
		client
	}{"us": {addr, us}, "tsd": {d.Addr(), d.client}, "both": {addr, us}, "again": {d.Addr(), d.client}} {
		by = strings.Replace(by, "again", "both", 1)
		sendCarbon(t, "tcp", door.addr, strings.Join(telnetPuts("puts.telnet", by), ""))
		if r := door.Post(t, "/api/put?details", map[string]string{"Content-Type": "application/json"}, httpPuts("puts.http", by)); r.status != http.StatusOK {
			t.Fatalf("put by %s: %v", by, r)
		}
	}
	want := len(telnetPuts("", "")) + 2*len(putNumbers())
	eventually(t, waitTimeout, "the cells of both", func() error {
		cells := s.cellsBy(t)
		if n, m, b := len(cells["us"]), len(cells["tsd"]), len(cells["both"]); n != want || m != want || b < want {
			return fmt.Errorf("%d cells of ours, %d of the TSD, %d of both, want %d each", n, m, b, want)
		}
		if diff := cmp.Diff(cells["tsd"], cells["us"]); diff != "" {
			t.Fatalf("cells: (-tsd +us)\n%s", diff)
		}
		return nil
	})
	for _, metric := range []string{"puts.telnet", "puts.http"} {
		if _, err := d.Query(t, "none:"+metric+"{by=both}", epoch, epoch.Add(400*time.Hour)); err != nil {
			t.Errorf("the TSD meets an instant twice: %v", err)
		}
	}
}

// putNumbers are numbers of every form that JSON has too.
func putNumbers() []string {
	return append(tsdValues(), "5", "5.0", "1.0", "1e3", "1E3", "1e+3", "1.5", "42.5", "1.1", "16777216.0", "-0", "0.0", "1.00000000000000000001", "3.4028235e38", "1e-46", "1e300")
}

// putTexts are numbers that JSON has as texts only.
func putTexts() []string { return []string{"005", "+5", "5.", ".5", "+1.5", "1.5f", "1.5d"} }

// telnetPuts and httpPuts put each number in an hour of its own, so that it is a cell of its own:
// in seconds, in milliseconds, and whole seconds in milliseconds.
func telnetPuts(metric, by string) (lines []string) {
	for i, v := range append(putNumbers(), putTexts()...) {
		lines = append(lines, fmt.Sprintf("put %s %d %s by=%s\n", metric, hourStamp(i), v, by))
	}
	return lines
}

func httpPuts(metric, by string) []byte {
	var points []string
	add := func(v string) {
		points = append(points, fmt.Sprintf(`{"metric":%q,"timestamp":%d,"value":%s,"tags":{"by":%q}}`, metric, hourStamp(len(points)), v, by))
	}
	for _, v := range putNumbers() {
		add(v)
		add(`"` + v + `"`)
	}
	return []byte("[" + strings.Join(points, ",") + "]")
}

func hourStamp(i int) int64 {
	stamp := epoch.Unix() + int64(i)*3600 + int64(i)
	switch i % 3 {
	case 0:
		return stamp*1000 + 7
	case 1:
		return stamp * 1000
	}
	return stamp
}

// cellsBy reads the cells of points by the value of the tag "by", under metric, base time and
// qualifier.
func (s tables) cellsBy(t *testing.T) map[string]map[string]string {
	t.Helper()
	values := map[string]string{} // by UID
	for _, c := range s.cells(t, s.name+"-uid") {
		if c.family == "name" && c.qualifier == "tagv" {
			values[c.row] = c.value
		}
	}
	const metricAndTime, uid = 3 + 4, 3
	all := map[string]map[string]string{}
	for _, c := range s.cells(t, s.name) {
		by := values[c.row[len(c.row)-uid:]]
		if all[by] == nil {
			all[by] = map[string]string{}
		}
		all[by][fmt.Sprintf("%x %x", c.row[:metricAndTime], c.qualifier)] = fmt.Sprintf("%x", c.value)
	}
	return all
}
