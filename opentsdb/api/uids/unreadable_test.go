package uids_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/opentsdb/tsdtest"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// TestUnreadableDocuments: documents that cannot be read, and UIDs of a wrong width, fail a request for
// good, with table, row and what mends them; and that mends them.
func TestUnreadableDocuments(t *testing.T) {
	const uidmeta, tsmeta = "/api/uid/uidmeta?type=metric&uid=000001", "/api/uid/tsmeta?tsuid=000001000001000001"
	global := []byte{0, 0, 0, 0x50, 0xe2, 0x27, 0}
	for name, c := range map[string]struct {
		table, family, key, qualifier, value string
		method, url, body                    string // of the request that fails
		want, mend                           string // in the error, and the request that mends
	}{
		"UIDMeta":           {"tsdb-uid", "name", "\x00\x00\x01", "metric_meta", "{", "GET", uidmeta, "", "row 000001 of tsdb-uid", uidmeta},
		"edit of a UIDMeta": {"tsdb-uid", "name", "\x00\x00\x01", "metric_meta", "{", "POST", uidmeta, `{"uid":"000001","type":"metric","notes":"n"}`, "row 000001 of tsdb-uid", uidmeta},
		"TSMeta":            {"tsdb-meta", "name", "\x00\x00\x01\x00\x00\x01\x00\x00\x01", "ts_meta", "[1", "GET", tsmeta, "", "row 000001000001000001 of tsdb-meta", tsmeta},
		"annotation":        {"tsdb", "t", string(global), "\x01\x00\x0A", "{", "GET", "/api/annotation?start_time=1356998410", "", "row 00000050e22700 of tsdb", "/api/annotation?start_time=1356998410"},
		"global annotations of a query": {
			"tsdb", "t", string(global), "\x01\x00\x0A", "{", "GET",
			"/api/query?start=1356998400&end=1356998460&global_annotations=true&m=sum:m", "", "cell 01000a", "/api/annotation?start_time=1356998410",
		},
		"UID of another width": {"tsdb-uid", "id", "wide", "metrics", "\x00\x00\x00\x07", "GET", "/api/query?start=1356998400&m=sum:wide", "", `row "wide" of tsdb-uid`, ""},
		"definition of a tree": {"tsdb-tree", "t", "\x00\x01", "tree", "{", "POST", "/api/tree?treeid=1", `{"treeId":1,"notes":"n"}`, "row 0001 of tsdb-tree", "/api/tree?treeid=1&definition=true"},
	} {
		t.Run(name, func(t *testing.T) {
			bad := kv.Mutation{Key: []byte(c.key), Puts: []kv.Put{{Qualifier: []byte(c.qualifier), Value: []byte(c.value)}}}
			server := "http://" + tsdtest.StartOver(t, tsdtest.DamagedStore(t, c.table, c.family, bad))
			status, text := tsdtest.Ask(t, c.method, server+c.url, c.body)
			if plain := strings.ReplaceAll(text, `\"`, `"`); status != http.StatusBadRequest || !strings.Contains(plain, c.want) {
				t.Errorf("%d %s, want 400 and %s", status, text, c.want)
			}
			if c.mend == "" {
				return
			}
			if status, text := tsdtest.Ask(t, http.MethodDelete, server+c.mend, ""); status != http.StatusNoContent {
				t.Errorf("the mend: %d %s", status, text)
			}
			if status, text := tsdtest.Ask(t, c.method, server+c.url, c.body); status >= http.StatusInternalServerError || strings.Contains(text, "cannot be read") {
				t.Errorf("after the mend: %d %s", status, text)
			}
		})
	}
}
