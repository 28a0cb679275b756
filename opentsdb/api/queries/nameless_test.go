package queries_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/opentsdb/tsdtest"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// withoutNames returns tables with m{host=a} = 1, m{host=b} = 2 and other{host=c} = 4 at 1356998400, in which a
// UID has no name.
func withoutNames(t *testing.T, kind storage.NameKind, uid ...byte) kv.KV {
	t.Helper()
	db := kv.NewMem(storetest.Tables()...)
	p := storetest.Start(t, db)
	refs := p.Resolve([]storage.Series{storetest.Series("m", "host", "a"), storetest.Series("m", "host", "b"), storetest.Series("other", "host", "c")})
	var b storage.Batch
	for i, ref := range refs {
		b.Add(ref, 1356998400_000, float64(int(1)<<i))
	}
	if err := p.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	p.End()
	rows, err := db.Get(t.Context(), store.DefaultOptions().Tables.UID, schema.FamilyName, [][]byte{uid})
	if err != nil || len(rows[0].Cells) == 0 {
		t.Fatal(err, rows)
	}
	gone := kv.Mutation{Key: uid}
	for _, c := range rows[0].Cells {
		if bytes.Equal(c.Qualifier, schema.UIDQualifier(kind)) {
			gone.Deletes = append(gone.Deletes, kv.Delete{Qualifier: c.Qualifier, Time: c.Time})
		}
	}
	if err := db.Apply(t.Context(), store.DefaultOptions().Tables.UID, schema.FamilyName, []kv.Mutation{gone}); err != nil {
		t.Fatal(err)
	}
	return db
}

// TestNameless asks for series of which a UID has no name: they count where a TSD counts them, and where the name
// is needed the answer is a TSD's error. Nothing is silently left out.
func TestNameless(t *testing.T) {
	const tagv, tagk, metric = "No such unique ID for 'tagv': [0, 0, 2]", "No such unique ID for 'tagk': [0, 0, 1]", "No such unique ID for 'metrics': [0, 0, 1]"
	for name, c := range map[string]struct {
		kind storage.NameKind
		uid  []byte
		asks [][3]string // path, status, text
	}{
		"tagv": {storage.TagValueName, []byte{0, 0, 2}, [][3]string{
			{"/api/query?start=1356998400&end=1356998460&m=sum:m", "200", `"aggregateTags":["host"],"dps":{"1356998400":3.0}`},
			{"/api/query?start=1356998400&end=1356998460&m=count:m", "200", `{"1356998400":2.0}`},
			{"/api/query?start=1356998400&end=1356998460&m=sum:m{host=a}", "200", `{"1356998400":1.0}`},
			{"/api/query?start=1356998400&end=1356998460&m=sum:m{host=*}", "400", tagv},
			{"/api/query?start=1356998400&end=1356998460&m=none:m", "400", tagv},
			{"/api/query?start=1356998400&end=1356998460&m=sum:m{}{host=regexp(b)}", "400", tagv},
			{"/api/query?start=1356998400&end=1356998460&m=sum:m{}{host=not_literal_or(c)}", "400", tagv},
			{"/api/query?start=1356998400&end=1356998460&m=sum:m{}{host=wildcard(*)}", "200", `{"1356998400":3.0}`},
			{"/api/query?start=1356998400&end=1356998460&tsuid=sum:000001000001000001,000001000001000002", "200", `{"1356998400":3.0}`},
			{"/api/query?start=1356998400&end=1356998460&tsuid=sum:000001000001000002", "400", tagv},
			{"/api/query?start=1356998400&end=1356998460&m=sum:other", "200", `{"1356998400":4.0}`},
			{"/api/query?start=1456998400&end=1456998460&m=none:m", "200", `[]`},
			{"/api/query/gexp?start=1356998400&end=1356998460&exp=scale(sum:m,2)", "200", `6`},
			{"/api/search/lookup?m=m", "404", tagv},
			{"/api/query/last?timeseries=m&back_scan=0", "200", `[]`},
		}},
		"tagk": {storage.TagKeyName, []byte{0, 0, 1}, [][3]string{
			{"/api/query?start=1356998400&end=1356998460&m=sum:m", "400", tagk},
			{"/api/search/lookup?m=m", "404", tagk},
		}},
		"metric": {storage.MetricName, []byte{0, 0, 1}, [][3]string{
			{"/api/query?start=1356998400&end=1356998460&tsuid=sum:000001000001000002", "400", metric},
			{"/api/query?start=1356998400&end=1356998460&m=sum:other", "200", `{"1356998400":4.0}`},
			{"/api/search/lookup?m=*{host=a}", "404", metric},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			address := tsdtest.StartOver(t, withoutNames(t, c.kind, c.uid...))
			for _, ask := range c.asks {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+strings.NewReplacer("{", "%7B", "}", "%7D").Replace(ask[0]), http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				response, err := http.DefaultClient.Do(request)
				if err != nil {
					t.Fatal(err)
				}
				text, err := io.ReadAll(response.Body)
				response.Body.Close()
				if err != nil {
					t.Fatal(err)
				}
				if !strings.HasPrefix(response.Status, ask[1]) || !strings.Contains(string(text), ask[2]) {
					t.Errorf("%s: %s %s, want %s and %s", ask[0], response.Status, text, ask[1], ask[2])
				}
			}
		})
	}
}
