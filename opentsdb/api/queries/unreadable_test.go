package queries_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/opentsdb/tsdtest"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/store"
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
			bad := kv.Mutation{Key: row, Puts: []kv.Put{{Qualifier: []byte(c.qualifier), Value: []byte(c.value), Time: 1}}}
			db := tsdtest.DamagedStore(t, store.DefaultOptions().Tables.Data, schema.FamilyData, bad)
			status, text := tsdtest.Ask(t, http.MethodGet, "http://"+tsdtest.StartOver(t, db)+"/api/query?start=1356998400&end=1356998460&m=sum:m", "")
			if strconv.Itoa(status) != c.status || !strings.Contains(text, c.text) {
				t.Errorf("%d %s, want %s and %s", status, text, c.status, c.text)
			}
			if c.status == "400" && !strings.Contains(text, "tsdbridge fsck") || strings.Contains(c.text, "cell") && !strings.Contains(text, named) {
				t.Errorf("%s, want the row and the command", text)
			}
		})
	}
}
