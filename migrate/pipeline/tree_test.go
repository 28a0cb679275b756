package pipeline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// treeStore keeps files; those that hold "bad" are skipped.
type treeStore struct {
	mu    sync.Mutex // guards what follows
	files map[string]string
	fail  func(path string) error // nil: none
}

func (s *treeStore) store(_ context.Context, path string, data []byte) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		if err := s.fail(path); err != nil {
			return 0, err
		}
	}
	switch string(data) {
	case "bad":
		return 0, SkipError{Err: errors.New("not good")}
	case "half":
		s.files[path] = "ha"
		return 2, SkipError{Err: errors.New("half of it is not good"), Points: 2}
	}
	s.files[path] = string(data)
	return int64(len(data)), nil
}

// treeFixture returns a directory of files, a store, and options.
func treeFixture(t *testing.T, files map[string]string) (*treeStore, TreeOptions) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := &treeStore{files: map[string]string{}}
	o := DefaultTreeOptions()
	o.Dir, o.Suffix, o.Store, o.Target, o.What, o.State = dir, ".wsp", s.store, "here", "all", filepath.Join(t.TempDir(), "state")
	return s, o
}

func TestImportTree(t *testing.T) {
	s, o := treeFixture(t, map[string]string{"a/b.wsp": "one", "a.wsp": "seven", "a/c/d.wsp": "bad", "z/e.wsp": "half", "other.txt": "x", "long.wsp": strings.Repeat("x", 100)})
	o.FileBytes = 50
	var skipped []string
	var mu sync.Mutex
	o.Skipped = func(path string, err error) {
		mu.Lock()
		defer mu.Unlock()
		skipped = append(skipped, path+": "+err.Error())
	}
	done, err := ImportTree(t.Context(), o)
	if err != nil || done.Points != 10 || done.Files != 5 || done.Done != 5 || done.Skipped != 3 || done.Read != done.Size {
		t.Errorf("%+v, %v", done, err)
	}
	if diff := cmp.Diff(map[string]string{"a/b.wsp": "one", "a.wsp": "seven", "z/e.wsp": "ha"}, s.files); diff != "" {
		t.Error(diff)
	}
	slices.Sort(skipped)
	if diff := cmp.Diff([]string{"a/c/d.wsp: not good", "long.wsp: it has 100 bytes; at most 50 are read", "z/e.wsp: half of it is not good"}, skipped); diff != "" {
		t.Error(diff)
	}
	// The same again does nothing, and still tells of what was skipped.
	clear(s.files)
	done, err = ImportTree(t.Context(), o)
	if err != nil || done.Points != 0 || done.Before != 10 || done.Done != 5 || done.Skipped != 3 || len(s.files) > 0 {
		t.Errorf("%+v, %v", done, err)
	}
	for want, change := range map[string]func(*TreeOptions){
		"into there": func(o *TreeOptions) { o.Target = "there" }, "(finest)": func(o *TreeOptions) { o.What = "finest" }, "is the state of": func(o *TreeOptions) { o.Dir = filepath.Dir(o.Dir) },
		"no file's name ends with .csv": func(o *TreeOptions) { o.Suffix, o.State = ".csv", "" }, "no such file": func(o *TreeOptions) { o.Dir, o.State = "nowhere", "" },
	} {
		other := o
		change(&other)
		if _, err := ImportTree(t.Context(), other); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	// A file that came since would not be noticed.
	if err := os.WriteFile(filepath.Join(o.Dir, "b.wsp"), []byte("new"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ImportTree(t.Context(), o); err == nil || !strings.Contains(err.Error(), "5 files up to z/e.wsp were imported, and now there are 6") {
		t.Error(err)
	}
}

// An import that ends early goes on where it was, whatever was under way.
func TestImportTreeGoesOn(t *testing.T) {
	files := map[string]string{}
	for n := range 40 {
		files[fmt.Sprintf("d%d/f%02d.wsp", n%3, n)] = strings.Repeat("x", n+1)
	}
	s, o := treeFixture(t, files)
	o.Parallel, o.Patience = 3, 0
	stored, total := map[string]int{}, int64(0)
	for n := range 10 {
		left := 5
		s.fail = func(path string) error {
			if left--; left < 0 {
				return errors.New("away")
			}
			stored[path]++
			return nil
		}
		done, err := ImportTree(t.Context(), o)
		if done.Before != total {
			t.Fatalf("%+v: %d before", done, total)
		}
		if total += done.Points; err == nil {
			break
		} else if n == 9 {
			t.Fatal(err)
		}
	}
	if want := int64(40 * 41 / 2); total != want {
		t.Errorf("%d points, want %d", total, want)
	}
	if !maps.Equal(s.files, files) {
		t.Error("not all files are there")
	}
	for path, n := range stored {
		if n != 1 {
			t.Errorf("%s was stored %d times", path, n)
		}
	}
}

func TestImportTreeWaits(t *testing.T) {
	s, o := treeFixture(t, map[string]string{"a.wsp": "one"})
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		s.fail = func(string) error {
			if tries++; tries < 6 {
				return errors.New("away")
			}
			return nil
		}
		var told []string
		o.Failed = func(err error) { told = append(told, err.Error()) }
		o.Patience = time.Minute
		o.Now = time.Now
		if done, err := ImportTree(t.Context(), o); err != nil || done.Points != 3 || len(told) != 1 {
			t.Errorf("%+v, %v, %v", done, err, told)
		}
	})
}

// TestMarks: a state is refused where something that is done has changed since, or has been exchanged, and only then.
func TestMarks(t *testing.T) {
	o := PiecesOptions{Parallel: 1, HeldBytes: 1, Now: time.Now, Every: time.Second, State: filepath.Join(t.TempDir(), "state"), Source: "a", Target: "b", What: "c"}
	stored := 0
	o.Store = func(_ context.Context, piece int) (int64, error) {
		if o.Pieces[piece].Name == "3" {
			return 0, FinalError{errors.New("it fails")}
		}
		stored++
		return 1, nil
	}
	for _, c := range []struct {
		pieces string // names and marks
		stored int
		err    string
	}{
		{"1x 2y 3z", 2, "it fails"}, // the first two are done
		{"1x 2y 3z", 0, "it fails"},
		{"1x 2y 3a", 0, "it fails"}, // the third was not
		{"1x 2z 3z", 0, "has changed since"},
		{"1x 2y 4z", 1, ""},
		{"1x 2y 4z", 0, ""},
		{"1x 2y 4a", 0, "has changed since"},
		{"1x 2y 4z 5z", 1, ""},
	} {
		o.Pieces, stored = nil, 0
		for text := range strings.FieldsSeq(c.pieces) {
			o.Pieces = append(o.Pieces, Piece{Name: text[:1], Mark: text[1:]})
		}
		_, err := ImportPieces(t.Context(), o)
		if stored != c.stored || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %d were stored, %v: want %d, %s", c.pieces, stored, err, c.stored, c.err)
		}
	}
}
