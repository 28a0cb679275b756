package adapter

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/adapter/tables"
)

// TestBrokenWebConfigIsShown: a web configuration that is ignored because it cannot be used is among what the page Status
// shows of /-/ready?verbose, until it can be used again.
func TestBrokenWebConfigIsShown(t *testing.T) {
	o := DefaultOptions()
	o.Engine, o.WebConfigFile = tables.EngineMemory, filepath.Join(t.TempDir(), "web.yml")
	write := func(text string) { must(t, os.WriteFile(o.WebConfigFile, []byte(text), 0o600)) }
	write("basic_auth_users: {}\n")
	a, _ := runAdapter(t, o)
	shown := func() string {
		var b strings.Builder
		a.describe(&b)
		return b.String()
	}
	const ignored = "\nweb configuration ignored"
	if got := shown(); strings.Contains(got, ignored) {
		t.Errorf("before:\n%s", got)
	}
	write("basic_auth_users: [\n")
	if got := shown(); !strings.Contains(got, ignored) || !strings.Contains(got, o.WebConfigFile) {
		t.Errorf("broken:\n%s", got)
	}
	write("basic_auth_users: {} # again\n")
	if got := shown(); strings.Contains(got, ignored) {
		t.Errorf("whole again:\n%s", got)
	}
}
