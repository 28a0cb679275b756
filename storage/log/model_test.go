package log_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage/log"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
)

// small returns options with which everything happens within a few records: segments end, spare
// files fill up, records are too large for a group.
func small(disk log.FS) log.Options {
	return log.Options{
		Dir: "log", FS: disk, SegmentBytes: 1024, MaxBytes: 64 << 10, SpareBytes: 2048, MaxRecordBytes: 2000, GroupBytes: 512,
	}
}

// marked returns small options of a log with a mark.
func marked(disk log.FS) log.Options {
	opts := small(disk)
	opts.MarkPath = "log.mark"
	return opts
}

func open(t *testing.T, opts log.Options) *log.Log {
	t.Helper()
	l, err := log.Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func add(t *testing.T, l *log.Log, parts ...[]byte) log.Position {
	t.Helper()
	at, err := l.Append(t.Context(), parts...)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

type entry struct {
	at     log.Position
	record []byte
}

func replay(t *testing.T, l *log.Log, from log.Position) (entries []entry, err error) {
	t.Helper()
	err = l.Replay(t.Context(), from, func(at log.Position, record []byte) error {
		entries = append(entries, entry{at, slices.Clone(record)})
		return nil
	})
	return entries, err
}

// recordOf returns the nth record: its number, and bytes derived from it.
func recordOf(n uint64) []byte {
	sizes := []int{0, 1, 40, 100, 17, 300, 5, 700, 60, 1200}
	b := binary.BigEndian.AppendUint64(nil, n)
	for i := range sizes[n%uint64(len(sizes))] {
		b = append(b, byte(n)*31+byte(i)*7)
	}
	return b
}

// model is what a log must hold: every record it has acknowledged, none that was not appended.
type model struct {
	next    uint64
	acked   map[uint64]log.Position
	unknown map[uint64]bool // appended, with an error or without an answer yet
	from    log.Position    // what is before was truncated
	ordered bool            // one after the other: the order is known
}

func newModel() *model {
	return &model{acked: map[uint64]log.Position{}, unknown: map[uint64]bool{}, ordered: true}
}

// add appends the next record and remembers the outcome.
func (m *model) add(t *testing.T, l *log.Log) error {
	t.Helper()
	n := m.next
	m.next++
	record := recordOf(n)
	end := l.End()
	m.unknown[n] = true
	at, err := l.Append(t.Context(), record[:5], nil, record[5:])
	if err != nil {
		return err
	}
	delete(m.unknown, n)
	if at.Compare(end) < 0 || l.End().Compare(at) <= 0 {
		t.Fatalf("record at %v, end was %v and is %v", at, end, l.End())
	}
	m.acked[n] = at
	return nil
}

// check replays a log that was just opened. From now on it expects the records that it found.
func (m *model) check(t *testing.T, l *log.Log) {
	t.Helper()
	entries, err := replay(t, l, m.from)
	if err != nil {
		t.Fatalf("Replay from %v = %v", m.from, err)
	}
	if err := m.compare(entries); err != nil {
		t.Fatal(err)
	}
}

func (m *model) compare(entries []entry) error {
	missing := map[uint64]bool{}
	for n, at := range m.acked {
		missing[n] = at.Compare(m.from) >= 0
	}
	var last log.Position
	lastN := int64(-1)
	for _, e := range entries {
		if len(e.record) < 8 {
			return fmt.Errorf("record %x at %v was never appended", e.record, e.at)
		}
		n := binary.BigEndian.Uint64(e.record)
		at, acked := m.acked[n]
		switch {
		case n >= m.next || !acked && !m.unknown[n] || !slices.Equal(e.record, recordOf(n)):
			return fmt.Errorf("record %x at %v was never appended", e.record, e.at)
		case acked && at != e.at:
			return fmt.Errorf("record %d at %v was acknowledged at %v", n, e.at, at)
		case e.at.Compare(last) <= 0 || e.at.Compare(m.from) < 0:
			return fmt.Errorf("record %d at %v after %v, from %v", n, e.at, last, m.from)
		case m.ordered && int64(n) <= lastN:
			return fmt.Errorf("record %d after %d", n, lastN)
		}
		last, lastN = e.at, int64(n)
		delete(missing, n)
		m.acked[n] = e.at
	}
	for n, wanted := range missing {
		if wanted {
			return fmt.Errorf("record %d, acknowledged at %v, is gone (from %v)", n, m.acked[n], m.from)
		}
	}
	m.unknown = map[uint64]bool{} // what is not there now must not reappear
	return nil
}

func segmentName(number uint64) string {
	return filepath.Join("log", fmt.Sprintf("%016x.log", number))
}

var errInjected = errors.New("injected")

// failing makes disk calls fail for which fail returns true.
func failing(disk *logtest.Disk, fail func(op logtest.Op, name string) bool) {
	disk.SetBefore(func(op logtest.Op, name string) error {
		if fail(op, name) {
			return errInjected
		}
		return nil
	})
}
