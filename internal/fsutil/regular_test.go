package fsutil

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err != nil {
		t.Skip(err)
	}
	for _, name := range []string{file, link} {
		if got, err := ReadRegular(name); err != nil || string(got) != "content" {
			t.Errorf("Read(%q) = %q, %v", name, got, err)
		}
	}
	if got, err := ReadRegular(os.DevNull); err != nil || len(got) != 0 {
		t.Errorf("Read(%q) = %q, %v", os.DevNull, got, err)
	}
	for name, want := range map[string]string{
		dir:                           " is a directory; want a regular file",
		filepath.Join(dir, "nothing"): "nothing: no such file",
	} {
		if _, err := ReadRegular(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Read(%q): %v, want %q", name, err, want)
		}
	}
	if _, err := ReadRegularUpTo(file, 6); err == nil || !strings.HasSuffix(err.Error(), "file has 7 bytes; at most 6 are read") {
		t.Errorf("a file that is too long: %v", err)
	}
	if got, err := ReadRegularUpTo(file, 7); err != nil || string(got) != "content" {
		t.Errorf("a file that is just short enough: %q, %v", got, err)
	}
	if err := CheckRegular(""); err != nil {
		t.Errorf("Check of no file: %v", err)
	}
}
