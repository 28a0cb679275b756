package memory

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
)

// A request has an account while it is answered, and holds nothing afterwards. A request that is
// refused because others hold the memory is told to come again.
func TestAccounts(t *testing.T) {
	b := NewBudget(100, prometheus.NewRegistry())
	others := b.Open()
	for _, c := range []struct {
		others, take int64
		status       int
		retry        bool
	}{
		{0, 100, 200, false},
		{0, 101, 422, false},
		{50, 60, 503, true},
		{50, 101, 422, false},
		{50, 50, 200, false},
	} {
		if err := others.Take(c.others); err != nil {
			t.Fatal(err)
		}
		h := query.Accounts(b)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			account := query.AccountOf(r.Context())
			if err := account.Take(c.take); err != nil {
				httpapi.Text(w, httpapi.QueryError(r.Context(), "answer", err))
			}
			if c.status == http.StatusOK && account.Held() != c.take {
				t.Errorf("%+v: the account holds %d bytes", c, account.Held())
			}
		}))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		if w.Code != c.status || (w.Header().Get("Retry-After") != "") != c.retry {
			t.Errorf("%+v: status %d, headers %v", c, w.Code, w.Header())
		}
		others.Give(c.others)
		if b.Used() != 0 {
			t.Errorf("%+v: %d bytes are held when the request is over", c, b.Used())
		}
	}
}

// A 503 with another reason has no Retry-After.
func TestAccountsOtherFailure(t *testing.T) {
	h := query.Accounts(query.NewBudget(1))(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		httpapi.Text(w, httpapi.QueryError(r.Context(), "answer", errors.New("away")))
	}))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "" {
		t.Errorf("status %d, headers %v", w.Code, w.Header())
	}
}
