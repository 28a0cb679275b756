package promtest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/internal/query"
)

// Do sends a form and returns the status and the body of the answer.
func Do(t testing.TB, method, address string, form url.Values) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// NewServer serves h until the test ends.
func NewServer(t testing.TB, h http.Handler) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// OthersHold makes other requests hold so many bytes of a budget, including what is reserved for
// small queries, until release.
func OthersHold(t *testing.T, b *query.Budget, n int64) (release func()) {
	t.Helper()
	const each = 1 << 20
	var others []*query.Account
	for ; n > 0; n -= each {
		others = append(others, b.Open())
		if err := others[len(others)-1].Take(min(n, each)); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		for _, o := range others {
			o.Close()
		}
	}
}
