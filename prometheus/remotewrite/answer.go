package remotewrite

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/retry"
)

// An answer is what the client of the module does not tell of an answer.
type answer struct {
	status int
	after  time.Duration // how long the server asks to wait: Retry-After
}

// longestPause is how long a server may ask to wait.
const longestPause = 5 * time.Minute

// pause waits as long as the server asks for, or until ctx ends.
func (a answer) pause(ctx context.Context) {
	retry.Sleep(ctx, min(a.after, longestPause))
}

// retryAfter reads the header: seconds, or a time.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseInt(header, 10, 32); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return at.Sub(now)
	}
	return 0
}

// answerKey is the key of an *answer in a context.
type answerKey struct{}

// An answerKeeper keeps answers.
type answerKeeper struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (k answerKeeper) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := k.next.RoundTrip(r)
	if a, ok := r.Context().Value(answerKey{}).(*answer); ok && err == nil {
		*a = answer{resp.StatusCode, retryAfter(resp.Header.Get("Retry-After"), time.Now())}
	}
	return resp, err
}
