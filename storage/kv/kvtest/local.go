package kvtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// RunLocal tests an engine against the contract of kv.Local; Run tests its kv.KV. The engine is
// opened once, with empty Tables; open must also close it.
func RunLocal(t *testing.T, open func(t *testing.T) kv.Local) {
	engine := open(t)
	for _, test := range []struct {
		name string
		run  func(*localSuite)
	}{
		{"local_stamps", (*localSuite).testStamps},
		{"local_late_stamps", (*localSuite).testLateStamps},
		{"deletes", (*localSuite).testDeletes},
		{"get_stored", func(s *localSuite) { testGetStored(&s.suite, s.engine) }},
		{"scan_stored", func(s *localSuite) { testScanStored(&s.suite, s.engine) }},
		{"unlogged", (*localSuite).testUnlogged},
		{"delete_range", (*localSuite).testDeleteRange},
		{"delete_range_refused", (*localSuite).testDeleteRangeRefused},
		{"split", func(s *localSuite) { testSplit(&s.suite, s.engine) }},
		{"split_empty", func(s *localSuite) { testSplitEmpty(&s.suite, s.engine) }},
		{"log_end", (*localSuite).testLogEnd},
		{"disk", (*localSuite).testDisk},
		{"compact", (*localSuite).testCompact},
		{"checkpoint", (*localSuite).testCheckpoint},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.run(&localSuite{suite{T: t, kv: engine, name: test.name}, engine})
		})
	}
}

type localSuite struct {
	suite
	engine kv.Local
}

// testStamps: the last put is read, with the stamp that it was put with.
func (s *localSuite) testStamps() {
	for i, c := range []struct{ steps, read string }{
		{"q=1@20", "q=1@20"},
		{"q=1@20; q=2@30", "q=2@30"},
		{"q=1@20; q=2@10", "q=2@10"},
		{"q=1@20; q=2@20", "q=2@20"},
		{"q=1@0", "q=1@now"},
		{"q=1@20; q=2@0", "q=2@now"},
		{"q=1@0; q=2@20", "q=2@20"},
		{"q=1@30,r=1@20", "q=1@30 r=1@20"},
		{"q=1@20,r=1@0", "q=1@20 r=1@now"},
		{"q=1@20; r=1@10", "q=1@20 r=1@10"},
	} {
		key := fmt.Sprint(i)
		s.steps(key, c.steps, nil)
		if got := cellTexts(s.get(key)[0].Cells, true); got != c.read {
			s.Errorf("%s: %q is read, want %q", c.steps, got, c.read)
		}
	}
	since := s.all()
	since.Since = 25
	s.wantKeys(s.scan(since), "1", "4", "5", "7", "8")
}

// testLateStamps puts stamps of the future: they do not affect cells stamped by the engine's clock.
func (s *localSuite) testLateStamps() {
	const late = 1 << 50
	m := s.puts("k", "a", "1", "b", "2")
	m.Puts[0].Time = late
	s.apply(m)
	s.put("k", "a", "3", "c", "4")
	cells := s.get("k")[0].Cells
	if got := cellTexts(cells, false); got != "a=3 b=2 c=4" || cells[0].Time >= late || cells[1].Time >= late || cells[2].Time != cells[0].Time {
		s.Errorf("cells %v", cells)
	}
}

// testDeletes deletes columns and rows, with and without a stamp.
func (s *localSuite) testDeletes() {
	for i, c := range []struct{ steps, read string }{
		{"q=1@20,r=1@20; -q@0", "r=1"},
		{"q=1@20,r=1@20; -q@10", "r=1"},
		{"q=1@20,r=1@20; -q@10,-r@30", ""},
		{"q=1@20,r=1@20; -@0", ""},
		{"q=1@20,r=1@20; -@10", ""},
		{"q=1@20; -q@30; q=2@25", "q=2"},
		{"q=1@20; -@30; q=2@25", "q=2"},
		{"-q@30; q=1@0", "q=1"},
		{"q=1@20; -q@0,r=2@0", "r=2"},
	} {
		key := fmt.Sprint(i)
		s.steps(key, c.steps, nil)
		if got := cellTexts(s.get(key)[0].Cells, false); got != c.read {
			s.Errorf("%s: %q is read, want %q", c.steps, got, c.read)
		}
	}
}

// errEnough ends a visit.
var errEnough = errors.New("enough")

// stored copies what a RowViewer shows.
func stored(key []byte, cells []kv.StoredCell) kv.Row {
	row := kv.Row{Key: bytes.Clone(key)}
	for _, c := range cells {
		row.Cells = append(row.Cells, kv.Cell{Qualifier: bytes.Clone(c.Qualifier), Value: bytes.Clone(c.Value), Time: c.Time})
	}
	return row
}

// fill writes n rows of one cell, k0000 and so on, and returns their keys.
func (s *suite) fill(n int) (keys []string) {
	s.Helper()
	var rows []kv.Mutation
	for i := range n {
		keys = append(keys, fmt.Sprintf("k%04d", i))
		rows = append(rows, s.puts(keys[i], "q", fmt.Sprint(i)))
	}
	s.apply(rows...)
	return keys
}

