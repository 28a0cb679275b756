package log

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestFormat fixes the bytes: testdata/format contains them in hexadecimal, and they read back.
func TestFormat(t *testing.T) {
	datadriven.RunTest(t, "testdata/format", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "segment":
			var number, before uint64
			var end int64
			d.ScanArgs(t, "number", &number)
			d.ScanArgs(t, "before", &before)
			d.ScanArgs(t, "end", &end)
			var owner Owner
			if d.HasArg("store") {
				d.ScanArgs(t, "store", &owner.Store)
				d.ScanArgs(t, "log", &owner.Number)
				d.ScanArgs(t, "tag", &owner.Tag)
			}
			b := segmentHead(number, Position{before, end}, owner)
			if s, err := parseSegmentHeader(b); err != nil || s.number != number || s.before != (Position{before, end}) || s.owner != owner {
				return fmt.Sprint("reads back as ", s, err)
			}
			return lines(b)
		case "record":
			var at Position
			var back uint32
			d.ScanArgs(t, "segment", &at.Segment)
			d.ScanArgs(t, "offset", &at.Offset)
			d.ScanArgs(t, "back", &back)
			length, sum := measure([][]byte{[]byte(d.Input)})
			h := header{uint32(length), back, sum}
			b := h.appendTo(nil, at)
			if got, ok := parseHeader(b, at); got != h || !ok {
				return fmt.Sprint("reads back as ", got, ok)
			}
			return lines(append(b, d.Input...))
		case "read": // the header of a segment, changed
			var text strings.Builder
			for line := range strings.Lines(d.Input) {
				text.WriteString(strings.ReplaceAll(strings.TrimSpace(line), " ", ""))
			}
			b, err := hex.DecodeString(text.String())
			if err != nil {
				t.Fatal(err)
			}
			s, err := parseSegmentHeader(b)
			if err != nil {
				s = &segment{}
			}
			return fmt.Sprintln(s.number, s.before, err)
		}
		return "unknown command"
	})
}

// lines formats hexadecimal, 16 bytes a line.
func lines(b []byte) string {
	var text strings.Builder
	for ; len(b) > 16; b = b[16:] {
		fmt.Fprintf(&text, "% x\n", b[:16])
	}
	fmt.Fprintf(&text, "% x\n", b)
	return text.String()
}

// TestSumNumber compares the sum with that of the bytes.
func TestSumNumber(t *testing.T) {
	for _, n := range []uint64{0, 1, 0x0123456789abcdef, 1<<64 - 1} {
		b, err := hex.DecodeString(fmt.Sprintf("%016x", n))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := sumNumber(77, n), crc32.Update(77, castagnoli, b); got != want {
			t.Errorf("sumNumber(77, %x) = %x, want %x", n, got, want)
		}
	}
}

// image returns a segment with groups of records, as the log writes it.
func image(number uint64, groups ...[]string) []byte {
	b := segmentHead(number, Position{}, Owner{})
	for _, records := range groups {
		start := len(b)
		for _, record := range records {
			length, sum := measure([][]byte{[]byte(record)})
			h := header{uint32(length), uint32(len(b) - start), sum}
			b = append(h.appendTo(b, Position{number, int64(len(b))}), record...)
		}
	}
	return b
}

// TestTornGroup breaks each record of a last group of three: the records before it stay, those
// after it are dropped.
func TestTornGroup(t *testing.T) {
	whole := image(1, []string{"a", "bb"}, []string{"ccc"}, []string{"d", "ee", "fff"})
	first := bytes.Index(whole, []byte("ccc")) + 3
	offsets := []int{first, first + 17, first + 35}
	for i, offset := range offsets {
		b := bytes.Clone(whole)
		b[offset+3]++ // a length that goes wrong
		r := newReader(bytes.NewReader(b), 1, int64(len(b)))
		if err := r.findEnd("file"); err != nil || r.offset != int64(offset) {
			t.Errorf("record %d of the last group broken: end at %d, %v; want %d", i, r.offset, err, offset)
		}
	}
	b := bytes.Clone(whole)
	b[first-1]++
	if err := newReader(bytes.NewReader(b), 1, int64(len(b))).findEnd("file"); !errors.Is(err, ErrCorrupt) {
		t.Errorf("record before the last group broken: %v, want ErrCorrupt", err)
	}
}

// FuzzSegment reads any bytes as a segment: what reads as records is made of these bytes and
// encodes to them again.
func FuzzSegment(f *testing.F) {
	whole := image(1, []string{"a", "bb"}, []string{strings.Repeat("c", 300)}, []string{"d"})
	f.Add(whole)
	f.Add(append(bytes.Clone(whole), make([]byte, 100)...))
	f.Add(append(bytes.Clone(whole[:90]), whole...))
	f.Add(whole[:len(whole)-1])
	f.Add(image(2, []string{"of another segment"}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < segmentHeader {
			return
		}
		if s, err := parseSegmentHeader(b); err == nil {
			if again := segmentHead(s.number, s.before, s.owner); !bytes.Equal(again, b[:segmentHeader]) {
				t.Errorf("header %x became %x", b[:segmentHeader], again)
			}
		}
		r := newReader(bytes.NewReader(b), 1, int64(len(b)))
		at := int64(segmentHeader)
		for {
			offset, record, err := r.next()
			if err != nil {
				if !errors.Is(err, errBroken) && (!errors.Is(err, io.EOF) || at != int64(len(b))) {
					t.Fatal(err)
				}
				break
			}
			length, sum := measure([][]byte{record})
			again := append(header{uint32(length), uint32(offset - r.group), sum}.appendTo(nil, Position{1, offset}), record...)
			if offset != at || !bytes.Equal(again, b[at:r.offset]) {
				t.Fatalf("record at %d: %x became %x", offset, b[at:r.offset], again)
			}
			at = r.offset
		}
		r = newReader(bytes.NewReader(b), 1, int64(len(b)))
		if err := r.findEnd("file"); r.offset != at || err != nil && !errors.Is(err, ErrCorrupt) {
			t.Errorf("end at %d, %v; want %d", r.offset, err, at)
		}
	})
}
