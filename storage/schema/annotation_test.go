package schema

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAnnotationCells: recorded of a TSD 2.4.1, those of 1388450562 and 1328140800 of its unit tests.
func TestAnnotationCells(t *testing.T) {
	series := []byte{0, 0, 1, 0, 0, 1, 0, 0, 1}
	salted := DefaultLayout()
	salted.SaltWidth = 1
	for _, c := range []struct {
		start     int64
		row       string // of the series
		global    string
		qualifier string
		time      int64 // that the qualifier stands for, milliseconds
	}{
		{1388450562, "00000152C20900000001000001", "00000052C20900", "010A02", 1388450562000},
		{1388450562500, "00000152C20900000001000001", "00000052C20900", "01002719C4", 1388450562500},
		{1388450562000, "00000152C20900000001000001", "00000052C20900", "010A02", 1388450562000},
		{1328140801, "0000014F29D200000001000001", "0000004F29D200", "010001", 1328140801000},
		{1328140800500, "0000014F29D200000001000001", "0000004F29D200", "01000001F4", 1328140800500},
		// a second that is a multiple of 1000 stands at another one
		{1425716000, "00000154FAB000000001000001", "00000054FAB000", "010074", 1425715316000},
		{1425716000000, "00000154FAB000000001000001", "00000054FAB000", "010320", 1425716000000},
		{1, "00000100000000000001000001", "00000000000000", "010001", 1000},
		{1<<32 - 1, "000001FFFFF960000001000001", "000000FFFFF960", "01069F", (1<<32 - 1) * 1000},
		{1 << 32, "00000100418890000001000001", "00000000418890", "0100028D80", 1 << 32},
	} {
		base, qualifier := AnnotationCell(c.start)
		row, global := DefaultLayout().AppendAnnotationKey(nil, series, base), DefaultLayout().AppendAnnotationKey(nil, nil, base)
		if FormatTSUID(row) != c.row || FormatTSUID(global) != c.global || FormatTSUID(qualifier) != c.qualifier {
			t.Errorf("%d is in row %X, global %X, column %X, want %s, %s, %s", c.start, row, global, qualifier, c.row, c.global, c.qualifier)
		}
		offset, ok := ForeignOffset(qualifier)
		if got := Time(base, offset); !ok || got != c.time {
			t.Errorf("%d has the time %d, want %d", c.start, got, c.time)
		}
		// the bucket of a series is its points', global ones have none
		if row, global := salted.AppendAnnotationKey(nil, series, base), salted.AppendAnnotationKey(nil, nil, base); FormatTSUID(row) != "08"+c.row || FormatTSUID(global) != "00"+c.global {
			t.Errorf("with a salt %d is in row %X, global %X", c.start, row, global)
		}
	}
}

func FuzzAnnotation(f *testing.F) {
	for _, s := range []string{
		`{"tsuid":"00000B000004000008","startTime":1356998460,"endTime":1356998520,"description":"series note","notes":"n","custom":{"a":"1","b":"2"}}`,
		`{"startTime":1356998640500,"endTime":0,"description":"\u0001é","notes":"","custom":null}`, `{"startTime":"5","endTime":1.5e3,"description":1,"custom":{"a":null}}`,
		`{"startTime":-9223372036854775808}`, `{"custom":{}}`, `{"description":"\ud800"}`, `[`, `{}`, `null`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := ParseAnnotation(b)
		if err != nil {
			return
		}
		stored, shown := AppendAnnotation(nil, a), AppendShownAnnotation(nil, a)
		for _, printed := range [][]byte{stored, shown} {
			if again, err := ParseAnnotation(printed); err != nil || cmp.Diff(a, again) != "" {
				t.Errorf("%s prints to %s, which is %+v, %v", b, printed, again, err)
			}
		}
		if again, _ := ParseAnnotation(stored); !bytes.Equal(AppendAnnotation(nil, again), stored) {
			t.Errorf("%s is printed in another way the second time", stored)
		}
		if a.Start >= 1 && MillisOf(a.Start) < 1<<32*1000 {
			base, qualifier := AnnotationCell(a.Start)
			if ClassifyCell(qualifier) != CellAnnotation || base%RowSeconds != 0 {
				t.Errorf("the cell of %d is %X at %d", a.Start, qualifier, base)
			}
			if offset, _ := ForeignOffset(qualifier); offset >= RowSeconds*1000 {
				t.Errorf("the cell of %d is at %d", a.Start, offset)
			}
		}
	})
}
