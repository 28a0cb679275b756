package log_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage/log"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
)

// written returns a killed disk with n records, each a group of its own, and where they are.
func written(t *testing.T, n int) (*logtest.Disk, []entry) {
	t.Helper()
	disk := logtest.New(1)
	l := open(t, small(disk))
	var entries []entry
	for i := range n {
		record := fmt.Appendf(nil, "record %d %s", i, strings.Repeat("x", i*13%90))
		entries = append(entries, entry{add(t, l, record), record})
	}
	return disk.Kill(1), entries
}

func endOf(e entry) int64 { return e.at.Offset + 16 + int64(len(e.record)) }

// with returns a new disk that holds only one segment, changed.
func with(segment []byte) *logtest.Disk {
	disk := logtest.New(1)
	disk.Put(segmentName(1), segment)
	return disk
}

// TestCut cuts the only segment at every byte: by its length, with zeros, and with other bytes.
func TestCut(t *testing.T) {
	disk, entries := written(t, 9)
	whole := disk.Bytes(segmentName(1))
	for cut := range int64(len(whole) + 1) {
		for name, tail := range map[string][]byte{
			"nothing": nil, "zeros": make([]byte, len(whole)), "text": slices.Repeat([]byte("old!"), len(whole)/4),
			"records of another place": append([]byte("!"), whole[64:]...),
		} {
			checkCut(t, fmt.Sprintf("cut at %d, then %s", cut, name), append(slices.Clone(whole[:cut]), tail...), cut, entries)
		}
	}
}

func checkCut(t *testing.T, what string, segment []byte, cut int64, entries []entry) {
	t.Helper()
	disk := with(segment)
	l, err := log.Open(small(disk))
	if cut < 64 {
		if !errors.Is(err, log.ErrCorrupt) || !strings.Contains(err.Error(), segmentName(1)) {
			t.Errorf("%s: Open = %v, want ErrCorrupt with the name of the file", what, err)
		}
		return
	}
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	defer l.Close()
	var want []entry
	for _, e := range entries {
		if endOf(e) <= cut {
			want = append(want, e)
		}
	}
	got, err := replay(t, l, log.Position{})
	if err != nil || !slices.EqualFunc(got, want, func(a, b entry) bool { return a.at == b.at && slices.Equal(a.record, b.record) }) {
		t.Errorf("%s: replayed %d records (%v), want %d", what, len(got), err, len(want))
	}
	if next := add(t, l, []byte("next")); len(want) > 0 && next.Compare(want[len(want)-1].at) <= 0 {
		t.Errorf("%s: next record at %v", what, next)
	}
}

// TestDamage changes every byte of a last segment. Before a later group that is damage, reported
// with file and offset; in the last group it is what a crash leaves.
func TestDamage(t *testing.T) {
	disk, entries := written(t, 9)
	whole := disk.Bytes(segmentName(1))
	last := entries[len(entries)-1]
	for i := range endOf(last) {
		segment := slices.Clone(whole)
		segment[i] ^= 0x40
		l, err := log.Open(small(with(segment)))
		if i >= last.at.Offset {
			if err != nil {
				t.Errorf("byte %d of the last record: %v", i, err)
			} else if got, err := replay(t, l, log.Position{}); err != nil || len(got) != len(entries)-1 {
				t.Errorf("byte %d of the last record: %d records, %v", i, len(got), err)
			}
			continue
		}
		want := "at byte 0:"
		for _, e := range entries {
			if e.at.Offset <= i {
				want = fmt.Sprintf("%s at byte %d:", segmentName(1), e.at.Offset)
			}
		}
		if !errors.Is(err, log.ErrCorrupt) || !strings.Contains(err.Error(), want) {
			t.Errorf("byte %d: Open = %v, want ErrCorrupt %s", i, err, want)
		}
	}
}

// TestDamageBeforeLast changes a byte in each record of a segment that has a later one.
func TestDamageBeforeLast(t *testing.T) {
	disk, entries := written(t, 40)
	if entries[len(entries)-1].at.Segment < 3 {
		t.Fatal("want three segments")
	}
	for _, e := range entries {
		if e.at.Segment > 2 {
			break
		}
		name := segmentName(e.at.Segment)
		changed := disk.Kill(1)
		b := changed.Bytes(name)
		b[e.at.Offset+20] ^= 1
		changed.Put(name, b)
		_, err := replay(t, open(t, small(changed)), log.Position{})
		if want := fmt.Sprintf("%s at byte %d:", name, e.at.Offset); !errors.Is(err, log.ErrCorrupt) || !strings.Contains(err.Error(), want) {
			t.Errorf("record at %v: Replay = %v, want ErrCorrupt %s", e.at, err, want)
		}
	}
}

// TestMissing removes segments.
func TestMissing(t *testing.T) {
	disk, entries := written(t, 40)
	middle := disk.Kill(1)
	if err := middle.Remove(segmentName(2)); err != nil {
		t.Fatal(err)
	}
	if _, err := log.Open(small(middle)); !errors.Is(err, log.ErrCorrupt) || !strings.Contains(err.Error(), segmentName(2)) {
		t.Errorf("Open without segment 2 = %v, want ErrCorrupt with its name", err)
	}
	first := disk.Kill(1)
	if err := first.Remove(segmentName(1)); err != nil {
		t.Fatal(err)
	}
	l := open(t, small(first))
	if _, err := replay(t, l, entries[3].at); !errors.Is(err, log.ErrCorrupt) {
		t.Errorf("Replay from a segment that is gone = %v, want ErrCorrupt", err)
	}
	var end log.Position
	for _, e := range entries {
		if e.at.Segment == 1 {
			end = log.Position{Segment: 1, Offset: endOf(e)}
		}
	}
	if got, err := replay(t, l, end); err != nil || got[0].at.Segment != 2 {
		t.Errorf("Replay from the end of a truncated segment = %v", err)
	}
}

// TestOpenBeforeAtLeast opens an empty directory although the caller remembers a position.
func TestOpenBeforeAtLeast(t *testing.T) {
	disk := logtest.New(1)
	l := open(t, small(disk))
	mark := log.Position{Segment: 7, Offset: 300}
	if got, err := replay(t, l, mark); err != nil || len(got) > 0 {
		t.Fatalf("Replay = %v, %v", got, err)
	}
	if l.End().Compare(mark) < 0 {
		t.Errorf("End = %v, want %v or later", l.End(), mark)
	}
	at := add(t, l, []byte("after"))
	if at.Compare(mark) < 0 {
		t.Errorf("record at %v, before the mark %v", at, mark)
	}
	if got, err := replay(t, open(t, small(disk.Crash(1))), mark); err != nil || len(got) != 1 || got[0].at != at {
		t.Errorf("after a crash: %v, %v", got, err)
	}
}
