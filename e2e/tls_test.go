package e2e_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// webConfig is the README's, with a user "prometheus" whose password is "secret".
const webConfig = `
tls_server_config: {cert_file: server.crt, key_file: server.key}
basic_auth_users: {prometheus: ` + secretHash + `}
`

// clientConfig is the client's side of webConfig, for promtool.
const clientConfig = `
tls_config: {ca_file: server.crt}
basic_auth: {username: prometheus, password: secret}
`

// secretHash is "secret" by bcrypt at its lowest cost, as "htpasswd -nBC 4" makes it.
const secretHash = "$2a$04$RDYv1Z8CJw8cj3ShL6UhUOpkRFBECXjIlXivHatzBOp1qpJCTYvoi"

// TestTLS runs the adapter with a certificate and a password: a client without them gets nothing,
// and Prometheus' own client is accepted.
func TestTLS(t *testing.T) {
	needE2E(t)
	t.Parallel()
	dir := t.TempDir()
	pool := writeCertificate(t, dir)
	writeFile(t, dir, "web.yml", webConfig)
	writeFile(t, dir, "client.yml", clientConfig)
	a := launchAdapter(t, "--web.config.file="+filepath.Join(dir, "web.yml"))

	plain := a.client
	a.base = "https://" + a.addr
	stranger := a.client // trusts no certificate
	a.http = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13}}}
	nameless := a.client
	a.user, a.password = "prometheus", "secret"
	wrong := a.client
	wrong.password = "public"
	a.WaitReady(t)

	push := exec.CommandContext(t.Context(), prometheusBinary(t, "promtool"), "push", "metrics", "--http.config.file="+filepath.Join(dir, "client.yml"), a.base+"/")
	push.Stdin = strings.NewReader("sealed{by=\"tls\"} 42\n")
	if out, err := push.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", push, err, out)
	}
	if got := a.Query(t, "sealed", time.Now()); len(got) != 1 || got[0].points[0].value != "42" {
		t.Errorf("sealed = %v, want 42", got)
	}
	if r := plain.Get(t, "/-/ready"); r.status != http.StatusBadRequest {
		t.Errorf("plain HTTP: %v, want 400", r)
	}
	if r, err := stranger.do(t.Context(), http.MethodGet, "/-/ready", nil, nil); err == nil {
		t.Errorf("an untrusted certificate was taken: %v", r)
	}
	for _, path := range []string{"/-/ready", "/metrics", "/api/v1/query?query=sealed", "/api/v1/write", "/debug/pprof/"} {
		for name, c := range map[string]client{"without password": nameless, "with a wrong password": wrong} {
			if r := c.Get(t, path); r.status != http.StatusUnauthorized {
				t.Errorf("%s %s: %v, want 401", path, name, r)
			}
		}
	}
}

// writeCertificate writes a self-signed server.crt and server.key for 127.0.0.1, and returns a pool
// that trusts it.
func writeCertificate(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "tsdbridge test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
	writeFile(t, dir, "server.crt", string(text))
	writeFile(t, dir, "server.key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return pool
}

func writeFile(t *testing.T, dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
