package pebble

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// Pebble's file of options has no checksum. A damaged one is reported, and repairing the store does
// not need it.
func TestDamagedOptions(t *testing.T) {
	o := Options{Path: filepath.Join(t.TempDir(), "store"), Tables: []kv.Table{{Name: "t", Families: []string{"f"}}}}
	e, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(o.Path, optionsPrefix+"*"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no file of options: %v, %v", names, err)
	}
	name := names[len(names)-1]
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, damaged := range [][]byte{
		[]byte(string(text[:len(text)/2]) + "\x00\x01"),
		[]byte(strings.ReplaceAll(string(text), "tsdbridge", "usdbridge")),
	} {
		if err := os.WriteFile(name, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		e, err := Open(o)
		if err == nil {
			if err := e.Close(); err != nil { // the damaged file does not matter
				t.Fatal(err)
			}
			continue
		}
		if !errors.Is(err, storage.ErrDamaged) || !strings.Contains(err.Error(), filepath.Base(name)) {
			t.Errorf("Open = %v, want the name of %s", err, filepath.Base(name))
		}
		if _, _, err := Repair(t.Context(), o); err != nil {
			t.Errorf("Repair = %v", err)
		}
		e, err = Open(o)
		if err != nil {
			t.Fatalf("Open after Repair = %v", err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Error("no damage kept the store from being opened: the test shows nothing")
}
