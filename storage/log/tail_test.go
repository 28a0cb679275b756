package log_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
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
	flip(t, name, at.Offset+16)
	if err := l.Tail(t.Context(), log.Position{}, func([]byte, log.Position) error { return nil }); !errors.Is(err, log.ErrCorrupt) {
		t.Error(err)
	}
}

// TestBeyond damages bytes of many segments at random and reads on behind each damage: all records come, once and in order,
// but those of groups in which a byte is wrong.
func TestBeyond(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		opts := log.Options{Dir: filepath.Join(t.TempDir(), "log"), SegmentBytes: 1024, MaxBytes: 1 << 20, MaxRecordBytes: 512, GroupBytes: 512}
		l := open(t, opts)
		var ends []log.Position // one appender: each record is a group
		const records = 100
		for i := range uint64(records) {
			ends = append(ends, add(t, l, binary.BigEndian.AppendUint64(make([]byte, 0, 400), i), make([]byte, rng.IntN(300))))
		}
		broken := map[uint64]bool{}
		for range rng.IntN(20) {
			n := rng.IntN(records)
			if broken[uint64(n)] {
				continue
			}
			broken[uint64(n)] = true
			flip(t, filepath.Join(opts.Dir, fmt.Sprintf("%016x.log", ends[n].Segment)), ends[n].Offset+16)
		}
		at, next := log.Position{}, uint64(0)
		for {
			err := l.Tail(t.Context(), at, func(record []byte, after log.Position) error {
				n := binary.BigEndian.Uint64(record)
				for ; next < n; next++ {
					if !broken[next] {
						t.Errorf("seed %d: %d was passed over", seed, next)
					}
				}
				if n != next || broken[n] {
					t.Errorf("seed %d: read %d, want %d", seed, n, next)
				}
				next, at = n+1, after
				return nil
			})
			if err == nil {
				break
			}
			if !errors.Is(err, log.ErrCorrupt) {
				t.Fatal(err)
			}
			before := at
			if at, err = l.Beyond(at); err != nil || at.Compare(before) <= 0 {
				t.Fatalf("seed %d: beyond %v is %v, %v", seed, before, at, err)
			}
		}
		for ; next < records; next++ {
			if !broken[next] {
				t.Errorf("seed %d: %d was not read", seed, next)
			}
		}
	}
}

// TestBeyondMissing goes on with what is left where records were removed.
func TestBeyondMissing(t *testing.T) {
	opts := log.Options{Dir: filepath.Join(t.TempDir(), "log"), SegmentBytes: 1024, MaxBytes: 1 << 20, MaxRecordBytes: 512, GroupBytes: 512}
	l := open(t, opts)
	for range 10 {
		add(t, l, make([]byte, 400))
	}
	if err := l.Truncate(l.End()); err != nil {
		t.Fatal(err)
	}
	at, err := l.Beyond(log.Position{Segment: 1, Offset: 64})
	if err != nil || at.Segment < 2 {
		t.Fatal(at, err)
	}
	read := 0
	if err := l.Tail(t.Context(), at, func([]byte, log.Position) error { read++; return nil }); err != nil || read == 0 {
		t.Errorf("%d records, %v", read, err)
	}
	if at, err := l.Beyond(l.End()); err != nil || at != l.End() {
		t.Errorf("beyond the end is %v, %v", at, err)
	}
}

// flip changes a byte of a file.
func flip(t *testing.T, name string, at int64) {
	t.Helper()
	bytes, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	bytes[at] ^= 1
	if err := os.WriteFile(name, bytes, 0o600); err != nil {
		t.Fatal(err)
	}
}
