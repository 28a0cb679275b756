package e2e_test

import (
	"net"
	"net/http"
	"path/filepath"
	"testing"
)

// serveWhisper runs graphite-web 1.1.10 over a directory of whisper files until the test ends.
func serveWhisper(t testing.TB, files string) client {
	t.Helper()
	address := freeAddr(t)
	_, port, _ := net.SplitHostPort(address)
	script, err := filepath.Abs("testdata/graphite_web.py")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	startProcess(t, dir, pythonWith(t), "-W", "ignore", script, dir, files, port)
	c := newClient(address)
	eventually(t, waitTimeout, "graphite-web answers", func() error {
		_, err := c.do(t.Context(), http.MethodGet, "/render?target=constantLine(1)&format=json", nil, nil)
		return err
	})
	return c
}
