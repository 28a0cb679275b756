package query

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	promstorage "github.com/prometheus/prometheus/storage"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/prometheus/queryable"
	"github.com/tsdbridge/tsdbridge/prometheus/vmnative"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// A nativeServer exports a store.
type nativeServer struct {
	*httptest.Server
	*promStorage
	api *API
}

func newNativeServer(t *testing.T, p *promStorage, memory int64) nativeServer {
	t.Helper()
	o := DefaultOptions()
	o.Queryable, o.Registerer, o.Logger = p.Store, prometheus.NewRegistry(), slog.New(slog.DiscardHandler)
	o.Budget = query.NewBudget(memory)
	a := New(o)
	return nativeServer{promtest.NewServer(t, query.Accounts(o.Budget)(a.NativeExport())), p, a}
}

// get returns the status, the body and the trailers of an export.
func (s nativeServer) get(t *testing.T, form url.Values) (int, io.Reader, *http.Response) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"?"+form.Encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp.StatusCode, resp.Body, resp
}

// exported reads a whole file.
func exported(t *testing.T, from io.Reader) map[string]map[int64]string {
	t.Helper()
	r, err := vmnative.NewReader(from)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	all := map[string]map[int64]string{}
	for {
		b, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		name := b.Labels.String()
		if all[name] == nil {
			all[name] = map[int64]string{}
		}
		for i, at := range b.Times {
			if all[name][at] != "" {
				t.Errorf("%s has two samples at %d", name, at)
			}
			all[name][at] = strconv.FormatFloat(b.Values[i], 'g', -1, 64)
			if math.Float64bits(b.Values[i]) == value.StaleNaN {
				all[name][at] = "stale"
			}
		}
	}
}

