package session

import (
	"testing"

	"github.com/tsdbridge/tsdbridge/adapter"
)

func TestUserURL(t *testing.T) {
	for address, want := range map[string]string{
		":9201": "http://localhost:9201", "0.0.0.0:1": "http://localhost:1", "[::]:1": "http://localhost:1", "10.0.0.1:80": "http://10.0.0.1:80",
		"[::1]:80": "http://[::1]:80", "": "", ":0": "", "nothing": "",
	} {
		o := adapter.Options{ListenAddress: address}
		if got, err := UserURL(o, ""); got != want || (err != nil) != (want == "") {
			t.Errorf("UserURL of %q = %q, %v; want %q", address, got, err, want)
		}
	}
	o := adapter.Options{ListenAddress: ":9201", WebConfigFile: "web.yml"}
	if got, _ := UserURL(o, ""); got != "https://localhost:9201" {
		t.Errorf("UserURL with a web configuration = %q", got)
	}
}
