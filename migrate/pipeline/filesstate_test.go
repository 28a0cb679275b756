package pipeline

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestFilesState: a state goes on at the last place that may have more files, and tells of what it is not.
func TestFilesState(t *testing.T) {
	name := filepath.Join(t.TempDir(), "state")
	open := func(source string) (*FilesState, error) { return OpenFilesState(name, source, "dir", time.Now) }
	s, err := open("all")
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []FilePlace{{0, "a"}, {0, "b"}, {1, "a"}, {1, "a"}} {
		if err := s.Finish(at, FilesDone{Files: 1, Points: 10}); err != nil {
			t.Fatal(err)
		}
	}
	check := func(want FilePlace, wantDone FilesDone, wantAll bool) {
		t.Helper()
		if s, err = open("all"); err != nil {
			t.Fatal(err)
		}
		if after, done, all := s.Before(); after != want || done != wantDone || all != wantAll {
			t.Errorf("%v, %v, %v; want %v, %v, %v", after, done, all, want, wantDone, wantAll)
		}
	}
	if err := s.Close(false); err != nil {
		t.Fatal(err)
	}
	check(FilePlace{0, "b"}, FilesDone{Files: 2, Points: 20}, false)
	if err := s.Finish(FilePlace{1, "a"}, FilesDone{LeftOut: 1}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(true); err != nil {
		t.Fatal(err)
	}
	check(FilePlace{1, "a"}, FilesDone{Files: 2, Points: 20, LeftOut: 1}, true)
	if _, err := open("some"); err == nil {
		t.Error("the state of another export is taken")
	}
	for _, text := range []string{"{", "{}"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := open("all"); err == nil {
			t.Errorf("%s is taken for a state", text)
		}
	}
}
