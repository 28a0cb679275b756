package opentsdb

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/tsdbridge/tsdbridge/opentsdb/opentsdbtest"
)

// Connections that are silent, or send only the beginning of a request, do not keep others out,
// however many there are.
func TestSilentConnectionsDoNotBlockOthers(t *testing.T) {
	const most = 20
	m := opentsdbtest.NewMemory()
	l := run(t, m, func(o *listenerOptions) { o.MaxConnections = most })
	sender := l.dial(t)
	replies := bufio.NewReader(sender)
	talk := func() {
		t.Helper()
		send(t, sender, "put m 1 1 s=a\nversion\n")
		for range 2 {
			answered(t, replies)
		}
	}
	talk()
	for i, beginning := range []string{"", "put m 1 ", "POST /api/put HT", "GET /api/put HTTP/1.1\r\nHost: x\r\n", putText("/api/put", somePoint)[:80], "\n\n\n"} {
		for range 2 * most {
			send(t, l.dial(t), beginning)
		}
		talk()
		if res := post(t, l, somePoint); res.StatusCode != http.StatusNoContent {
			t.Errorf("beginning %d: status %d", i, res.StatusCode)
		}
	}
	// The clients keep all their connections open. One that was closed here is counted until its
	// goroutine ends.
	for end := time.Now().Add(time.Minute); l.metrics.open.Load() > most+1; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d connections, want %d and the one that was accepted last", l.metrics.open.Load(), most)
		}
	}
}

// Memory grows with the bytes that arrive, not with the announced length.
func TestClaimedLengthCostsNothing(t *testing.T) {
	m := opentsdbtest.NewMemory()
	l := run(t, m, nil)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	const claims = 200
	for _, path := range []string{"/api/put", "/API/put"} {
		for range claims {
			send(t, l.dial(t), fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 33000000\r\n\r\n%s", path, strings.Repeat(" ", 100)))
		}
	}
	for testutil.ToFloat64(l.metrics.http) < 2*claims || l.api.InFlight() == 0 {
		if t.Context().Err() != nil {
			t.Fatal("the heads are not read")
		}
		time.Sleep(time.Millisecond)
	}
	if res := post(t, l, somePoint); res.StatusCode != http.StatusNoContent {
		t.Errorf("status %d", res.StatusCode)
	}
	runtime.ReadMemStats(&after)
	if grown := int64(after.TotalAlloc) - int64(before.TotalAlloc); grown > 100<<20 {
		t.Errorf("%d MiB allocated for %d claims of 100 bytes", grown>>20, 2*claims)
	}
}

// Bodies that never end give way to those that do: the slowest lose their memory first.
func TestSlowBodiesGiveWay(t *testing.T) {
	m := opentsdbtest.NewMemory()
	o := smallAPI()
	o.BodyBytes = 1 << 20
	l := runAPI(t, m, o, nil)
	api := l.api
	var slow []net.Conn
	for range 12 {
		conn := l.dial(t)
		send(t, conn, fmt.Sprintf("POST /api/put HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", 1<<20, strings.Repeat(" ", 1<<20-1)))
		slow = append(slow, conn)
	}
	for api.InFlight() < 4<<20 {
		time.Sleep(time.Millisecond)
	}
	if res := post(t, l, strings.Repeat(" ", 900<<10)+somePoint); res.StatusCode != http.StatusNoContent {
		t.Errorf("status %d", res.StatusCode)
	}
	res, err := http.ReadResponse(bufio.NewReader(slow[0]), nil)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("the slowest is answered %d %s", res.StatusCode, text)
	}
	for _, conn := range slow {
		_ = conn.Close()
	}
	for api.InFlight() > 0 {
		time.Sleep(time.Millisecond)
	}
}
