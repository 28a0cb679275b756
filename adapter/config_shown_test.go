package adapter

import (
	"strings"
	"testing"
)

// TestCommandLineWithoutSecrets: /debug/pprof/cmdline shows no value of a secret, however it was given.
func TestCommandLineWithoutSecrets(t *testing.T) {
	flags := map[string]string{"tracing.header": Hidden, "log.level": "info"}
	for given, want := range map[string]string{
		"tsdbridge --tracing.header=key=abc --log.level=info": "tsdbridge --tracing.header=<secret> --log.level=info",
		"tsdbridge --tracing.header key=abc --log.level info": "tsdbridge --tracing.header <secret> --log.level info",
		"tsdbridge --tracing.header":                          "tsdbridge --tracing.header",
		"tsdbridge tracing.header=1 --":                       "tsdbridge tracing.header=1 --",
	} {
		if got := strings.Join(withoutSecrets(strings.Fields(given), flags), " "); got != want {
			t.Errorf("%s is shown as %s, want %s", given, got, want)
		}
	}
}
