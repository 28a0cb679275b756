package query

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestAccounts: a body takes memory as it arrives, more than there is ends it, an answer of 503 says
// when to try again if others hold the memory, and all goes back in the end.
func TestAccounts(t *testing.T) {
	for _, c := range []struct {
		name   string
		others int64 // bytes that others hold
		body   int
		status int // of the handler when reading fails
		want   int
		retry  string
	}{
		{"fits", 0, 25, 503, 200, ""},
		{"others hold the memory", 60, 25, 503, 503, "1"},
		{"others hold the memory, another status", 60, 25, 413, 413, ""},
		{"never fits", 0, 26, 503, 503, ""},
	} {
		b := NewBudget(100)
		other := b.Open()
		if err := other.Take(c.others); err != nil {
			t.Fatal(err)
		}
		handler := Accounts(b)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			got, err := io.ReadAll(r.Body)
			if err != nil {
				w.WriteHeader(c.status)
				return
			}
			if used := b.Used(); used != c.others+BodyCost*int64(len(got)) {
				t.Errorf("%s: %d bytes are used for a body of %d", c.name, used, len(got))
			}
			if AccountOf(r.Context()).Limit() != 100 {
				t.Errorf("%s: the context has no account of the budget", c.name)
			}
			w.WriteHeader(http.StatusOK)
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}))
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(strings.Repeat("x", c.body))))
		if w.Code != c.want || w.Header().Get("Retry-After") != c.retry {
			t.Errorf("%s: status %d, Retry-After %q, want %d and %q", c.name, w.Code, w.Header().Get("Retry-After"), c.want, c.retry)
		}
		if b.Used() != c.others {
			t.Errorf("%s: %d bytes are used in the end, want %d", c.name, b.Used(), c.others)
		}
	}
}

// waitError is the error of a request that others go before, for a time.
type waitError time.Duration

func (waitError) Error() string         { return "others go first" }
func (waitError) Is(target error) bool  { return target == ErrBusy }
func (e waitError) Wait() time.Duration { return time.Duration(e) }

// TestRetryAfter: a request that was refused because of others may come again when they are expected to have ended.
func TestRetryAfter(t *testing.T) {
	for wait, want := range map[time.Duration]string{0: "1", time.Millisecond: "1", time.Second: "1", 2500 * time.Millisecond: "3", time.Hour: "30"} {
		handler := Accounts(NewBudget(0))(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			AccountOf(r.Context()).Share(fmt.Errorf("wait: %w", waitError(wait)))
			w.WriteHeader(http.StatusServiceUnavailable)
		}))
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		if got := w.Header().Get("Retry-After"); got != want {
			t.Errorf("after %v: Retry-After %s, want %s", wait, got, want)
		}
	}
}
