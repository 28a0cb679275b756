package query

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/budget"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// The error of a query that was ended because of memory states that. Statistics are made by the
// library.
func TestEndedQuery(t *testing.T) {
	o := testAPIOptions(t, promtest.OpenStore(t, kv.NewMem(promtest.Tables()...)))
	o.Samples = 50_000_000
	o.Running = func(end context.CancelCauseFunc) func() {
		end(budget.ErrTooLarge)
		return func() {}
	}
	form := url.Values{"query": {`count_values("v", vector(time()))`}, "start": {"0"}, "end": {"10000"}, "step": {"1"}, "stats": {"all"}}
	status, body := promtest.Do(t, http.MethodPost, apiServer(t, o).URL+Prefix+"/query_range", form)
	if status != http.StatusUnprocessableEntity || !strings.Contains(body, budget.Flag) || !strings.Contains(body, `"errorType":"execution"`) {
		t.Errorf("%d %.300s", status, body)
	}
}
