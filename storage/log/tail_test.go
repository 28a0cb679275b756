package log_test

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage/log"
)

// tailer reads numbers that ascend.
type tailer struct {
	log  *log.Log
	at   log.Position
	next uint64
}

func (r *tailer) read(t *testing.T, most int) {
	t.Helper()
	enough := errors.New("enough")
	err := r.log.Tail(t.Context(), r.at, func(record []byte, next log.Position) error {
		if n := binary.BigEndian.Uint64(record); n != r.next {
			t.Errorf("read %d, want %d", n, r.next)
		}
		r.next, r.at = r.next+1, next
		if most--; most == 0 {
			return enough
		}
		return nil
	})
	if err != nil && !errors.Is(err, enough) {
		t.Fatal(err)
	}
}

// TestTail reads while others append and segments that were read are removed, across a restart.
func TestTail(t *testing.T) {
	opts := log.Options{Dir: filepath.Join(t.TempDir(), "log"), SegmentBytes: 1024, MaxBytes: 1 << 20, SpareBytes: 2048, MaxRecordBytes: 512, GroupBytes: 512}
	l := open(t, opts)
	const records = 3000
	var appends sync.WaitGroup
	appends.Go(func() {
		for i := range uint64(records) {
			record := binary.BigEndian.AppendUint64(nil, i)
			if _, err := l.Append(t.Context(), record, make([]byte, i%300)); err != nil {
				t.Error(err)
				return
			}
		}
	})
	r := &tailer{log: l}
	for r.next < records/2 && !t.Failed() {
		r.read(t, 7)
		if err := l.Truncate(r.at); err != nil {
			t.Fatal(err)
		}
	}
	appends.Wait()
	if left := l.After(r.at); left < (records/2-100)*24 || left > l.Size() {
		t.Errorf("%d bytes are left of %d", left, l.Size())
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	r.log = open(t, opts)
	r.read(t, 0)
	if r.next != records || r.log.After(r.at) != 0 {
		t.Errorf("read %d records, %d bytes are left", r.next, r.log.After(r.at))
	}
	r.read(t, 0)
	if err := r.log.Tail(t.Context(), log.Position{Segment: 1, Offset: 64}, nil); !errors.Is(err, log.ErrCorrupt) {
		t.Errorf("a position before what is left: %v", err)
	}
}

// TestTailDamage: a broken record is an error.
func TestTailDamage(t *testing.T) {
	dir := t.TempDir()
	l := open(t, log.Options{Dir: dir})
	at := add(t, l, []byte("one"))
	add(t, l, []byte("two"))
	name := filepath.Join(dir, "0000000000000001.log")
	bytes, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	bytes[at.Offset+16] ^= 1
	if err := os.WriteFile(name, bytes, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.Tail(t.Context(), log.Position{}, func([]byte, log.Position) error { return nil }); !errors.Is(err, log.ErrCorrupt) {
		t.Error(err)
	}
}
