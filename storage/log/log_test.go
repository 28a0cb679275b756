package log_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage/log"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
)

// TestOS goes through segments, spare files and restarts on the real file system.
func TestOS(t *testing.T) {
	opts := small(nil)
	opts.FS, opts.Dir = nil, filepath.Join(t.TempDir(), "a", "b")
	m := newModel()
	for range 5 {
		l := open(t, opts)
		if _, err := log.Open(opts); !errors.Is(err, log.ErrLocked) {
			t.Fatalf("second Open = %v, want ErrLocked", err)
		}
		m.check(t, l)
		for i := range 30 {
			if err := m.add(t, l); err != nil {
				t.Fatal(err)
			}
			if i == 20 {
				m.from = l.End()
				if err := l.Truncate(m.from); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Append(t.Context(), []byte("x")); !errors.Is(err, log.ErrClosed) {
			t.Errorf("Append after Close = %v, want ErrClosed", err)
		}
		if err := l.Truncate(m.from); !errors.Is(err, log.ErrClosed) {
			t.Errorf("Truncate after Close = %v, want ErrClosed", err)
		}
		if err := l.Close(); err != nil {
			t.Errorf("second Close = %v", err)
		}
	}
	spares, err := filepath.Glob(filepath.Join(opts.Dir, "*.spare"))
	if err != nil || len(spares) == 0 {
		t.Errorf("no spare files: %v", err)
	}
}

// TestForeignFiles: files that are not the log's stay as they are.
func TestForeignFiles(t *testing.T) {
	opts := small(nil)
	opts.FS, opts.Dir = nil, t.TempDir()
	names := []string{"README", "1.log", "000000000000000G.log", "000000000000000A.log", "0000000000000000.log", "0000000000000001.logs"}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(opts.Dir, name), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l := open(t, opts)
	if at := add(t, l, []byte("x")); at.Segment != 1 {
		t.Errorf("first record at %v", at)
	}
	for _, name := range names {
		if b, err := os.ReadFile(filepath.Join(opts.Dir, name)); string(b) != "mine" {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
}

// TestReopen opens the log often: positions ascend, and segments without records do not accumulate.
func TestReopen(t *testing.T) {
	disk, m := logtest.New(1), newModel()
	for i := range uint64(50) {
		l := open(t, small(disk))
		m.check(t, l)
		if i%5 == 0 {
			if err := m.add(t, l); err != nil {
				t.Fatal(err)
			}
		}
		disk = disk.Crash(i)
	}
	names, err := disk.List("log")
	if err != nil || len(names) > 10 {
		t.Errorf("%d files for 10 records: %v", len(names), names)
	}
	if len(m.acked) != 10 {
		t.Errorf("%d records, want 10", len(m.acked))
	}
}

// TestSpare writes new segments over emptied ones: no old record reappears, wherever the power
// fails.
func TestSpare(t *testing.T) {
	disk, m := logtest.New(1), newModel()
	created, renamed := 0, false
	disk.SetBefore(func(op logtest.Op, name string) error {
		switch op {
		case logtest.OpCreate:
			created++
		case logtest.OpRename:
			renamed = strings.HasSuffix(name, ".log")
		case logtest.OpSyncDir:
			renamed = false
		case logtest.OpOpen:
			if renamed {
				t.Errorf("%s may still be a segment on the disk, and is going to be written", name)
			}
		default:
		}
		return nil
	})
	opts := small(disk)
	opts.SpareBytes = 8 << 10
	l := open(t, opts)
	for i := range uint64(200) {
		if err := m.add(t, l); err != nil {
			t.Fatal(err)
		}
		if i%20 == 19 {
			m.from = l.End()
			if err := l.Truncate(m.from); err != nil {
				t.Fatal(err)
			}
		}
		after := &model{next: m.next, acked: m.acked, unknown: m.unknown, from: m.from, ordered: true}
		after.check(t, open(t, small(disk.Crash(i))))
	}
	if segments := int(l.End().Segment); created > segments/2 {
		t.Errorf("%d files made for %d segments", created, segments)
	}
}

// TestReplayError ends a replay with the error of the function.
func TestReplayError(t *testing.T) {
	disk, _ := written(t, 5)
	l := open(t, small(disk))
	calls := 0
	err := l.Replay(t.Context(), log.Position{}, func(log.Position, []byte) error { calls++; return errInjected })
	if !errors.Is(err, errInjected) || calls != 1 {
		t.Errorf("Replay = %v after %d calls", err, calls)
	}
}

func TestOptions(t *testing.T) {
	for _, test := range []struct {
		change func(*log.Options)
		want   string
	}{
		{func(o *log.Options) { o.Dir = "" }, "directory"},
		{func(o *log.Options) { o.SegmentBytes = 10 }, "segments"},
		{func(o *log.Options) { o.MaxRecordBytes = 2 << 30 }, "records"},
		{func(o *log.Options) { o.GroupBytes = 1 }, "groups"},
		// two segments for a record of 2000 need 4160
		{func(o *log.Options) { o.MaxBytes = 4000 }, "in all"},
	} {
		opts := small(logtest.New(1))
		test.change(&opts)
		if _, err := log.Open(opts); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("Open = %v, want an error with %q", err, test.want)
		}
	}
	l, err := log.Open(log.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
