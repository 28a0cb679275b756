package e2e_test

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// tsdbridge runs a command to its end and returns what it printed.
func tsdbridge(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := tryTsdbridge(t, dir, args...)
	if err != nil {
		t.Fatalf("tsdbridge %v: %v\n%s", args, err, out)
	}
	return out
}

// tryTsdbridge runs a command to its end, which may be a failure.
func tryTsdbridge(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), adapterBinary(t), args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestBackupAndRestore backs up an adapter under load and after it, kills it, restores the last
// backup and starts an adapter on that.
func TestBackupAndRestore(t *testing.T) {
	needE2E(t)
	t.Parallel()
	for _, mode := range []string{"through", "buffered"} {
		t.Run(mode, func(t *testing.T) {
			a := startAdapter(t, "--write.mode="+mode, "--web.enable-admin-api")
			l := startLoad(t, a.client)
			backups := t.TempDir()
			for _, name := range []string{"first", "second"} {
				l.WaitAcked(t, between)
				t.Log(tsdbridge(t, a.dir, "backup", "--adapter-url="+a.base, filepath.Join(backups, name)))
			}
			l.WaitAcked(t, between)
			t.Log(tsdbridge(t, a.dir, "tables", "compact", "--adapter-url="+a.base))
			l.Stop()
			t.Log(tsdbridge(t, a.dir, "backup", "--adapter-url="+a.base, filepath.Join(backups, "last")))
			a.Kill()
			t.Log(tsdbridge(t, a.dir, "restore", "--storage.path=restored", filepath.Join(backups, "last")))
			t.Log(tsdbridge(t, a.dir, "tables", "compact", "--storage.path=restored"))
			a.args = append(a.args, "--storage.path=restored")
			a.Restart(t)
			l.Verify(t, a.client)
		})
	}
}
