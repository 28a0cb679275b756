package exchange

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadForm(t *testing.T) {
	for _, c := range []struct {
		name, method, url, kind, body string
		want                          Form
	}{
		{"query", "GET", "/?a=1&a=2&b&=x&&c=%zz%4", "", "", Form{"a": {"1", "2"}, "b": {""}, "": {"x"}, "c": {"%zz%4"}}},
		{"semicolons", "GET", "/?a=x;k=v&b;c=1", "", "", Form{"a": {"x;k=v"}, "b;c": {"1"}}},
		{"body after query", "POST", "/?a=1", "application/x-www-form-urlencoded; charset=UTF-8", "a=2&b=x+y%2B", Form{"a": {"1", "2"}, "b": {"x y+"}}},
		{"no type", "POST", "/", "", "query=a.{b,c}.*", Form{"query": {"a.{b,c}.*"}}},
		{"JSON is not read", "POST", "/?a=1", "application/json", `{"a":2}`, Form{"a": {"1"}}},
		{"body of a PUT", "PUT", "/?a=1", "application/x-www-form-urlencoded", "a=2", Form{"a": {"1"}}},
		{
			"multipart", "POST", "/?a=1", "multipart/form-data; boundary=X",
			"--X\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nline\r\nline%20\r\n" +
				"--X\r\nContent-Disposition: form-data; name=\"f\"; filename=\"f\"\r\n\r\nfile\r\n--X--\r\n",
			Form{"a": {"1", "line\r\nline%20"}},
		},
		{"not UTF-8", "GET", "/?a=%ff", "", "", Form{"a": {"\ufffd"}}},
	} {
		r := httptest.NewRequest(c.method, c.url, strings.NewReader(c.body))
		if c.kind != "" {
			r.Header.Set("Content-Type", c.kind)
		}
		got, _, err := ReadForm(httptest.NewRecorder(), r, 0)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestReadFormRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		kind, body string
		status     int
	}{
		"a large body":         {"application/x-www-form-urlencoded", "a=" + strings.Repeat("x", maxBody), http.StatusRequestEntityTooLarge},
		"large parts":          {"multipart/form-data; boundary=X", "--X\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n" + strings.Repeat("x", maxBody), http.StatusRequestEntityTooLarge},
		"parts without end":    {"multipart/form-data; boundary=X", "--X\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nx", http.StatusBadRequest},
		"parts without a line": {"multipart/form-data", "--X", http.StatusBadRequest},
	} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(c.body))
		r.Header.Set("Content-Type", c.kind)
		if _, _, err := ReadForm(httptest.NewRecorder(), r, 0); err == nil || StatusOf(err) != c.status {
			t.Errorf("%s: error %v, want status %d", name, err, c.status)
		}
	}
}

// FuzzForm checks that a form that net/url accepts, and that has no semicolon, means the same here.
func FuzzForm(f *testing.F) {
	for _, seed := range []string{"a=b&c=d", "a=%41+b", "a;b=c", "%", "a=%ff", "=", "&&", "target=a.{b,c}&from=-1h"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		got := Form{}
		got.Add(query)
		want, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		clean := Form{}
		for k, list := range want {
			for _, v := range list {
				clean[valid(k)] = append(clean[valid(k)], valid(v))
			}
		}
		for k, list := range clean {
			if len(list) != len(got[k]) || list[0] != got[k][0] && len(want) == len(clean) {
				t.Errorf("form of %q: %q = %q, want %q", query, k, got[k], list)
			}
		}
	})
}
