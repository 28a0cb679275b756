package uids_test

import (
	"net/http"
	"testing"

	"github.com/tsdbridge/tsdbridge/opentsdb/tsdtest"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// TestRenameRequests sends renames, many of them wrong. The texts are those of a TSD's sources
// (UniqueIdRpc.handleRename, TSDB.renameUid); {"result":"false",...} was seen of a TSD 2.4.1.
func TestRenameRequests(t *testing.T) {
	const path = "/api/uid/rename"
	failed := func(text string) string { return `{"result":"false","error":"` + text + `"}` }
	missing := `{"error":{"code":400,"message":"Missing necessary values to rename UID"}}`
	for _, c := range []struct {
		method, target, body string
		status               int
		want                 string
	}{
		{"POST", path, `{"metric":"m","name":"n"}`, 200, `{"result":"true"}`},
		{"GET", path + "?metric=m&name=n", "", 200, `{"result":"true"}`},
		{"POST", "/api/v1/uid/rename", `{"METRIC":"m","name":"n"}`, 200, `{"result":"true"}`},
		{"POST", path, `{"tagk":"host","name":"n"}`, 200, `{"result":"true"}`},
		{"GET", path + "?tagv=a&name=n", "", 200, `{"result":"true"}`},
		{"POST", path, `{"metric":"none","name":"n"}`, 400, failed(`Name(\"none\") does not exist`)},
		{"POST", path, `{"metric":"host","name":"n"}`, 400, failed(`Name(\"host\") does not exist`)},
		{"POST", path, `{"metric":"m","name":"m"}`, 400, failed(`When trying rename(\"m\", \"m\") on UniqueId(tsdb-uid, metrics, 3): new name already assigned ID=[0, 0, 1]`)},
		{"POST", path, `{"metric":"m","name":"other"}`, 400, failed(`When trying rename(\"m\", \"other\") on UniqueId(tsdb-uid, metrics, 3): new name already assigned ID=[0, 0, 2]`)},
		{"POST", path, `{"metric":"m","name":"a b"}`, 400, failed(`Invalid metric (\"a b\"): illegal character:  `)},
		{"POST", path, `{"metric":"","name":"n"}`, 400, failed(`Invalid metric: empty string`)},
		{"POST", path, `{"metric":"m","name":""}`, 400, failed(`Invalid metric: empty string`)},
		{"POST", path, `{"metrics":"m","name":"n"}`, 400, failed(`Unknown type name`)},
		{"POST", path, `{"metric":"m","tagv":"a","tagk":"none","name":"n"}`, 200, `{"result":"true"}`}, // the last of a HashMap
		{"GET", path + "?metric=m&tagv=none&tagk=host&name=n", "", 200, `{"result":"true"}`},
		{"POST", path, `{"metric":"m"}`, 400, missing},
		{"POST", path, `{"name":"n"}`, 400, missing},
		{"POST", path, `{"metric":null,"name":"n"}`, 400, missing},
		{"GET", path + "?metric=m&name=", "", 400, missing},
		{"POST", path, ``, 400, `{"error":{"code":400,"message":"Missing message content","details":"Supply valid JSON formatted data in the body of your request"}}`},
		{"POST", path, `{"metric":["m"],"name":"n"}`, 400, `{"error":{"code":400,"message":"Unable to parse the given JSON","details":"field \"metric\": want text, a number or a boolean"}}`},
		{"POST", path, `[]`, 400, `{"error":{"code":400,"message":"Unable to parse the given JSON","details":"want an object, got a JSON array"}}`},
		{"PUT", path, `{"metric":"m","name":"n"}`, 405, `{"error":{"code":405,"message":"Method not allowed","details":"The HTTP method[PUT] is not permitted for this endpoint"}}`},
	} {
		p := tsdtest.StartProcess(t, kv.NewMem(storetest.Tables()...))
		storetest.Resolve(t, p.Store, storetest.Series("m", "host", "a"))
		storetest.Resolve(t, p.Store, storetest.Series("other", "host", "a"))
		if status, text := p.Ask(c.method, c.target, c.body); status != c.status || text != c.want {
			t.Errorf("%s %s %s: %d %s, want %d %s", c.method, c.target, c.body, status, text, c.status, c.want)
		}
	}
	p := tsdtest.StartProcessWith(t, kv.NewMem(storetest.Tables()...), false)
	if status, text := p.Ask(http.MethodGet, path+"?metric=m&name=n", ""); status != http.StatusForbidden {
		t.Errorf("without --opentsdb.allow-edits: %d %s", status, text)
	}
}

// Names that a TSD refuses get no UID by /api/uid/assign either.
func TestAssignChecksNames(t *testing.T) {
	p := tsdtest.StartProcess(t, kv.NewMem(storetest.Tables()...))
	const want = `{"metric":{"good":"000001"},"metric_errors":{"a b":"Invalid metric (\"a b\"): illegal character:  "}}`
	if status, text := p.Ask(http.MethodPost, "/api/uid/assign", `{"metric":["a b","good"]}`); status != http.StatusBadRequest || text != want {
		t.Errorf("assign: %d %s, want %s", status, text, want)
	}
}
