package blocks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/tsdb"

	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
)

// blockDirs returns the directories of the blocks of a data directory, by time.
func blockDirs(t *testing.T, dir string) (dirs []string) {
	t.Helper()
	all, err := openBlocks(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range all.blocks {
		dirs = append(dirs, b.Dir())
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return dirs
}

// change changes a byte of a file; from below 0: from its end.
func change(t *testing.T, name string, from int) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if from < 0 {
		from += len(text)
	}
	text[from] ^= 0xff
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// without counts the samples of some that others lack, and those that they have otherwise.
func without(all, others promtest.Samples) (lacking, otherwise int) {
	for key, text := range all {
		switch other, there := others[key]; {
		case !there:
			lacking++
		case other != text:
			otherwise++
		}
	}
	return lacking, otherwise
}

// TestDamaged reads directories of which something is damaged: what is not comes, and what is is told.
func TestDamaged(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *testing.T, dir string)
		lost   func(n int) bool
		named  string
		more   int // samples that come in addition, and are others
	}{
		"a chunk": {func(t *testing.T, dir string) {
			t.Helper()
			change(t, filepath.Join(blockDirs(t, dir)[0], "chunks", "000001"), 300)
		}, func(n int) bool { return n > 0 && n <= 60 }, "chunk of", 0},
		"a chunk of blocks that overlap": {func(t *testing.T, dir string) {
			t.Helper()
			change(t, filepath.Join(blockDirs(t, dir)[1], "chunks", "000001"), 300)
		}, func(n int) bool { return n <= 120 }, "checksum", 130}, // both blocks have all times
		"an index": {func(t *testing.T, dir string) {
			t.Helper()
			change(t, filepath.Join(blockDirs(t, dir)[0], "index"), -5)
		}, func(n int) bool { return n > 600 && n <= 720 }, "invalid checksum", 0},
		"a missing meta.json": {func(t *testing.T, dir string) {
			t.Helper()
			if err := os.Remove(filepath.Join(blockDirs(t, dir)[0], "meta.json")); err != nil {
				t.Fatal(err)
			}
		}, func(n int) bool { return n > 600 && n <= 720 }, "meta.json", 0},
		"tombstones of 8 bytes": {func(t *testing.T, dir string) { // over which the Prometheus module panics
			t.Helper()
			if err := os.Truncate(filepath.Join(blockDirs(t, dir)[0], "tombstones"), 8); err != nil {
				t.Fatal(err)
			}
		}, func(n int) bool { return n > 600 && n <= 720 }, "damaged: ", 0},
		"the meta.json of another block": {func(t *testing.T, dir string) {
			t.Helper()
			dirs := blockDirs(t, dir)
			text, err := os.ReadFile(filepath.Join(dirs[1], "meta.json"))
			if err == nil {
				err = os.WriteFile(filepath.Join(dirs[0], "meta.json"), text, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}, func(n int) bool { return n > 600 && n <= 720 }, "meta.json is that of block", 0},
		"a meta.json without statistics": {func(t *testing.T, dir string) {
			t.Helper()
			name := filepath.Join(blockDirs(t, dir)[1], "meta.json")
			text, err := os.ReadFile(name)
			if err == nil {
				err = os.WriteFile(name, bytes.Replace(text, []byte(`"stats"`), []byte(`"other"`), 1), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}, func(n int) bool { return n == 0 }, "", 0},
		"a meta.json with another end": {func(t *testing.T, dir string) {
			t.Helper()
			name := filepath.Join(blockDirs(t, dir)[1], "meta.json")
			text, err := os.ReadFile(name)
			if err == nil {
				var b tsdb.BlockMeta
				if err = json.Unmarshal(text, &b); err == nil {
					text = bytes.Replace(text, fmt.Appendf(nil, `"maxTime": %d`, b.MaxTime), fmt.Appendf(nil, `"maxTime": %d`, b.MaxTime-hour), 1)
					err = os.WriteFile(name, text, 0o600)
				}
			}
			if err != nil {
				t.Fatal(err)
			}
		}, func(n int) bool { return n > 0 && n < 720 }, "chunks are outside of the time of its meta.json", 720},
		"a checkpoint": { // of all that was in the log
			func(t *testing.T, dir string) {
				t.Helper()
				checkpoint := filepath.Join(dir, "wal", "checkpoint.00000000")
				if err := os.Mkdir(checkpoint, 0o750); err != nil {
					t.Fatal(err)
				}
				name := filepath.Join(checkpoint, "00000000")
				if err := os.Rename(filepath.Join(dir, "wal", "00000000"), name); err != nil {
					t.Fatal(err)
				}
				change(t, name, -200)
				if err := os.WriteFile(filepath.Join(dir, "wal", "00000001"), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}, func(n int) bool { return n > 0 && n < 60 }, "head: checkpoint: ", 11,
		},
		"a head beside blocks that overlap": {func(t *testing.T, dir string) {
			t.Helper()
			if err := os.WriteFile(filepath.Join(dir, "wal", "checkpoint.00000000"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, func(n int) bool { return n > 600 && n < 2300 }, "checkpoint.00000000 is not a directory", 11},
		"missing segments of the log": {func(t *testing.T, dir string) {
			t.Helper()
			if err := os.WriteFile(filepath.Join(dir, "wal", "00000007"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, func(n int) bool { return n == 0 }, "head: wal: segments 00000002 to 00000006 are missing", 0},
		"the end of the log": {func(t *testing.T, dir string) {
			t.Helper()
			change(t, filepath.Join(dir, "wal", "00000000"), -200)
		}, func(n int) bool { return n > 0 && n < 60 }, "WAL read error", 11}, // a deletion is lost
	} {
		t.Run(name, func(t *testing.T) {
			dir := promtest.DataDir(t)
			want := answer(t, dir)
			c.change(t, dir)
			got, _, damaged := read(t, Options{Dir: dir})
			lost, others := without(want, got)
			if !c.lost(lost) {
				t.Errorf("%d of %d samples are lost", lost, len(want))
			}
			if more, _ := without(got, want); others+more > c.more {
				t.Errorf("%d samples are others, %d come in addition", others, more)
			}
			if c.named != "" && !slices.ContainsFunc(damaged, func(d Damage) bool { return strings.Contains(d.Error(), c.named) }) {
				t.Errorf("%v: want %s", damaged, c.named)
			}
		})
	}
}

// TestParents: a block of which another was made is not read, and may be damaged.
func TestParents(t *testing.T) {
	dir := promtest.DataDir(t)
	want := answer(t, dir)
	dirs := blockDirs(t, dir)[1:3]
	c, err := tsdb.NewLeveledCompactor(t.Context(), nil, nil, []int64{2 * hour}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Compact(dir, dirs, nil); err != nil {
		t.Fatal(err)
	}
	change(t, filepath.Join(dirs[0], "index"), -5)
	got, _, damaged := read(t, Options{Dir: dir})
	lost, others := without(want, got)
	if more, _ := without(got, want); lost > 0 || others > 0 || more > 0 || len(damaged) > 0 {
		t.Errorf("%d samples are lost, %d others, %d more, damaged: %v", lost, others, more, damaged)
	}
}

// TestNoData: a directory without data is refused.
func TestNoData(t *testing.T) {
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), "none")} {
		if _, err := Open(Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "director") {
			t.Errorf("%v", err)
		}
	}
}
