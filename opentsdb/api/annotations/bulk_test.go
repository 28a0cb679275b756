package annotations

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// FuzzAnnotationBulk: what is read of a list, or of a deletion, is within its bounds.
func FuzzAnnotationBulk(f *testing.F) {
	for _, s := range []string{
		`[{"startTime":1356998600,"tsuid":"000001000001000001","description":"1"},{"startTime":5}]`, `[]`, `[`, `[null]`, `[{"startTime":1}] x`, `null`, `{}`, `[{"startTime":-1,"notes":"n"}]`,
		`{"startTime":"1h-ago","endTime":1356998601,"tsuids":["000001000001000001"],"global":true,"totalDeleted":7}`, `{"startTime":1,"global":"false"}`,
		`{"startTime":1e3,"endTime":[],"global":1}`, `{"startTime":"9999999999999999999","global":true}`, `{"startTime":"2013/01/01","endTime":"now","tsuids":[1,null,{}]}`,
		`start_time=1&end_time=2&tsuids=a,%20b&global`, `start_time=&global`,
	} {
		f.Add([]byte(s))
	}
	now := time.Unix(1356998400, 0)
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := parseAnnotations(b)
		for i := range list {
			if list[i].Start < 1 || setsNothing(&list[i]) || err != nil {
				t.Errorf("%s has %+v, %v", b, list[i], err)
			}
			schema.AppendAnnotation(schema.AppendShownAnnotation(nil, list[i]), list[i])
		}
		checkDeletion(t, b, now, func() (bulkDeletion, error) {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodDelete, "/api/annotation/bulk", bytes.NewReader(b))
			return readBulkDeletion(httptest.NewRecorder(), &httpapi.Request{Request: r})
		})
		checkDeletion(t, b, now, func() (bulkDeletion, error) {
			v, err := url.ParseQuery(string(b))
			if err != nil {
				return bulkDeletion{}, err
			}
			return bulkDeletionParameters(v)
		})
	})
}

func checkDeletion(t *testing.T, b []byte, now time.Time, read func() (bulkDeletion, error)) {
	t.Helper()
	asked, err := read()
	if err != nil {
		return
	}
	d, err := asked.parse(time.UTC, now)
	if err != nil {
		return
	}
	if !d.Global && len(d.TSUIDs) == 0 || d.EndTime < d.StartTime || d.EndTime < 1 {
		t.Errorf("%s deletes %+v", b, d)
	}
	for _, tsuid := range d.TSUIDs {
		if tsuid == "" { // the global ones
			t.Errorf("%s deletes %+v", b, d)
		}
		_, _ = schema.UnhexTSUID(tsuid)
	}
}
