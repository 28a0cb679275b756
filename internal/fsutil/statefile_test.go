package fsutil

import (
	"os"
	"path/filepath"
	"testing"
)

func TestState(t *testing.T) {
	name := filepath.Join(t.TempDir(), "state")
	var doc struct{ N int }
	if found, err := ReadState(name, &doc); found || err != nil {
		t.Fatal(found, err)
	}
	for n := 1; n < 3; n++ {
		doc.N = n
		if err := WriteState(name, doc); err != nil {
			t.Fatal(err)
		}
		doc.N = 0
		if found, err := ReadState(name, &doc); !found || err != nil || doc.N != n {
			t.Fatal(found, err, doc)
		}
	}
	if err := os.WriteFile(name, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if found, err := ReadState(name, &doc); !found || err == nil {
		t.Error("half a file is read")
	}
	if err := WriteState(filepath.Join(name, "in a file"), doc); err == nil {
		t.Error("written into a file that is no folder")
	}
}
