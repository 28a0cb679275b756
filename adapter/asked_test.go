package adapter

import "testing"

func TestAdminURL(t *testing.T) {
	for address, want := range map[string]string{
		":9201": "http://localhost:9201", "0.0.0.0:1": "http://localhost:1", "[::]:1": "http://localhost:1", "10.0.0.1:80": "http://10.0.0.1:80",
		"[::1]:80": "http://[::1]:80", "": "", ":0": "", "nothing": "",
	} {
		o := Options{ListenAddress: address}
		if got, err := o.AdminURL(""); got != want || (err != nil) != (want == "") {
			t.Errorf("adminURL of %q = %q, %v; want %q", address, got, err, want)
		}
	}
	o := Options{ListenAddress: ":9201", WebConfigFile: "web.yml"}
	if got, _ := o.AdminURL(""); got != "https://localhost:9201" {
		t.Errorf("adminURL with a web configuration = %q", got)
	}
}
