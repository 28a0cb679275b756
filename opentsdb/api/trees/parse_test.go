package trees

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	"github.com/tsdbridge/tsdbridge/opentsdb/jackson"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// FuzzTreeBodies reads bodies of all kinds. What is read keeps its bounds, and a change that is made
// twice is made once.
func FuzzTreeBodies(f *testing.F) {
	for _, s := range []string{
		`{"treeId":1,"name":"net","description":"d","enabled":true,"storeFailures":"TRUE","strictMatch":null,"definition":true}`,
		`{"treeId":"1","level":1.5,"order":"2","type":"tagk","field":"host","regex":"(a)","regexGroupIdx":-1,"separator":null,"customField":7}`,
		`{"treeId":1,"tsuids":["0001",""]}`, `{"treeId":1e3}`, `{"level":1e400}`, `{"level":"NaN"}`, `{"regex":"("}`, `{"a":{"b":[1]}} x`, `null`, `[]`, `{`, `{"treeId":-2147483649}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if q, err := parseTreeJSON(body); err == nil {
			for _, all := range []bool{false, true} {
				once := schema.Tree{Name: "n", Created: 5}
				q.change(all)(&once)
				twice := once
				if q.change(all)(&twice); twice != once || once.Created != 5 {
					t.Errorf("%s: %+v, then %+v", body, once, twice)
				}
			}
		}
		if q, err := parseTSUIDsJSON(body, unreadable); err == nil {
			if _, err := q.bytes(); err == nil && slices.Contains(q.tsuids, "") {
				t.Errorf("%s: an empty TSUID is read", body)
			}
		}
		fields, err := jackson.ParseMembers(body)
		if err != nil {
			return
		}
		q, err := parseRuleJSON(fields)
		if err != nil {
			return
		}
		if q.level < 0 {
			t.Errorf("%s: level %d", body, q.level)
		}
		for _, all := range []bool{false, true} {
			once := q.change(schema.TreeRule{Type: "TAGK", Field: "f"}, all)
			if twice := q.change(once, all); twice != once {
				t.Errorf("%s: %+v, then %+v", body, once, twice)
			}
		}
	})
}

// FuzzTreeParameters reads query strings.
func FuzzTreeParameters(f *testing.F) {
	for _, s := range []string{
		"treeid=1&level=0&order=0&type=METRIC&regex=%5Ea", "treeid=1&treeid=2&level=+1&order=-1", "treeid=99999999999", "level=x", "tsuids=,,", "tsuids=a,,b,", "branch=10001",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, query string) {
		v, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		if q, err := parseRuleParameters(httpapi.Values(v)); err == nil && (q.level < 0 || !v.Has("treeid") || !v.Has("level") || !v.Has("order")) {
			t.Errorf("%s: %s", query, q.String())
		}
		for _, text := range []string{query, v.Get("tsuids")} {
			if list := splitTSUIDs(text); len(list) > 1 && list[len(list)-1] == "" || len(list) > 0 && strings.Join(list, ",") != strings.TrimRight(text, ",") {
				t.Errorf("%q is split into %q", text, list)
			}
			if row, err := parseBranchID(text); err == nil && len(row) < 2 {
				t.Errorf("branch %q is %X", text, row)
			}
		}
	})
}
