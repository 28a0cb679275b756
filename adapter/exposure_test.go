package adapter

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"github.com/tsdbridge/tsdbridge/storage/write"
)

// The log names the listeners that other machines reach without a password, and no others.
func TestExposed(t *testing.T) {
	hash, err := bcrypt.GenerateFromPassword([]byte("secret"), bcrypt.MinCost)
	must(t, err)
	users := filepath.Join(t.TempDir(), "users.yml")
	must(t, os.WriteFile(users, []byte("basic_auth_users:\n  ann: "+string(hash)+"\n"), 0o600))
	headers := filepath.Join(t.TempDir(), "headers.yml")
	must(t, os.WriteFile(headers, []byte("http_server_config: {http2: false}\n"), 0o600))
	everywhere, here := ":0", "127.0.0.1:0"
	for _, c := range []struct {
		web, grpc, carbon, opentsdb, config string
		openPuts                            bool
		want                                []string
	}{
		{here, here, here, here, "", false, nil},
		{here, "", "", "", "", false, nil},
		{everywhere, "", "", "", "", false, []string{"http"}},
		{"0.0.0.0:0", everywhere, everywhere, everywhere, "", false, []string{"http", "otlp grpc", "carbon", "opentsdb telnet", "opentsdb http"}},
		{everywhere, here, everywhere, everywhere, headers, false, []string{"http", "carbon", "opentsdb telnet", "opentsdb http"}},
		{everywhere, everywhere, everywhere, everywhere, users, false, []string{"carbon", "opentsdb telnet"}},
		{everywhere, everywhere, here, everywhere, users, true, []string{"opentsdb telnet", "opentsdb http"}},
	} {
		o := storeTestOptions(t, write.Through)
		o.ListenAddress, o.OTLPGRPCAddress, o.Carbon.ListenAddress, o.OpenTSDB.ListenAddress, o.WebConfigFile, o.OpenTSDB.OpenPuts = c.web, c.grpc, c.carbon, c.opentsdb, c.config, c.openPuts
		a, err := New(o)
		must(t, err)
		var got []string
		for _, l := range a.exposed(a.carbonAndOpenTSDB()) {
			got = append(got, l.name)
		}
		must(t, a.Close())
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q", c, got)
		}
	}
	for address, want := range map[string]bool{
		":9201": true, "[::]:1": true, "0.0.0.0:1": true, "10.0.0.1:1": true, "metrics.example.org:1": true, "[fe80::1%eth0]:1": true,
		"127.0.0.1:1": false, "127.8.8.8:1": false, "[::1]:1": false, "[::ffff:127.0.0.1]:1": false, "localhost:1": false,
	} {
		if got := reachable(address); got != want {
			t.Errorf("%s: %v, want %v", address, got, want)
		}
	}
}
