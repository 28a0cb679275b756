package adapter

import "testing"

// TestAlertURL: rules get the external URL without a slash at its end, as in Prometheus, whose
// templates add paths such as /graph to it.
func TestAlertURL(t *testing.T) {
	for external, want := range map[string]string{
		"https://metrics.example.org":         "https://metrics.example.org",
		"https://metrics.example.org/":        "https://metrics.example.org",
		"https://metrics.example.org:1/tsdb/": "https://metrics.example.org:1/tsdb",
		"https://metrics.example.org/a%2Fb/":  "https://metrics.example.org/a%2Fb",
	} {
		o := Options{ExternalURL: external}
		if got, err := o.alertURL(); err != nil || got.String() != want {
			t.Errorf("%s: %v, %v, want %s", external, got, err, want)
		}
	}
}
