package netserver

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func newRetrier(log *bytes.Buffer, stopping <-chan struct{}) *Retrier {
	return &Retrier{
		What: "test", Logger: slog.New(slog.NewTextHandler(log, nil)), Stopping: stopping,
		Retries: prometheus.NewCounter(prometheus.CounterOpts{Name: "retries"}), Waiting: prometheus.NewGauge(prometheus.GaugeOpts{Name: "waiting"}),
	}
}

var errAway = errors.New("the store is away")

// Writes are tried until they succeed. An outage is logged once, however many writes wait, and so
// is its end.
func TestRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		r, begin := newRetrier(&log, nil), time.Now()
		results := make(chan bool)
		for range 3 {
			go func() {
				results <- r.Retry(t.Context(), func() error {
					if time.Since(begin) < time.Minute {
						return errAway
					}
					return nil
				})
			}()
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if got := testutil.ToFloat64(r.Waiting); got != 3 {
			t.Errorf("%v waiting", got)
		}
		for range 3 {
			if !<-results {
				t.Error("given up")
			}
		}
		if since := time.Since(begin); since < time.Minute || since > time.Minute+LastRetry {
			t.Errorf("it took %v", since)
		}
		if n := strings.Count(log.String(), "level=WARN"); n != 1 || strings.Count(log.String(), "stored again") != 1 {
			t.Errorf("log:\n%s", log.String())
		}
		if got := testutil.ToFloat64(r.Waiting); got != 0 {
			t.Errorf("%v waiting at the end", got)
		}
	})
}

// The end of the context ends a write; when the process stops, the write is tried at once, and more
// often.
func TestRetryEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		stopping := make(chan struct{})
		r := newRetrier(&log, stopping)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan bool)
		go func() { done <- r.Retry(ctx, func() error { return errAway }) }()
		time.Sleep(time.Minute)
		before := testutil.ToFloat64(r.Retries)
		close(stopping)
		time.Sleep(FirstRetry)
		synctest.Wait()
		if now := testutil.ToFloat64(r.Retries); now < before+2 {
			t.Errorf("%v tries before, %v after", before, now)
		}
		cancel()
		if <-done {
			t.Error("it succeeded")
		}
		if strings.Contains(log.String(), "stored again") {
			t.Errorf("log:\n%s", log.String())
		}
	})
}
