package push

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/tsdbridge/tsdbridge/prometheus/appendable"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/prometheus/queryable"
	"github.com/tsdbridge/tsdbridge/prometheus/writelimits"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/documents"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/translate"
)

// away is an appender that fails for now.
type away struct{ storage.Appender }

func (away) Append(context.Context, *storage.Batch) error { return errors.New("away") }

// door is a store and what a Handler over it may take.
type door struct {
	*queryable.Store
	names               *translate.Translator
	metadata            *documents.Documents
	to                  storage.Appender
	memory, seriesBytes int
}

func newDoor(t *testing.T) *door {
	t.Helper()
	names, err := translate.New()
	if err != nil {
		t.Fatal(err)
	}
	s := promtest.OpenStore(t, kv.NewMem(promtest.Tables()...))
	return &door{queryable.New(s, names, queryable.Limits{}), names, s.Documents(), s, 256 << 20, 1 << 10}
}

func (d *door) handler() *Handler {
	return New(Options{
		Appendable: appendable.New(appendable.Options{SeriesBytes: d.seriesBytes, SeriesCache: 100, Future: 60e9, Appender: d.to, Metadata: d.metadata, Names: d.names, Now: promtest.Now}),
		Intake:     writelimits.New(writelimits.Options{Requests: 10, InFlightBytes: d.memory}), Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), Now: promtest.Now,
	})
}

// ask sends a text, and returns the answer.
func ask(t *testing.T, h http.Handler, target, contentType, coding string, body io.Reader) (status int, answer string) {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, target, body)
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("Content-Encoding", coding)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w.Code, w.Body.String()
}

// post sends a text to a new handler, and returns the answer and what is stored.
func (d *door) post(t *testing.T, target, contentType, coding string, body io.Reader) (status int, answer, stored string) {
	t.Helper()
	status, answer = ask(t, d.handler(), target, contentType, coding, body)
	return status, answer, samples(t, d.Store)
}

// post sends a text to a new door.
func post(t *testing.T, fails bool, target, contentType, coding string, body []byte) (status int, answer, stored string) {
	t.Helper()
	d := newDoor(t)
	if fails {
		d.to = away{d.to}
	}
	return d.post(t, target, contentType, coding, bytes.NewReader(body))
}

func samples(t *testing.T, s *queryable.Store) string {
	t.Helper()
	q, err := s.Querier(0, storage.MaxTime)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	var b strings.Builder
	set := q.Select(t.Context(), true, nil, promtest.Matchers(t, `{__name__=~".+"}`)...)
	for set.Next() {
		fmt.Fprint(&b, set.At().Labels())
		for it := set.At().Iterator(nil); it.Next() == chunkenc.ValFloat; {
			at, v := it.At()
			fmt.Fprintf(&b, " %d:%v", at, v)
		}
		b.WriteString("\n")
	}
	if err := set.Err(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPush(t *testing.T) {
	now := promtest.Now().UnixMilli()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte("a 1\n")); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	const form = "application/x-www-form-urlencoded" // what curl --data-binary sends
	for _, tc := range []struct {
		target, contentType, coding, body string
		status                            int
		answer, stored                    string
	}{
		{"/?extra_label=job=ci&extra_label=env=a%3Db", form, "", "a{job=\"x\"} 1\n", 200, `{"status":"success","data":{"written":1,"rejected":0}}`, fmt.Sprintf("{__name__=\"a\", env=\"a=b\", job=\"ci\"} %d:1\n", now)},
		{"/", form, "", "# TYPE a counter\na_total 1 1600000000.5\n# EOF\n", 200, `"written":1`, "{__name__=\"a_total\"} 1600000000500:1\n"},
		{"/", "text/plain; version=0.0.4", "", "a 1 1600000000500\nb x\nc 2\n", 400, `line 2: strconv.ParseFloat: parsing \"x\"`, fmt.Sprintf("{__name__=\"a\"} 1600000000500:1\n{__name__=\"c\"} %d:2\n", now)},
		{"/", form, "", "a 1 1600000000\n", 400, "?format=openmetrics has seconds", ""},
		{"/?format=text", form, "", "a 1 1600000000\n", 200, "", "{__name__=\"a\"} 1600000000:1\n"},
		{"/", "application/openmetrics-text", "", "a 1\n", 400, "does not end with # EOF", fmt.Sprintf("{__name__=\"a\"} %d:1\n", now)},
		{"/", form, "gzip", packed.String(), 200, `"written":1`, fmt.Sprintf("{__name__=\"a\"} %d:1\n", now)},
		{"/", form, "gzip", "a 1\n", 400, "read body", ""},
		{"/", form, "br", "a 1\n", 415, "br", ""},
		{"/?format=xml", form, "", "a 1\n", 400, "want openmetrics or text", ""},
		{"/?extra_label=x=" + strings.Repeat("y", 10<<10), form, "", "a 1\n", 400, "extra_label: more than", ""},
		{"/?extra_label=x", form, "", "a 1\n", 400, "want name=value", ""},
		{"/", form, "", "a{b=\"" + strings.Repeat("x", 2000) + "\"} 1\nc 1 9999999999999\nd 1\n", 400, "line 2: timestamp 9999999999999", fmt.Sprintf("{__name__=\"d\"} %d:1\n", now)},
	} {
		status, answer, stored := post(t, false, tc.target, tc.contentType, tc.coding, []byte(tc.body))
		if status != tc.status || !strings.Contains(answer, tc.answer) || stored != tc.stored {
			t.Errorf("%s %.60q: %d %s\nstored %s\nwant %d %s\n%s", tc.target, tc.body, status, answer, stored, tc.status, tc.answer, tc.stored)
		}
	}
}

// TestPushMany sends more than a batch.
func TestPushMany(t *testing.T) {
	var b strings.Builder
	for i := range 2*batchSamples + 7 {
		fmt.Fprintf(&b, "a{n=\"%d\"} %d\n", i%3, i)
	}
	status, answer, _ := post(t, false, "/", "text/plain", "", []byte(b.String()))
	if want := fmt.Sprintf(`"written":%d,`, 2*batchSamples+7); status != http.StatusOK || !strings.Contains(answer, want) {
		t.Errorf("%d %s, want %s", status, answer, want)
	}
}

func TestPushAway(t *testing.T) {
	status, answer, _ := post(t, true, "/", "text/plain", "", []byte("a 1\n"))
	if status != http.StatusServiceUnavailable || !strings.Contains(answer, "unavailable") {
		t.Errorf("%d %s", status, answer)
	}
}
