package admin

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// What is reported is bounded and checked.
func TestBadReports(t *testing.T) {
	x := &Transfers{now: time.Now}
	for body, want := range map[string]int{`{"kind":"k"}`: 204, `{`: 400, `{"kind":"k","state":"x"}`: 400, `{"kind":"` + strings.Repeat("x", maxReportBytes) + `"}`: 400} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, ProgressPath, strings.NewReader(body))
		r.Header.Set(transferHeader, "0123456789abcdef")
		if x.Report(w, r); w.Code != want {
			t.Errorf("%.30s: %d", body, w.Code)
		}
	}
	w := httptest.NewRecorder()
	if x.Report(w, httptest.NewRequest(http.MethodPost, ProgressPath, strings.NewReader("{}"))); w.Code != http.StatusBadRequest {
		t.Error("without an id:", w.Code)
	}
	for n := range 2 * mostTransfers {
		x.of(fmt.Sprintf("%08x", n), "k", "c")
	}
	if len(x.list) > mostTransfers {
		t.Error(len(x.list))
	}
}