func (s *localSuite) testUnlogged() {
	apply := func(rows ...kv.Mutation) error {
		return s.engine.ApplyUnlogged(s.Context(), dataTable, dataFamily, rows)
	}
	if err := errors.Join(apply(s.puts("k", "q", "1", "r", "1")), apply(s.puts("k", "q", "2"), s.puts("l", "q", "3"))); err != nil {
		s.Fatal(err)
	}
	s.want(s.get("k", "l"), s.row("k", "q", "2", "r", "1"), s.row("l", "q", "3"))
	if err := s.engine.Flush(s.Context()); err != nil {
		s.Error(err)
	}
	s.want(s.get("k", "l"), s.row("k", "q", "2", "r", "1"), s.row("l", "q", "3"))
	if err := apply(s.puts("k", "q", "4"), s.puts("k", "q", "5")); !errors.Is(err, kv.ErrInvalid) {
		s.Errorf("a key twice: %v", err)
	}
	cancelled, cancel := context.WithCancel(s.Context())
	cancel()
	if err := s.engine.Flush(cancelled); !errors.Is(err, context.Canceled) {
		s.Errorf("Flush, cancelled = %v", err)
	}
}

// testDeleteRange deletes in all families of a table and in no other table.
func (s *localSuite) testDeleteRange() {
	both := func(key string) {
		for _, family := range []string{"id", "name"} {
			if err := s.engine.Apply(s.Context(), uidTable, family, []kv.Mutation{s.puts(key, "q", family)}); err != nil {
				s.Fatal(err)
			}
		}
	}
	keys := s.fill(30)
	for _, key := range keys {
		both(key)
	}
	ranged := func(from, to string) kv.KeyRange { return kv.KeyRange{From: s.key(from), To: s.key(to)} }
	left := func(family string) (left []string) {
		scan := s.all()
		scan.Table, scan.Family = uidTable, family
		for _, row := range s.scan(scan) {
			left = append(left, string(bytes.TrimPrefix(row.Key, s.key(""))))
		}
		return left
	}
	// One range with many rows, one with a single row, and one without any.
	ranges := []kv.KeyRange{ranged(keys[3], keys[20]), ranged(keys[25], keys[25]+"\x00"), ranged("x", "y")}
	for i, want := range []int{4, 0} { // the second time there is nothing left
		held, err := s.engine.DeleteRange(s.Context(), uidTable, ranges...)
		if held != want || err != nil {
			s.Errorf("DeleteRange, time %d = %d, %v, want %d", i, held, err, want)
		}
	}
	want := slices.Concat(keys[:3], keys[20:25], keys[26:])
	for _, family := range []string{"id", "name"} {
		if diff := cmp.Diff(want, left(family)); diff != "" {
			s.Errorf("family %s (-want +got):\n%s", family, diff)
		}
	}
	s.wantKeys(s.scan(s.all()), keys...)
	both(keys[10]) // what is written later stays
	if got := left("id"); !slices.Contains(got, keys[10]) {
		s.Errorf("a row that was written after its range was deleted is gone: %q", got)
	}
}

func (s *localSuite) testDeleteRangeRefused() {
	s.put("k", "q", "1")
	good := kv.KeyRange{From: s.key(""), To: s.key("z")}
	for _, bad := range []kv.KeyRange{{}, {From: s.key("")}, {From: s.key("z"), To: s.key("")}, {From: s.key("k"), To: s.key("k")}} {
		if held, err := s.engine.DeleteRange(s.Context(), dataTable, good, bad); held != 0 || !errors.Is(err, kv.ErrInvalid) {
			s.Errorf("range %q: %d, %v", bad, held, err)
		}
	}
	if _, err := s.engine.DeleteRange(s.Context(), "none", good); !errors.Is(err, kv.ErrNoTable) {
		s.Errorf("no table: %v", err)
	}
	cancelled, cancel := context.WithCancel(s.Context())
	cancel()
	if _, err := s.engine.DeleteRange(cancelled, dataTable, good); !errors.Is(err, context.Canceled) {
		s.Errorf("cancelled: %v", err)
	}
	s.want(s.get("k"), s.row("k", "q", "1"))
}

func (s *localSuite) testLogEnd() {
	if got := s.engine.LogEnd(); got != (kv.LogEnd{}) {
		s.Errorf("LogEnd of a new store = %v", got)
	}
	for _, end := range []kv.LogEnd{{Segment: 1, Offset: 77}, {Segment: 2}, {}} {
		for _, durable := range []bool{true, false} {
			if err := s.engine.NoteLog(end, durable); err != nil {
				s.Fatal(err)
			}
			if got := s.engine.LogEnd(); got != end {
				s.Errorf("LogEnd = %v, want %v", got, end)
			}
		}
	}
}

func (s *localSuite) testDisk() {
	if err := s.engine.DiskSpace(); err != nil {
		s.Errorf("DiskSpace = %v", err)
	}
	if got := s.engine.Damaged(); len(got) != 0 {
		s.Errorf("Damaged = %q", got)
	}
	if c := s.engine.Costs(); c.Get <= 0 || c.Row <= 0 || c.Scan <= 0 || c != s.engine.Costs() {
		s.Errorf("Costs = %+v", c)
	}
}

func (s *localSuite) testCompact() {
	s.put("k", "q", "1")
	s.put("k", "q", "2")
	if err := s.engine.Compact(s.Context(), dataTable); err != nil {
		s.Fatal(err)
	}
	s.want(s.get("k"), s.row("k", "q", "2"))
	if err := s.engine.Compact(s.Context(), "no such table"); !errors.Is(err, kv.ErrNoTable) {
		s.Errorf("of a table that does not exist: %v", err)
	}
	s.engine.DiskBytes()
}

func (s *localSuite) testCheckpoint() {
	dir := filepath.Join(s.TempDir(), "copy")
	err := s.engine.Checkpoint(s.Context(), dir)
	if errors.Is(err, kv.ErrNoFiles) {
		return
	}
	if err != nil {
		s.Fatal(err)
	}
	if err := s.engine.Checkpoint(s.Context(), dir); !errors.Is(err, fs.ErrExist) {
		s.Errorf("into a folder that exists: %v", err)
	}
}