// put writes samples of a series, each a second after the one before, from 1000 s on.
func (p *promStorage) put(t *testing.T, ls labels.Labels, values ...float64) {
	t.Helper()
	app := p.AppenderV2(t.Context())
	for i, v := range values {
		if _, err := app.Append(0, ls, 0, 1000_000+int64(i)*1000, v, nil, nil, promstorage.AppendV2Options{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := app.Commit(); err != nil {
		t.Fatal(err)
	}
}

// TestNativeExport: all floats of the selected series come, each once, and what the format cannot hold is counted.
func TestNativeExport(t *testing.T) {
	s := newNativeServer(t, newMemStorage(t), 1<<30)
	a, b := labels.FromStrings("__name__", "up", "job", "a"), labels.FromStrings("__name__", "up", "job", "b\x01")
	s.put(t, a, 1, 0.30000000000000004, math.Inf(-1), math.Float64frombits(value.StaleNaN), 1e300, 1e-5)
	s.put(t, b, 7, math.NaN(), math.Copysign(0, -1), 5e-324)
	h := labels.FromStrings("__name__", "hist")
	app := s.AppenderV2(t.Context())
	for _, one := range promtest.IntHistograms() {
		if _, err := app.Append(0, h, 0, 1000_000, 0, one, nil, promstorage.AppendV2Options{}); err != nil {
			t.Fatal(err)
		}
		break
	}
	if err := app.Commit(); err != nil {
		t.Fatal(err)
	}
	both := map[string]map[int64]string{
		a.String(): {1000_000: "1", 1001_000: "0.30000000000000004", 1002_000: "-Inf", 1003_000: "stale", 1004_000: "1e+300", 1005_000: "1e-05"},
		b.String(): {1000_000: "7", 1002_000: "0", 1003_000: "0"},
	}
	for name, c := range map[string]struct {
		form          url.Values
		want          map[string]map[int64]string
		rounded, left string
	}{
		"all":              {url.Values{"match[]": {`{__name__=~".+"}`}}, both, "2", "2"},
		"match":            {url.Values{"match": {`up{job="a"}`}}, map[string]map[int64]string{a.String(): both[a.String()]}, "0", "0"},
		"twice":            {url.Values{"match[]": {"up", `{job=~"a|b."}`, "up"}}, both, "2", "1"},
		"a time":           {url.Values{"match[]": {"up"}, "start": {"1001"}, "end": {"1970-01-01T00:16:41Z"}}, map[string]map[int64]string{a.String(): {1001_000: "0.30000000000000004"}}, "0", "1"},
		"end before start": {url.Values{"match[]": {"up"}, "start": {"1004"}, "end": {"1001"}}, map[string]map[int64]string{a.String(): {1004_000: "1e+300"}}, "0", "0"},
		"none":             {url.Values{"match[]": {"down"}}, map[string]map[int64]string{}, "0", "0"},
	} {
		status, body, resp := s.get(t, c.form)
		if diff := cmp.Diff(c.want, exported(t, body)); status != http.StatusOK || diff != "" {
			t.Errorf("%s: %d (-want +got)\n%s", name, status, diff)
		}
		if r, l := resp.Trailer.Get(roundedTrailer), resp.Trailer.Get(leftTrailer); r != c.rounded || l != c.left {
			t.Errorf("%s: %q rounded, %q left out, want %s and %s", name, r, l, c.rounded, c.left)
		}
	}
	if n := testutil.ToFloat64(s.api.nativeSamples.WithLabelValues("left_out")); n != 4 {
		t.Errorf("%v samples were left out, want 4", n)
	}
}

// TestNativeExportMerges: stored series that show the same labels are one.
func TestNativeExportMerges(t *testing.T) {
	store := &promtest.PlainStore{}
	names := promtest.RawNames{}
	p := newPromStorageOf(store, names, queryable.Limits{})
	s := newNativeServer(t, p, 1<<30)
	refs, errs := store.Resolve(t.Context(), []storage.Series{
		{Metric: "m", Tags: []storage.Tag{{Key: "job", Value: "x"}}}, {Metric: "m", Tags: []storage.Tag{{Key: "alias", Value: "x"}}},
	})
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	var b storage.Batch
	b.Add(refs[0], 1000, 1)
	b.Add(refs[1], 2000, 2)
	if err := store.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	_, body, _ := s.get(t, url.Values{"match[]": {"m"}})
	if diff := cmp.Diff(map[string]map[int64]string{`{__name__="m", job="x"}`: {1000: "1", 2000: "2"}}, exported(t, body)); diff != "" {
		t.Error(diff)
	}
}

// TestNativeExportRefuses: wrong requests, and limits.
func TestNativeExportRefuses(t *testing.T) {
	p := newPromStorage(promtest.OpenStore(t, kv.NewMem(promtest.Tables()...)))
	p.Store = p.With(queryable.Limits{Series: 1})
	s := newNativeServer(t, p, 1<<30)
	s.put(t, labels.FromStrings("__name__", "up", "job", "a"), 1)
	s.put(t, labels.FromStrings("__name__", "up", "job", "b"), 1)
	for name, c := range map[string]struct {
		form   url.Values
		status int
	}{
		"nothing":      {nil, 400},
		"no selector":  {url.Values{"match[]": {"rate(x[1m])"}}, 400},
		"bad time":     {url.Values{"match[]": {"up"}, "start": {"x"}}, 400},
		"other filter": {url.Values{"match[]": {"up"}, "extra_label": {"a=b"}}, 400},
		"many series":  {url.Values{"match[]": {"up"}}, 422},
	} {
		if status, _, _ := s.get(t, c.form); status != c.status {
			t.Errorf("%s: %d, want %d", name, status, c.status)
		}
	}
	if status, _ := promtest.Do(t, http.MethodPut, s.URL, nil); status != http.StatusMethodNotAllowed {
		t.Errorf("PUT: %d", status)
	}
}

// TestNativeExportMemory: an export takes its memory from the account of the request, and is refused where it needs too much: here
// each sample begins a block, with the labels again.
func TestNativeExportMemory(t *testing.T) {
	p := newMemStorage(t)
	values := make([]float64, 4000)
	for i := range values {
		values[i] = []float64{1e300, 1e-5}[i%2]
	}
	p.put(t, labels.FromStrings("__name__", "up", "long", string(make([]byte, 4000))), values...)
	if status, _, _ := newNativeServer(t, p, 8<<20).get(t, url.Values{"match[]": {"up"}}); status != http.StatusUnprocessableEntity {
		t.Errorf("%d", status)
	}
	if status, _, _ := newNativeServer(t, p, 1<<30).get(t, url.Values{"match[]": {"up"}}); status != http.StatusOK {
		t.Errorf("%d", status)
	}
}

// TestNativeExportPatience: an export that makes no progress ends as a query does.
func TestNativeExportPatience(t *testing.T) {
	s := newNativeServer(t, newPromStorageOf(hangingStore{&promtest.PlainStore{}}, promtest.RawNames{}, queryable.Limits{}), 1<<30)
	s.put(t, labels.FromStrings("__name__", "up"), 1)
	export := s.api.NativeExport()
	export.o.Timeout = time.Millisecond
	s.Server = promtest.NewServer(t, query.Accounts(s.api.o.Budget)(export))
	status, body, _ := s.get(t, url.Values{"match[]": {"up"}})
	if text, err := io.ReadAll(body); err != nil || status != http.StatusServiceUnavailable {
		t.Errorf("%d %s %v", status, text, err)
	}
}

// hangingStore does not answer.
type hangingStore struct{ *promtest.PlainStore }

// SelectParts implements storage.Querier.
func (hangingStore) SelectParts(ctx context.Context, _ storage.Query, _ func() storage.PartWorker) error {
	<-ctx.Done()
	return ctx.Err()
}
