package webconfig

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The next request is answered by the changed file; a file that cannot be read refuses all.
func TestHandler(t *testing.T) {
	path := filepath.Join(t.TempDir(), "web.yml")
	write(t, path, "basic_auth_users: {me: "+hashOf(t, "one")+"}\nhttp_server_config: {headers: {X-Frame-Options: deny}}\n")
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	h, err := f.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ask := func(user, password string, want int) {
		t.Helper()
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
		if user != "" {
			r.SetBasicAuth(user, password)
		}
		h.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%s %s: %d, want %d", user, password, w.Code, want)
		}
		if want != http.StatusInternalServerError && w.Header().Get("X-Frame-Options") != "deny" {
			t.Errorf("header %v", w.Header())
		}
	}
	for range 2 {
		ask("", "", http.StatusUnauthorized)
		ask("me", "two", http.StatusUnauthorized)
		ask("you", "one", http.StatusUnauthorized)
		ask("me", "one", http.StatusNoContent)
	}
	write(t, path, "basic_auth_users: {me: "+hashOf(t, "twelve")+"} \nhttp_server_config: {headers: {X-Frame-Options: deny}}\n")
	ask("me", "one", http.StatusUnauthorized)
	ask("me", "twelve", http.StatusNoContent)
	write(t, path, "basic_auth_users: nonsense")
	ask("me", "twelve", http.StatusInternalServerError)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	ask("me", "twelve", http.StatusInternalServerError)
	write(t, path, "http_server_config: {headers: {X-Frame-Options: deny}}\n")
	ask("", "", http.StatusNoContent)
}

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "web.yml")
	for _, bad := range []string{"nonsense: 1", "basic_auth_users: {me: public}", "tls_server_config: {cert_file: none}", "http_server_config: {headers: {X-Own: a}}"} {
		write(t, path, bad)
		if _, err := Open(path); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
	for _, good := range []string{"", "{}", "rate_limit: {interval: 1s, burst: 2}"} {
		write(t, path, good)
		if _, err := Open(path); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
}

// A changed certificate is used from the next connection on, for both versions of HTTP.
func TestServe(t *testing.T) {
	for _, http2 := range []bool{true, false} {
		t.Run(fmt.Sprint("http2 ", http2), func(t *testing.T) { testServe(t, http2) })
	}
}

func testServe(t *testing.T, http2 bool) {
	dir := t.TempDir()
	writeCertificate(t, dir, "one")
	path := filepath.Join(dir, "web.yml")
	write(t, path, fmt.Sprintf("tls_server_config: {cert_file: server.crt, key_file: server.key}\nhttp_server_config: {http2: %v}\n", http2))
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) })}
	done := make(chan error, 1)
	go func() { done <- f.Serve(l, server, slog.New(slog.DiscardHandler)) }()
	proto := "HTTP/1.1"
	if http2 {
		proto = "HTTP/2.0"
	}
	for _, name := range []string{"one", "another"} {
		if name != "one" {
			writeCertificate(t, dir, name)
		}
		client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
		r, err := client.Get("https://" + l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if got := r.TLS.PeerCertificates[0].DNSNames[0]; got != name || string(text) != proto {
			t.Errorf("certificate of %s by %s, want %s by %s", got, text, name, proto)
		}
		client.CloseIdleConnections()
	}
	_ = server.Close()
	if err := <-done; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
}

// writeCertificate writes server.crt and server.key of a name.
func writeCertificate(t *testing.T, dir, name string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "server.key"), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
	write(t, filepath.Join(dir, "server.crt"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})))
}
