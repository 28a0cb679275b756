package queries_test

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/value"

	"github.com/tsdbridge/tsdbridge/opentsdb"
	"github.com/tsdbridge/tsdbridge/opentsdb/tsdtest"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// TestSpecialValues: stale markers and infinities, which Prometheus wrote, are in cells that a TSD passes over. They are
// in no answer, do not fail one, and are deleted with the other points.
func TestSpecialValues(t *testing.T) {
	var s *store.Store
	address := tsdtest.StartOver(t, kv.NewMem(storetest.Tables()...), func(o *opentsdb.Options) { s = o.Store.(*store.Store) })
	refs, errs := s.Resolve(t.Context(), []storage.Series{storetest.Series("m", "host", "a"), storetest.Series("m", "host", "stale")})
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	hour := time.Now().Truncate(time.Hour).Unix()
	stale := math.Float64frombits(value.StaleNaN)
	var batch storage.Batch
	for i, v := range []float64{1, math.Inf(1), math.Inf(-1), math.NaN(), 3, stale} {
		batch.Refs, batch.Times, batch.Values = append(batch.Refs, refs[0]), append(batch.Times, (hour+int64(i))*1000), append(batch.Values, v)
	}
	batch.Refs, batch.Times, batch.Values = append(batch.Refs, refs[1]), append(batch.Times, hour*1000), append(batch.Values, stale)
	if err := s.Append(t.Context(), &batch); err != nil {
		t.Fatal(err)
	}
	send := func(method, path string) string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+path, strings.NewReader(""))
		if err != nil {
			t.Fatal(err)
		}
		_, _, text := tsdtest.Exchange(t, r)
		return text
	}
	query := fmt.Sprintf("/api/query?start=%d&end=%d&m=", hour, hour+60)
	for path, want := range map[string]string{
		query + "none:m":                           fmt.Sprintf(`[{"metric":"m","tags":{"host":"a"},"aggregateTags":[],"dps":{"%d":1.0,"%d":3.0}}]`, hour, hour+4),
		query + "sum:m{host=*}":                    fmt.Sprintf(`[{"metric":"m","tags":{"host":"a"},"aggregateTags":[],"dps":{"%d":1.0,"%d":3.0}}]`, hour, hour+4),
		query + "sum:1m-count:m{host=a}":           fmt.Sprintf(`[{"metric":"m","tags":{"host":"a"},"aggregateTags":[],"dps":{"%d":2.0}}]`, hour),
		query + "sum:rate:m{host=a}":               fmt.Sprintf(`[{"metric":"m","tags":{"host":"a"},"aggregateTags":[],"dps":{"%d":0.5}}]`, hour+4),
		query + "none:m{host=stale}":               `[]`,
		"/api/query/last?timeseries=m":             fmt.Sprintf(`[{"timestamp":%d000,"value":"3.0","tsuid":"000001000001000001"}]`, hour+4),
		"/api/query/last?timeseries=m{host=stale}": `[]`,
	} {
		if got := send(http.MethodGet, path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	send(http.MethodDelete, query+"none:m")
	for p, err := range s.Select(t.Context(), storage.Query{Refs: refs, Start: hour * 1000, End: (hour + 60) * 1000, Samples: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Times) > 0 {
			t.Errorf("a deletion leaves %v: %v", p.Times, p.Values)
		}
	}
}

// TestSpecialChars: names may have characters that are configured, at every door.
func TestSpecialChars(t *testing.T) {
	for special, ok := range map[string]bool{":%": true, "": true, "(){}@": true, "a b": false, "=": false, "\n": false, "Ω": false, "\u0085": false} {
		o := opentsdb.DefaultOptions()
		o.SpecialChars = special
		if err := o.Validate(); (err == nil) != ok {
			t.Errorf("%q: %v", special, err)
		}
	}
	address := tsdtest.StartOver(t, kv.NewMem(storetest.Tables()...), func(o *opentsdb.Options) { o.SpecialChars, o.AllowEdits = ":%", true })
	c := &httpClient{address}
	if got := c.lines(t, "put cpu:0 1356998400 1 host=a%b", "put cpu@0 1356998400 1 host=a"); got != "put: illegal argument: Invalid metric name (\"cpu@0\"): illegal character: @\n" {
		t.Errorf("telnet: %q", got)
	}
	if status, text := c.send(t, "POST", "/api/put", `{"metric":"cpu:0","timestamp":1356998460,"value":2,"tags":{"host":"a%b"}}`); status != 204 {
		t.Error(status, text)
	}
	if status, text := c.send(t, "POST", "/api/put?details", `{"metric":"cpu:0","timestamp":1356998460,"value":2,"tags":{"host":"a@b"}}`); status != 400 || !strings.Contains(text, "illegal character: @") {
		t.Error(status, text)
	}
	if status, text := c.send(t, "GET", "/api/uid/assign?metric=net:in", ""); status != 200 {
		t.Error(status, text)
	}
	_, got := c.send(t, "POST", "/api/query", `{"start":1356998400,"end":1356998500,"queries":[{"aggregator":"sum","metric":"cpu:0","tags":{"host":"a%b"}}]}`)
	if want := `[{"metric":"cpu:0","tags":{"host":"a%b"},"aggregateTags":[],"dps":{"1356998400":1,"1356998460":2}}]`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
