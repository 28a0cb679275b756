package load

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// receiver accepts remote write and records the requests by their bodies, refusing some.
type receiver struct {
	mu     sync.Mutex // guards all below
	bodies map[string]int
	n      int
	answer func(n int) int // status of the request of that number
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n++
	status := r.answer(r.n)
	if err == nil && status == http.StatusNoContent {
		r.bodies[string(body)]++
	}
	w.WriteHeader(status)
}

// The sender repeats a request to a busy server; another failure ends the run, and the next run
// begins with the first request without an acknowledgement. Nothing is left out. Only the request
// whose answer was cut off by a failure on the other lane is sent twice.
func TestSenderContinues(t *testing.T) {
	answers := map[int]int{3: http.StatusServiceUnavailable, 4: http.StatusTooManyRequests, 25: http.StatusInternalServerError}
	r := &receiver{bodies: map[string]int{}, answer: func(n int) int {
		if status, ok := answers[n]; ok {
			return status
		}
		return http.StatusNoContent
	}}
	server := httptest.NewServer(r)
	defer server.Close()
	corpus := Encode(small, RemoteWrite2, 2, 100)
	s := NewSender(corpus, Target{URL: server.URL})
	if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "status 500") {
		t.Fatalf("the first run ended with %v", err)
	}
	if s.Acked() == corpus.Samples {
		t.Error("everything is acknowledged, though a request failed")
	}
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	requests, again := 0, 0
	for i, lane := range corpus.Lanes {
		for n, one := range lane {
			times := r.bodies[string(one.Body)]
			if times == 0 {
				t.Errorf("lane %d: request %d never came", i, n)
			}
			again += times - 1
		}
		requests += len(lane)
		if s.Done(i) != len(lane) {
			t.Errorf("lane %d: %d requests done of %d", i, s.Done(i), len(lane))
		}
	}
	if again > 1 || len(r.bodies) != requests {
		t.Errorf("%d different requests of %d came, %d of them again", len(r.bodies), requests, again)
	}
	if s.Acked() != corpus.Samples || s.Busy() != 2 || len(s.Latencies()) != requests {
		t.Errorf("acked %d of %d, busy %d, %d latencies of %d", s.Acked(), corpus.Samples, s.Busy(), len(s.Latencies()), requests)
	}
}

// All lines are read when Run returns, and a complaint of the server is an error.
func TestSenderOfLines(t *testing.T) {
	for _, test := range []struct {
		name, complaint string
		lanes           int // one complaint would cut the others off
	}{{"silent", "", 2}, {"complaining", "put: illegal argument\n", 1}} {
		t.Run(test.name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			lines := make(chan int, 2)
			go func() {
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					n := 0
					for scan := bufio.NewScanner(conn); scan.Scan(); n++ {
					}
					lines <- n
					_, _ = io.WriteString(conn, test.complaint)
					conn.Close()
				}
			}()
			s := NewSender(Encode(small, Telnet, test.lanes, 100), Target{Addr: l.Addr().String()})
			err = s.Run(t.Context())
			n := 0
			for range test.lanes {
				n += <-lines
			}
			if n != small.Samples() {
				t.Errorf("%d lines of %d had been read", n, small.Samples())
			}
			if (err != nil) != (test.complaint != "") || err != nil && !strings.Contains(err.Error(), "illegal argument") {
				t.Errorf("Run = %v", err)
			}
		})
	}
}

func TestSenderStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		cancel()
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer server.Close()
	if err := NewSender(Encode(small, RemoteWrite1, 2, 100), Target{URL: server.URL}).Run(ctx); err == nil {
		t.Error("a run that was stopped ended without an error")
	}
}

// A lane waits for the slowest lane until that has ended.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace(2)
		p.wait(0, maxAhead) // the other is at 0
		passed := false
		go func() {
			p.wait(0, maxAhead+1)
			passed = true
		}()
		if synctest.Wait(); passed {
			t.Error("too far ahead")
		}
		p.wait(1, 1)
		if synctest.Wait(); !passed {
			t.Error("waits though the other has moved")
		}
		p.leave(1)
		p.wait(0, 10*maxAhead)
	})
}
