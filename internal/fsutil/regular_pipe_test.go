//go:build unix

package fsutil

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Neither Read nor Check waits for a pipe that nobody writes to, or for the end of a device that has none.
func TestNotRegular(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{pipe: "is a pipe; want a regular file", "/dev/zero": "is a device; want a regular file"} {
		if _, err := ReadRegular(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Read(%q): %v, want %q", name, err, want)
		}
		if err := CheckRegular(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Check(%q): %v, want %q", name, err, want)
		}
	}
}
