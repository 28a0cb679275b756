package adapter

import (
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage/write"
)

// Where a method is refused with 405, on both ports, the answer names others in one field, and these are not refused so.
func TestAllow(t *testing.T) {
	o := storeTestOptions(t, write.Through)
	o.OpenTSDB.ListenAddress, o.OpenTSDB.AllowEdits, o.AdminAPI, o.Lifecycle = "127.0.0.1:0", true, true, true
	a, stop := runAdapter(t, o)
	defer stop()
	document, err := os.ReadFile("../docs/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{"/", "/graph", "/metrics", "/-/healthy", "/-/ready", "/-/reload", "/assets/none.js", "/debug/pprof/heap", "/api/v1/status/selected", "/api/uid/uidmeta", "/api/uid/tsmeta", "/api/uid/assign", "/api/uid/rename", "/api/annotation/bulk", "/api/put", "/api/rollup", "/q"}
	for _, found := range regexp.MustCompile(`(?m)^  (/\S*):`).FindAllStringSubmatch(string(document), -1) {
		paths = append(paths, regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(found[1], "x"))
	}
	ask := func(address, method, path string) (status int, allow []string) {
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		return response.StatusCode, response.Header["Allow"]
	}
	refused := 0
	for _, address := range []string{a.Addr(), a.opentsdb.Addr()} {
		for _, path := range paths {
			for _, method := range []string{http.MethodPatch, http.MethodPut, http.MethodDelete, http.MethodTrace} {
				status, allow := ask(address, method, path)
				if status != http.StatusMethodNotAllowed {
					continue
				}
				refused++
				if len(allow) != 1 || allow[0] == "" {
					t.Errorf("%s %s%s: Allow: %q", method, address, path, allow)
					continue
				}
				named := strings.Split(allow[0], ", ")
				if slices.Contains(named, method) {
					t.Errorf("%s %s: refused, and named: %q", method, path, allow)
				}
				if strings.Contains(path, "pprof") || strings.Contains(path, "admin") || path == ReloadPath {
					continue // they take time
				}
				for _, other := range named {
					if status, _ := ask(address, other, path); status == http.StatusMethodNotAllowed {
						t.Errorf("%s %s names %s, which is refused too", method, path, other)
					}
				}
			}
		}
	}
	if refused < 50 {
		t.Errorf("only %d refusals of %d paths", refused, len(paths))
	}
}
