package e2e_test

import (
	"fmt"
	"net/http"
	"regexp"
	"testing"
	"time"
)

// opentsdbAddr returns where the adapter takes OpenTSDB's puts.
func (a *adapter) opentsdbAddr(t testing.TB) string {
	t.Helper()
	line, err := a.process.out.line("msg=listening", "protocol=opentsdb")
	if err != nil {
		t.Fatalf("opentsdb listener: %v\n%s", err, a.process.out.tail())
	}
	return regexp.MustCompile(`address=(\S+)`).FindStringSubmatch(line)[1]
}

// testPut sends points by telnet and by HTTP, and a TSD on the same tables computes with them as
// with its own.
func testPut(t *testing.T, s tables) {
	s.create(t)
	a := s.startAdapter(t, "--opentsdb.listen-address=127.0.0.1:0")
	addr := a.opentsdbAddr(t)
	sendCarbon(t, "tcp", addr, fmt.Sprintf("put put.total %d 1 host=a\nput put.total %d 2 host=b\nput put.total %d x host=b\n", second(0), second(0), second(0)))
	body := fmt.Sprintf(`[{"metric":"put.total","timestamp":%d,"value":3,"tags":{"host":"a"}},{"metric":"put.float","timestamp":%d,"value":"1.5","tags":{"host":"a"}}]`, second(10), second(10))
	if r := newClient(addr).Post(t, "/api/put", nil, []byte(body)); r.status != http.StatusNoContent {
		t.Fatalf("put: %v", r)
	}
	want := pointSet{}
	want.add(keyText("__name__", "put.total", "host", "a"), second(0)*1000, 1)
	want.add(keyText("__name__", "put.total", "host", "a"), second(10)*1000, 3)
	want.add(keyText("__name__", "put.total", "host", "b"), second(0)*1000, 2)
	eventually(t, waitTimeout, "the points of telnet", func() error {
		if got := ourPoints(t, a.client, "put.total", epoch, epoch.Add(time.Minute)); len(got) != len(want) {
			return fmt.Errorf("%d series", len(got))
		}
		return nil
	})
	want.check(t, "remote read", ourPoints(t, a.client, "put.total", epoch, epoch.Add(time.Minute)))

	d := s.startTSD(t, false)
	// Points that come through this port are in the log first, and in the table some seconds later.
	want.wait(t, "TSD query", func() (pointSet, error) { return d.points(t, "put.total", epoch, epoch.Add(time.Minute)) })
	// Of integers a TSD computes the average in integers: that of 1 and 2 is 1.
	found, err := d.Query(t, "avg:put.total", epoch, epoch.Add(5*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || found[0].DPs[0][1].String() != "1" {
		t.Errorf("avg of 1 and 2 = %v, want the TSD's 1", found)
	}
}
