package adapter

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"github.com/tsdbridge/tsdbridge/storage/write"
)

// TestOpenTSDBQueries puts a point on OpenTSDB's port and asks for it there and on the web port. With
// passwords in the web configuration, all of HTTP needs one, but for puts if they are open.
func TestOpenTSDBQueries(t *testing.T) {
	hash, err := bcrypt.GenerateFromPassword([]byte("secret"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "web.yml")
	if err := os.WriteFile(config, []byte("basic_auth_users:\n  ann: "+string(hash)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, file := range []string{"", config, config} {
		o := storeTestOptions(t, write.Buffered)
		o.OpenTSDB.OpenPuts = i == 2
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
		const put = `{"metric":"m","timestamp":1356998400,"value":42,"tags":{"host":"a"}}`
		if status, _ := send("POST", port+"/api/put", put, ""); (status == http.StatusUnauthorized) != (i == 1) {
			t.Errorf("case %d: put without a password: %d", i, status)
		}
		if status, text := send("POST", port+"/api/put", put, "secret"); status != http.StatusNoContent {
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

// TestOpenTSDBOverTLS puts a point by HTTP and by telnet over TLS. HTTP without TLS is refused.
func TestOpenTSDBOverTLS(t *testing.T) {
	server, config := tlsConfig(t, "")
	o := storeTestOptions(t, write.Buffered)
	o.OpenTSDB.ListenAddress, o.WebConfigFile = "127.0.0.1:0", config
	a, stop := runAdapter(t, o)
	defer stop()
	port := a.opentsdb.Addr()

	secure, err := tls.Dial("tcp", port, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // whose certificate it is does not matter here
	if err != nil {
		t.Fatal(err)
	}
	defer secure.Close()
	if _, err := io.WriteString(secure, "put m 1356998400 42 host=a\nversion\nexit\n"); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(secure); err != nil || !strings.HasPrefix(string(text), "tsdbridge ") {
		t.Fatal(string(text), err)
	}
	get := func(url string) (int, string) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+port+"/api/query?start=1356998400&end=1356998401&m=sum:m", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := server.Client().Do(request)
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
	if status, text := get("https://"); status != http.StatusOK || !strings.Contains(text, `"1356998400":42`) {
		t.Error(status, text)
	}
	if status, text := get("http://"); status != http.StatusBadRequest || !strings.Contains(text, "TLS") {
		t.Error(status, text)
	}
	for _, garbage := range []string{"\x16", "\x16\x03\x01\x00\x05hello", "\x16put m 1 1 a=b\n"} {
		conn, err := net.Dial("tcp", port)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, garbage)
		_ = conn.(*net.TCPConn).CloseWrite()
		_, _ = io.ReadAll(conn) // it is closed
		_ = conn.Close()
	}
}

// tlsConfig returns the path of a web configuration with a certificate, and with more, and a server whose client
// trusts that certificate.
func tlsConfig(t *testing.T, more string) (server *httptest.Server, config string) {
	t.Helper()
	server = httptest.NewUnstartedServer(nil) // for its certificate
	server.StartTLS()
	t.Cleanup(server.Close)
	pair := server.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, block := range map[string]*pem.Block{
		"server.crt": {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, "server.key": {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	config = filepath.Join(dir, "web.yml")
	if err := os.WriteFile(config, []byte("tls_server_config: {cert_file: server.crt, key_file: server.key}\n"+more), 0o600); err != nil {
		t.Fatal(err)
	}
	return server, config
}
