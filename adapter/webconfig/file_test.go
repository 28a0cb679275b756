package webconfig

import (
	"bytes"
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
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The next request is answered by the changed file; while that cannot be used, by the one from before.
func TestHandler(t *testing.T) {
	path := filepath.Join(t.TempDir(), "web.yml")
	write(t, path, "basic_auth_users: {me: "+hashOf(t, "one")+"}\nhttp_server_config: {headers: {X-Frame-Options: deny}}\n")
	f, err := Open(path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	h := f.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
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
		if w.Header().Get("X-Frame-Options") != "deny" {
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
	ask("me", "twelve", http.StatusNoContent)
	ask("me", "one", http.StatusUnauthorized)
	ask("", "", http.StatusUnauthorized)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	ask("me", "twelve", http.StatusNoContent)
	ask("", "", http.StatusUnauthorized)
	write(t, path, "http_server_config: {headers: {X-Frame-Options: deny}}\n")
	ask("", "", http.StatusNoContent)
}

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "web.yml")
	for _, bad := range []string{"nonsense: 1", "basic_auth_users: {me: public}", "tls_server_config: {cert_file: none}", "http_server_config: {headers: {X-Own: a}}"} {
		write(t, path, bad)
		if _, err := Open(path, slog.New(slog.DiscardHandler)); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
	for _, good := range []string{"", "{}", "rate_limit: {interval: 1s, burst: 2}"} {
		write(t, path, good)
		if _, err := Open(path, slog.New(slog.DiscardHandler)); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
}

// Each file that breaks while it is in use leaves the certificate and the authority from before in use, is told once and by
// the metric, and a start with it fails. When it is whole again, it is used.
func TestBrokenFiles(t *testing.T) {
	const config = "tls_server_config: {cert_file: server.crt, key_file: server.key, client_ca_file: ca.crt, client_auth_type: VerifyClientCertIfGiven}\n"
	for _, name := range []string{"server.crt", "server.key", "ca.crt", "web.yml"} {
		for _, text := range []string{"", "-----BEGIN CERTIFICATE-----\nAAAA", "nonsense", "gone"} {
			if name == "web.yml" && text == "" {
				continue // an empty file is a whole one
			}
			dir := t.TempDir()
			writeCertificate(t, dir, "first")
			authority, err := os.ReadFile(filepath.Join(dir, "server.crt"))
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, "ca.crt"), string(authority))
			path := filepath.Join(dir, "web.yml")
			write(t, path, config)
			var log bytes.Buffer
			f, err := Open(path, slog.New(slog.NewTextHandler(&log, nil)))
			if err != nil {
				t.Fatal(err)
			}
			registry := prometheus.NewRegistry()
			f.Register(registry)
			usable := func(want float64) {
				t.Helper()
				families, err := registry.Gather()
				if err != nil || families[0].GetMetric()[0].GetGauge().GetValue() != want {
					t.Errorf("%s %q: %v, %v, want %v", name, text, families, err, want)
				}
			}
			usable(1)
			first := f.now()
			whole, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if text == "gone" {
				if err := os.Remove(filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			} else {
				write(t, filepath.Join(dir, name), text)
			}
			for range 3 {
				usable(0)
				if f.now() != first {
					t.Errorf("%s %q: other settings", name, text)
				}
			}
			if n := strings.Count(log.String(), "level=ERROR"); n != 1 {
				t.Errorf("%s %q: told %d times: %s", name, text, n, &log)
			}
			if _, err := Open(path, slog.New(slog.DiscardHandler)); err == nil {
				t.Errorf("%s %q: a start succeeds", name, text)
			}
			write(t, filepath.Join(dir, name), string(whole))
			usable(1)
			if f.now() == first {
				t.Errorf("%s %q: the file that is whole again is not used", name, text)
			}
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
	f, err := Open(path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) })}
	done := make(chan error, 1)
	go func() { done <- f.Serve(l, server) }()
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
