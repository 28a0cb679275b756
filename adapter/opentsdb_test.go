package adapter

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"github.com/tsdbridge/tsdbridge/storage"
)

// TestOpenTSDBQueries puts a point on OpenTSDB's port and asks for it there and on the web port. With
// passwords in the web configuration, queries need one on both, and puts none.
func TestOpenTSDBQueries(t *testing.T) {
	hash, err := bcrypt.GenerateFromPassword([]byte("secret"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "web.yml")
	if err := os.WriteFile(config, []byte("basic_auth_users:\n  ann: "+string(hash)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"", config} {
		o := storeTestOptions(t, storage.WriteBuffered)
		o.OpenTSDB.ListenAddress, o.WebConfigFile = "127.0.0.1:0", file
		a, stop := runAdapter(t, o)
		send := func(method, url, body, password string) (int, string) {
			request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			if password != "" {
				request.SetBasicAuth("ann", password)
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
			return response.StatusCode, string(text)
		}
		port, web := "http://"+a.opentsdb.Addr(), "http://"+a.Addr()
		if status, text := send("POST", port+"/api/put", `{"metric":"m","timestamp":1356998400,"value":42,"tags":{"host":"a"}}`, ""); status != http.StatusNoContent {
			t.Fatal(status, text)
		}
		const query, want = "/api/query?start=1356998400&end=1356998401&m=sum:m", `[{"metric":"m","tags":{"host":"a"},"aggregateTags":[],"dps":{"1356998400":42}}]`
		for _, base := range []string{port, web} {
			if status, text := send("GET", base+query, "", "secret"); status != http.StatusOK || text != want {
				t.Errorf("web configuration %q: %s: %d %s, want %s", file, base, status, text, want)
			}
			if status, _ := send("GET", base+query, "", ""); (status == http.StatusUnauthorized) != (file != "") {
				t.Errorf("web configuration %q: %s without a password: %d", file, base, status)
			}
		}
		stop()
	}
}
