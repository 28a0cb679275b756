package status

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
)

// TestReadyAnswersSoon: whatever the engine does, a probe is answered within a second, and the
// answer states that the engine is silent.
func TestReadyAnswersSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := false
		h := &Probe{Engine: "HBase", Ready: func(ctx context.Context) error {
			if !silent {
				return nil
			}
			<-ctx.Done()
			return fmt.Errorf("get table tsdb: %w", ctx.Err())
		}}
		probe := func() (status int, text string) {
			t.Helper()
			begin, w := time.Now(), httptest.NewRecorder()
			h.isReady(w, httptest.NewRequest(http.MethodGet, "/-/ready", http.NoBody))
			if took := time.Since(begin); took > time.Second {
				t.Errorf("the answer takes %v", took)
			}
			return w.Code, w.Body.String()
		}
		if status, text := probe(); status != http.StatusOK {
			t.Fatalf("ready answers %d %q", status, text)
		}
		silent = true
		time.Sleep(2 * readyAge)
		if status, text := probe(); status != http.StatusOK {
			t.Errorf("a slow answer makes it %d %q at once", status, text)
		}
		time.Sleep(readyGrace)
		for range 10 {
			if status, text := probe(); status != http.StatusServiceUnavailable || !strings.Contains(text, "HBase") {
				t.Errorf("ready answers %d %q while HBase is silent", status, text)
			}
		}
		silent = false
		time.Sleep(readyTimeout)
		probe()
		if status, text := probe(); status != http.StatusOK {
			t.Errorf("ready answers %d %q after HBase came back", status, text)
		}
	})
}

// TestReadyReportsOnce: the answer contains the reason once.
func TestReadyReportsOnce(t *testing.T) {
	h := &Probe{Engine: "HBase", Ready: func(context.Context) error {
		return fmt.Errorf("%w: %w", storage.ErrNotReady, errors.New("the log is being replayed"))
	}}
	w := httptest.NewRecorder()
	h.isReady(w, httptest.NewRequest(http.MethodGet, "/-/ready", http.NoBody))
	if got, want := w.Body.String(), "tsdbridge is not ready: the log is being replayed\n"; got != want {
		t.Errorf("ready answers %q, want %q", got, want)
	}
}
