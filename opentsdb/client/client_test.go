package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// answering is a client of a server that answers every request.
func answering(status int, body string) Client {
	return Client{URL: "http://server/", HTTP: &http.Client{Transport: HandlerTransport{http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})}}}
}

// Series are read one by one, in both forms of points; answers that are cut off are errors.
func TestQuery(t *testing.T) {
	for _, c := range []struct {
		status     int
		body, want string
	}{
		{200, "[]", ""},
		{200, `[{"metric":"a","tags":{"h":"x"},"aggregateTags":["b"],"dps":{"1":1,"2":2.5E-7,"3":"NaN"}},{"metric":"b","dps":[[1,-3] , [2,null]]},{"statsSummary":{"x":1}}]`, "a map[h:x] [b] [{1 1} {2 2.5E-7} {3 NaN}]; b map[] [] [{1 -3} {2 null}]; "},
		{200, `[{"metric":"a","dps":{}}, {"metric":"b","dps":[]}]`, "a map[] [] []; b map[] [] []; "},
		{200, `[{"metric":"a","dps":{"1":1}}`, "a map[] [] [{1 1}]; the answer of http://server/api/query: unexpected EOF"},
		{200, `[{"metric":"a","dps":{"1"`, "the answer of http://server/api/query: unexpected EOF"},
		{200, ``, "the answer of http://server/api/query: unexpected EOF"},
		{200, `{}`, "the answer of http://server/api/query: { where [ should be"},
		{200, `[{"dps":{"x":1}}]`, "the answer of http://server/api/query: these are no points: at byte 4"},
		{200, `[{"dps":[[1]]}]`, "the answer of http://server/api/query: these are no points: at byte 3"},
		{400, `{"error":{"code":400,"message":"No such name","trace":""}}`, "400 Bad Request: No such name"},
		{404, `{"error":{"code":400,"message":"No","details":"such name"}}`, "404 Not Found: No: such name"},
		{502, "<html>no", "502 Bad Gateway: <html>no"},
	} {
		var got strings.Builder
		err := answering(c.status, c.body).Query(t.Context(), []byte("{}"), func(s *Series) error {
			fmt.Fprint(&got, s.Metric, " ", s.Tags, " ", s.AggregateTags, " ", s.Points, "; ")
			return nil
		})
		if err != nil {
			got.WriteString(err.Error())
		}
		if diff := cmp.Diff(c.want, got.String()); diff != "" {
			t.Errorf("%s: %s", c.body, diff)
		}
	}
}

func TestLookupAndGet(t *testing.T) {
	var got []Found
	err := answering(200, `{"type":"LOOKUP","tags":[{"key":"a"}],"results":[{"tsuid":"01","metric":"a","tags":{"h":"x"}}],"total":1}`).Lookup(t.Context(), nil, func(f Found) error {
		got = append(got, f)
		return nil
	})
	if diff := cmp.Diff([]Found{{"01", "a", map[string]string{"h": "x"}}}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if err = answering(200, `{"type":"LOOKUP"}`).Lookup(t.Context(), nil, nil); err == nil || !strings.Contains(err.Error(), "it has no results") {
		t.Error(err)
	}
	var names []string
	if err = answering(200, `["a","b"]`).Get(t.Context(), "/api/suggest", url.Values{}, &names); err != nil || len(names) != 2 {
		t.Error(names, err)
	}
	enough := errors.New("enough")
	if err = answering(200, `[{"metric":"a"}]`).QueryURL(t.Context(), "m=sum:a", func(*Series) error { return enough }); !errors.Is(err, enough) {
		t.Error(err)
	}
}

// A handler that gives up cuts its answer off.
func TestAborted(t *testing.T) {
	c := Client{URL: "http://server", HTTP: &http.Client{Transport: HandlerTransport{http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "[")
		panic(http.ErrAbortHandler)
	})}}}
	if err := c.Query(t.Context(), nil, nil); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}

// Text that is no points is refused without a panic, and points are read as json reads them.
func FuzzPoints(f *testing.F) {
	f.Add(`{"1":1,"2":"NaN"}`)
	f.Add(`[[1,1],[2,2.5]]`)
	f.Fuzz(func(t *testing.T, text string) {
		var p Points
		if json.Unmarshal([]byte(text), &p) != nil {
			return
		}
		var values map[int64]any
		if json.Unmarshal([]byte(text), &values) != nil {
			return
		}
		for at, v := range values {
			if number, ok := v.(float64); ok {
				last := ""
				for _, point := range p {
					if point.Time == at {
						last = point.Value
					}
				}
				var read float64
				if err := json.Unmarshal([]byte(last), &read); err != nil || read != number {
					t.Fatalf("%s: %d is %q, want %v", text, at, last, number)
				}
			}
		}
	})
}
