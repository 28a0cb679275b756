package persistentqueue

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/log"
)

const second = int64(1000)

// bench is a spool with a clock and a disk that tests change.
type bench struct {
	*Queue
	t     *testing.T
	o     Options
	now   time.Time
	space bool
}

func openBench(t *testing.T) *bench {
	t.Helper()
	return openBenchOf(t, nil)
}

// openBenchOf opens a spool of a store; nil: it has no name.
func openBenchOf(t *testing.T, owner *aStore) *bench {
	t.Helper()
	b := &bench{t: t, now: time.UnixMilli(100 * second), space: true}
	b.o = Options{
		Dir: t.TempDir(), SegmentBytes: 1 << 20, MaxBytes: 4 << 20, MaxRecordBytes: 1 << 19,
		HasSpace: func() bool { return b.space }, CameAt: cameAt,
		Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return b.now },
	}
	if owner != nil {
		b.o.Owner = owner
	}
	b.open()
	return b
}

func (b *bench) open() {
	b.t.Helper()
	s, err := Open(b.o)
	if err != nil {
		b.t.Fatal(err)
	}
	b.Queue = s
}

func (b *bench) reopen() {
	b.t.Helper()
	if err := b.Close(); err != nil {
		b.t.Fatal(err)
	}
	b.open()
}

func cameAt(record []byte) (int64, error) {
	if len(record) < 8 {
		return 0, errors.New("short")
	}
	return int64(binary.BigEndian.Uint64(record)), nil //nolint:gosec // a test
}

// record makes a record that came at a time.
func record(seconds int64, size int) []byte {
	r := make([]byte, max(size, 8))
	binary.BigEndian.PutUint64(r, uint64(seconds*second)) //nolint:gosec // a test
	return r
}

// waits returns what waits, and the position after the first.
func (b *bench) waits() (came []int64, first log.Position) {
	b.t.Helper()
	err := b.Tail(b.t.Context(), b.Position(), func(record []byte, next log.Position) error {
		at, err := cameAt(record)
		if len(came) == 0 {
			first = next
		}
		came = append(came, at/second)
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return came, first
}

// Records wait until they are confirmed, over restarts, and the lag is that of the oldest one.
func TestSpool(t *testing.T) {
	b := openBench(t)
	if b.Lag() != 0 || b.Waiting() != 0 {
		t.Errorf("lag %v, waiting %d", b.Lag(), b.Waiting())
	}
	for _, at := range []int64{40, 50, 60} {
		if k := b.Keep([][]byte{record(at, 0)}, at*second, 1); k != (Kept{}) {
			t.Fatalf("%+v", k)
		}
	}
	<-b.Grown()
	b.reopen()
	came, first := b.waits()
	if len(came) != 3 || b.Lag() != 60 || b.Waiting() == 0 {
		t.Errorf("%v wait, lag %v, %d bytes", came, b.Lag(), b.Waiting())
	}
	if news, err := b.Confirm(t.Context(), first); news || err != nil {
		t.Fatal(news, err)
	}
	b.reopen()
	if came, _ = b.waits(); len(came) != 2 || came[0] != 50 || b.Lag() != 50 {
		t.Errorf("%v wait, lag %v", came, b.Lag())
	}
	b.Reading(60 * second)
	if b.Lag() != 40 {
		t.Errorf("lag %v", b.Lag())
	}
	if _, err := b.Confirm(t.Context(), b.log.End()); err != nil || b.Waiting() != 0 {
		t.Errorf("%v, %d bytes wait", err, b.Waiting())
	}
}

// A refusal is told once, and its end after a minute without one.
func TestRefusals(t *testing.T) {
	b := openBench(t)
	keep := func() Kept { return b.Keep([][]byte{record(40, 400_000)}, 40*second, 10) }
	n := 0
	for keep().Err == nil {
		n++
	}
	if k := keep(); !errors.Is(k.Err, log.ErrFull) || k.Reason != ReasonFull || k.Begins {
		t.Errorf("after %d records: %+v", n, k)
	}
	if _, err := b.Confirm(t.Context(), b.log.End()); err != nil {
		t.Fatal(err)
	}
	b.space = false
	if k := keep(); k.Reason != ReasonDisk || k.Begins {
		t.Errorf("%+v", k)
	}
	b.space = true
	b.now = b.now.Add(59 * time.Second)
	if k := keep(); k != (Kept{}) {
		t.Errorf("%+v", k)
	}
	b.now = b.now.Add(time.Second)
	if k := keep(); !k.Ends || k.Dropped != 30 {
		t.Errorf("%+v", k)
	}
	b.space = false
	if k := keep(); !k.Begins {
		t.Errorf("%+v", k)
	}
	if k := b.Refuse(errors.New("no form"), 1); k.Begins || k.Reason != ReasonDisk {
		t.Errorf("%+v", k)
	}
}

// The state is in a file that earlier versions read and wrote. A damaged one is an error, and one of another spool
// counts for nothing.
func TestState(t *testing.T) {
	b := openBench(t)
	b.Keep([][]byte{record(40, 0)}, 40*second, 1)
	state := filepath.Join(b.o.Dir, "sent.json")
	for _, c := range []struct {
		text string
		want int
	}{{`{"segment":99,"offset":0}`, 1}, {`{"segment":0,"offset":0}`, 1}, {`{`, -1}} {
		text, want := c.text, c.want
		if err := os.WriteFile(state, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		s, err := Open(b.o)
		if want < 0 {
			if err == nil || !strings.Contains(err.Error(), state) {
				t.Errorf("%s: %v", text, err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		b.Queue = s
		if came, _ := b.waits(); len(came) != want {
			t.Errorf("%s: %v wait", text, came)
		}
	}
}

// A state that cannot be written is told once.
func TestStateFails(t *testing.T) {
	b := openBench(t)
	b.Keep([][]byte{record(40, 0), record(50, 0)}, 40*second, 2)
	if err := os.Mkdir(filepath.Join(b.o.Dir, "sent.json.new"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, first := b.waits()
	for n, at := range []log.Position{first, b.log.End()} {
		if news, err := b.Confirm(context.Background(), at); err == nil || news != (n == 0) {
			t.Errorf("confirmation %d: %v, %v", n, news, err)
		}
	}
}
