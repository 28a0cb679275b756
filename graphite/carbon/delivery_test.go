package carbon

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/tsdbridge/tsdbridge/internal/netserver"
	"github.com/tsdbridge/tsdbridge/internal/rejections"
)

// sinkFunc is a Sink.
type sinkFunc func(ctx context.Context, points []Point) error

func (f sinkFunc) Write(ctx context.Context, points []Point) error { return f(ctx, points) }

// logBuffer collects log lines.
type logBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func (b *logBuffer) count(text string) int { return strings.Count(b.String(), text) }

func newTestDelivery(sink Sink, log *logBuffer, stopping <-chan struct{}) *delivery {
	return newDelivery(sink, slog.New(slog.NewTextHandler(log, nil)), newListenerMetrics(prometheus.NewRegistry()), stopping)
}

var errDown = errors.New("the store is down")

// A write is tried again after 100 ms, 200 ms and so on up to 10 s, and an outage is logged once
// for all waiting writes.
func TestDeliveryRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logBuffer
		begin := time.Now()
		var mu sync.Mutex // guards down and tries
		down, tries := true, []time.Duration(nil)
		d := newTestDelivery(sinkFunc(func(context.Context, []Point) error {
			mu.Lock()
			defer mu.Unlock()
			tries = append(tries, time.Since(begin))
			if down {
				return errDown
			}
			return nil
		}), &log, nil)
		go d.write(t.Context(), make([]Point, 3))
		time.Sleep(time.Minute)
		synctest.Wait()
		mu.Lock()
		if n := len(tries); n != 12 || tries[1] != 100*time.Millisecond || tries[2] != 300*time.Millisecond || tries[n-1]-tries[n-2] != netserver.LastRetry {
			t.Errorf("tries at %v", tries)
		}
		mu.Unlock()
		if held, waiting := testutil.ToFloat64(d.metrics.held), testutil.ToFloat64(d.metrics.outages); held != 3 || waiting != 1 {
			t.Errorf("%v points held in %v writes, want 3 in 1", held, waiting)
		}
		go d.write(t.Context(), make([]Point, 2))
		synctest.Wait()
		mu.Lock()
		down = false
		mu.Unlock()
		time.Sleep(netserver.LastRetry)
		synctest.Wait()
		if n := testutil.ToFloat64(d.metrics.points); n != 5 {
			t.Errorf("%v points taken, want 5", n)
		}
		if held, waiting := testutil.ToFloat64(d.metrics.held), testutil.ToFloat64(d.metrics.outages); held != 0 || waiting != 0 {
			t.Errorf("%v points held in %v writes after the outage", held, waiting)
		}
		if log.count("not stored") != 1 || log.count("stored again") != 1 || log.count(errDown.Error()) != 1 {
			t.Errorf("log:\n%s", log.String())
		}
	})
}

// When the process stops, a pause ends at once; when its grace ends, the points are lost and
// counted.
func TestDeliveryStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logBuffer
		stopping := make(chan struct{})
		ctx, giveUp := context.WithCancel(t.Context())
		var tries atomic.Int64
		d := newTestDelivery(sinkFunc(func(context.Context, []Point) error {
			tries.Add(1)
			return errDown
		}), &log, stopping)
		go d.write(ctx, make([]Point, 7))
		time.Sleep(30 * time.Second) // within a pause of 10 s
		synctest.Wait()
		before := tries.Load()
		close(stopping)
		synctest.Wait()
		if n := tries.Load() - before; n != 1 {
			t.Errorf("%d tries when the process stops, want 1", n)
		}
		time.Sleep(netserver.FirstRetry)
		synctest.Wait()
		if n := tries.Load() - before; n != 2 {
			t.Errorf("%d tries in the first %v of the grace, want 2", n, netserver.FirstRetry)
		}
		giveUp()
		synctest.Wait()
		if n := testutil.ToFloat64(d.metrics.lost); n != 7 || d.lost.Load() != 7 {
			t.Errorf("%v points lost, want 7", n)
		}
		d.write(ctx, make([]Point, 2)) // too late for a try
		if d.lost.Load() != 9 || log.count("stored again") != 0 {
			t.Errorf("%d points lost, want 9; log:\n%s", d.lost.Load(), log.String())
		}
	})
}

// Of bad lines samples are kept, with their reason and client, and one in ten seconds is logged.
func TestComplaints(t *testing.T) {
	var log logBuffer
	now := time.Unix(testNow, 0)
	kept := rejections.New(slog.New(slog.NewTextHandler(&log, nil)), func() time.Time { return now })
	l := &Listener{o: Options{Refused: kept}}
	long := []byte(strings.Repeat("x", 200) + "end")
	for range 5 {
		l.complain(t.Context(), ReasonFields, long, "192.0.2.1:5")
		l.complain(t.Context(), ReasonValue, []byte("a b\x00 1"), "192.0.2.1:5")
		l.complain(t.Context(), ReasonNaN, []byte("a nan 1"), "192.0.2.1:5")
	}
	if list := kept.Samples(rejections.Carbon, 100); len(list) != 10 || list[0].Text != "a b\x00 1" || list[0].Reason != "value" || len(list[1].Text) != complaintBytes {
		t.Errorf("%+v", list)
	}
	if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "reason=fields") || !strings.Contains(text, "client=192.0.2.1:5") {
		t.Errorf("log:\n%s", text)
	}
}
