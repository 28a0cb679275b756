package opentsdb

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// TestUnreadableCells puts cells beside a point that a TSD does not write. A cell that a TSD reads is read; any other fails the
// query for good, with the row, the cell and the command that mends it.
func TestUnreadableCells(t *testing.T) {
	row := []byte{0, 0, 1, 0x50, 0xe2, 0x27, 0, 0, 0, 1, 0, 0, 1}
	const named = "row 00000150e22700000001000001 of tsdb (TSUID 000001000001000001 at 2013-01-01T00:00:00Z)"
	for name, c := range map[string]struct{ qualifier, value, status, text string }{
		"flags of no length":        {"\x00\xA2", "\x01\x02\x03", "400", "cell 00a2"},
		"compacted, surplus":        {"\x00\xA0\x00\xB0", "\x02\x03\x00\x00\x07", "200", `"1356998410":2,"1356998411":3`},
		"compacted, short":          {"\x00\xA1\x00\xB1\x00\xC1", "\x00\x02\x00\x03", "200", `"1356998410":2,"1356998411":3}`},
		"compacted, within a point": {"\x00\xA1\x00\xB1", "\x00\x02\x00", "400", "cell 00a100b1"},
		"append cell":               {"\x05\x00\x00", "\x00\xA1\x01", "400", "cell 050000"},
		"object cell":               {"\x82\x00\x00", "\xFF", "400", "cell 820000"},
		"annotation":                {"\x01\x00\x0A", "{", "400", "annotation"},
		"one byte":                  {"\x07", "\x01", "200", `"1356998400":1.0}`},
	} {
		t.Run(name, func(t *testing.T) {
			db := kv.NewMem(storetest.Tables()...)
			p := storetest.Start(t, db)
			refs := p.Resolve([]storage.Series{storetest.Series("m", "host", "a")})
			var b storage.Batch
			b.Add(refs[0], 1356998400_000, 1)
			if err := p.Append(t.Context(), &b); err != nil {
				t.Fatal(err)
			}
			p.End()
			bad := kv.Mutation{Key: row, Puts: []kv.Put{{Qualifier: []byte(c.qualifier), Value: []byte(c.value), Time: 1}}}
			if err := db.Apply(t.Context(), storage.DefaultOptions().Tables.Data, schema.FamilyData, []kv.Mutation{bad}); err != nil {
				t.Fatal(err)
			}
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+startOver(t, db)+"/api/query?start=1356998400&end=1356998460&m=sum:m", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			text, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(response.Status, c.status) || !strings.Contains(string(text), c.text) {
				t.Errorf("%s %s, want %s and %s", response.Status, text, c.status, c.text)
			}
			if c.status == "400" && !strings.Contains(string(text), "tsdbridge fsck") || strings.Contains(c.text, "cell") && !strings.Contains(string(text), named) {
				t.Errorf("%s, want the row and the command", text)
			}
		})
	}
}
