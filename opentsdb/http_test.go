package opentsdb

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/opentsdb/opentsdbtest"
)

// putText returns a request to a path.
func putText(path, content string, fields ...string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: here:4242\r\nUser-Agent: test\r\nContent-Length: %d\r\n%s\r\n%s",
		path, len(content), strings.Join(append(fields, ""), "\r\n"), content)
}

// answerText reads an answer and returns it without its date.
func answerText(t *testing.T, r *bufio.Reader) string {
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		return err.Error()
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Error(err)
	}
	if err := res.Body.Close(); err != nil {
		t.Error(err)
	}
	if _, err := http.ParseTime(res.Header.Get("Date")); err != nil {
		t.Error(err)
	}
	res.Header.Del("Date")
	return fmt.Sprintf("%s %s %d %v %s", res.Proto, res.Status, res.ContentLength, res.Header, body)
}

// Requests of one connection are answered one after the other, whatever the letters of their path.
func TestPutsOfOneConnection(t *testing.T) {
	var gzipped bytes.Buffer
	w := gzip.NewWriter(&gzipped)
	if _, err := io.WriteString(w, somePoint); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	m := opentsdbtest.NewMemory()
	l := run(t, m, nil)
	for _, c := range []struct {
		query, content string
		fields         []string
	}{
		{"", somePoint, nil},
		{"?summary", "[" + somePoint + "," + somePoint + "]", nil},
		{"?details&sync", strings.Replace(somePoint, `"m"`, `"m:"`, 1), nil},
		{"", strings.Replace(somePoint, `"m"`, `"m:"`, 1), nil},
		{"?sync&sync_timeout=60000&details", somePoint, []string{"Content-Type: application/json", "Accept: */*"}},
		{"?sync&sync_timeout=x", somePoint, nil},
		{"", "", nil},
		{"", "{", nil},
		{"", "nonsense", nil},
		{"", "[" + strings.Repeat(somePoint+",", 1000) + somePoint + "]", []string{"Connection: Keep-Alive"}},
		{"", gzipped.String(), []string{"content-encoding: gzip"}},
		{"", somePoint, []string{"Content-Encoding: gzip"}},
		{"", somePoint, []string{"Content-Encoding: br"}},
	} {
		var answers, stored [2]string
		for i, path := range []string{"/api/put", "/API/put"} {
			conn := l.dial(t)
			r := bufio.NewReader(conn)
			for range 2 {
				send(t, conn, putText(path+c.query, c.content, c.fields...))
				answers[i] += answerText(t, r) + "\n"
			}
			stored[i] = fmt.Sprint(m.Stored())
		}
		if answers[0] != answers[1] || stored[0] != stored[1] {
			t.Errorf("%s %.80q %v: (-/API/put +/api/put)\n%s%s", c.query, c.content, c.fields, cmp.Diff(answers[1], answers[0]), cmp.Diff(stored[1], stored[0]))
		}
	}
}

// A request may arrive in pieces, together with others, and after others of another kind.
func TestPutInPieces(t *testing.T) {
	text := putText("/api/put", somePoint) + putText("/api/put?summary", somePoint) + "GET /api/nothing HTTP/1.1\r\nHost: here\r\n\r\n" + putText("/api/put", somePoint)
	m := opentsdbtest.NewMemory()
	l := run(t, m, nil)
	want := ""
	for i := 0; i <= len(text); i += 7 {
		conn := l.dial(t)
		send(t, conn, text[:i])
		if i > 0 {
			l.puts.DropCaches() // what has come so far may be read by now
		}
		send(t, conn, text[i:])
		r := bufio.NewReader(conn)
		got := answerText(t, r) + "\n" + answerText(t, r) + "\n" + answerText(t, r) + "\n" + answerText(t, r)
		if want == "" {
			want = got
		}
		if got != want || !strings.Contains(got, "204 No Content") || !strings.Contains(got, "200 OK") || !strings.Contains(got, "404 Not Found") {
			t.Fatalf("cut at byte %d:\n%s\nwant\n%s", i, got, want)
		}
		if stored := len(m.Stored()); stored != 3 {
			t.Fatalf("cut at byte %d: %d points", i, stored)
		}
		_ = conn.Close()
	}
}

// Nothing is stored of a body that is cut off.
func TestPutCutOff(t *testing.T) {
	m := opentsdbtest.NewMemory()
	l := run(t, m, nil)
	var answers [2]string
	for i, path := range []string{"/api/put", "/API/put"} {
		conn := l.dial(t)
		text := putText(path, somePoint+" ")
		send(t, conn, text[:len(text)-1])
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		answers[i] = answerText(t, bufio.NewReader(conn))
	}
	if !strings.Contains(answers[0], "400 Bad Request") || answers[0] != answers[1] {
		t.Errorf("%s, under /API/put %s", answers[0], answers[1])
	}
	if got := m.Stored(); len(got) > 0 {
		t.Errorf("stored %q", got)
	}
}

// A request that has begun when the process is told to stop is answered; then the connection is
// closed, as is one without a request.
func TestPutWhileStopping(t *testing.T) {
	m := opentsdbtest.NewMemory()
	l := run(t, m, nil)
	idle, busy := l.dial(t), l.dial(t)
	for _, conn := range []net.Conn{idle, busy} {
		send(t, conn, putText("/api/put", somePoint))
		if got := answerText(t, bufio.NewReader(conn)); !strings.Contains(got, "204") {
			t.Fatal(got)
		}
	}
	text := putText("/api/put", somePoint)
	send(t, busy, text[:len(text)-5])
	for l.api.InFlight() == 0 { // until the head is read
		if t.Context().Err() != nil {
			t.Fatal("the request is not read")
		}
		runtime.Gosched()
	}
	done := make(chan error)
	go func() { done <- l.stop() }()
	if _, err := idle.Read(make([]byte, 1)); err == nil {
		t.Error("an idle connection was answered")
	}
	send(t, busy, text[len(text)-5:])
	r := bufio.NewReader(busy)
	if got := answerText(t, r); !strings.Contains(got, "204") {
		t.Error(got)
	}
	if _, err := r.ReadByte(); err == nil {
		t.Error("the connection stays open")
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if got := len(m.Stored()); got != 3 {
		t.Errorf("%d points stored", got)
	}
}
