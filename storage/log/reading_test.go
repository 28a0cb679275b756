package log_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/log"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
)

// TestOpenToRead opens logs on disks that take no writes: whole, killed and empty ones. All records
// are read, nothing is changed on the disk, and appends fail with the reason. When the disk takes
// writes again, appends continue after the last record.
func TestOpenToRead(t *testing.T) {
	for _, records := range []int{0, 1, 40} {
		for _, bar := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS} {
			t.Run(fmt.Sprintf("%d records, %v", records, bar), func(t *testing.T) {
				disk := logtest.New(1)
				l := open(t, marked(disk))
				for n := range records {
					add(t, l, fmt.Appendf(nil, "record %d", n))
				}
				killed := disk.Kill(1)
				before := contents(t, killed)
				barred := true
				killed.SetBefore(func(op logtest.Op, _ string) error {
					if barred && op != logtest.OpOpen {
						return bar
					}
					return nil
				})
				now := time.Unix(1_700_000_000, 0)
				opts := marked(killed)
				opts.Now = func() time.Time { return now }
				l = open(t, opts)
				entries, err := replay(t, l, log.Position{})
				if err != nil || len(entries) != records {
					t.Fatalf("%d records, %v, want %d", len(entries), err, records)
				}
				wantBarred(t, l, bar)
				if after := contents(t, killed); after != before {
					t.Errorf("files were changed:\n%s\nbefore:\n%s", after, before)
				}
				barred = false
				if _, err := l.Append(t.Context(), []byte("too soon")); !errors.Is(err, bar) {
					t.Errorf("Append before it is tried again: %v", err)
				}
				now = now.Add(time.Minute)
				at := add(t, l, []byte("last"))
				if records > 0 && at.Compare(entries[records-1].at) <= 0 || l.Waits() != nil {
					t.Errorf("Append at %v, %v", at, l.Waits())
				}
				if err := l.Truncate(log.Position{}); err != nil {
					t.Error(err)
				}
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
				entries, err = replay(t, open(t, opts), log.Position{})
				if err != nil || len(entries) != records+1 || string(entries[records].record) != "last" {
					t.Errorf("later: %d records, %v", len(entries), err)
				}
			})
		}
	}
}

func wantBarred(t *testing.T, l *log.Log, bar error) {
	t.Helper()
	_, err := l.Append(t.Context(), []byte("x"))
	for name, err := range map[string]error{"Append": err, "Roll": l.Roll(), "Truncate": l.Truncate(l.End()), "Waits": l.Waits()} {
		if !errors.Is(err, bar) || errors.Is(err, log.ErrFull) != (!errors.Is(bar, syscall.EROFS)) {
			t.Errorf("%s: %v, want %v", name, err, bar)
		}
	}
}

// contents describes what is on a disk.
func contents(t *testing.T, disk *logtest.Disk) string {
	t.Helper()
	names, err := disk.List("log")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, "%s %x\n", name, sha256.Sum256(disk.Bytes("log/"+name)))
	}
	return b.String()
}

// TestChangedWhileRead: another process wrote to the log while this one could only read it, without
// a lock. Then this process does not write to it.
func TestChangedWhileRead(t *testing.T) {
	dir := t.TempDir()
	o := log.Options{Dir: dir + "/log", MarkPath: dir + "/mark", SpareBytes: -1}
	l := open(t, o)
	add(t, l, []byte("one"))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	o.FS = &lockless{}
	now := time.Unix(1_700_000_000, 0)
	o.Now = func() time.Time { return now }
	read := open(t, o)
	o.FS = log.OS{}
	other := open(t, o)
	add(t, other, []byte("two"))
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := read.Append(t.Context(), []byte("three")); !errors.Is(err, log.ErrCorrupt) {
		t.Errorf("Append: %v, want %v", err, log.ErrCorrupt)
	}
}

// lockless cannot take a lock the first two times.
type lockless struct {
	log.OS
	asked int
}

func (f *lockless) Lock(name string) (io.Closer, error) {
	if f.asked++; f.asked <= 2 {
		return nil, syscall.ENOSPC
	}
	return f.OS.Lock(name)
}
