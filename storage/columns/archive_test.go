package columns

import (
	"errors"
	"math"
	"slices"
	"testing"
)

func TestArchiveRow(t *testing.T) {
	if base := ArchiveBase(1741046460, 60); base%(60*ArchiveSlots) != 0 || 1741046460-base >= 60*ArchiveSlots {
		t.Error(base)
	}
	if base := ArchiveBase(math.MaxUint32, 1<<31); base != 0 {
		t.Error(base)
	}
	if step, ok := ArchiveStep(ArchiveQualifier(3600)); step != 3600 || !ok {
		t.Error(step, ok)
	}
	for _, q := range [][]byte{nil, {0x83, 0, 0, 0, 0}, {0x82, 0, 0, 0, 60}, {0x83, 0, 60}} {
		if step, ok := ArchiveStep(q); ok {
			t.Errorf("%X: %d", q, step)
		}
	}
}

// archiveOf returns slots of some bytes: each byte is a gap and the next eight are a value.
func archiveOf(raw []byte, base, step uint32) (times []int64, values []float64) {
	slot := int64(-1)
	for ; len(raw) >= 9 && slot+int64(raw[0])+1 < ArchiveSlots; raw = raw[9:] {
		slot += int64(raw[0]) + 1
		bits := uint64(0)
		for _, b := range raw[1:9] {
			bits = bits<<8 | uint64(b)
		}
		if v := math.Float64frombits(bits); !math.IsNaN(v) {
			times, values = append(times, int64(base)+slot*int64(step)), append(values, v)
		}
	}
	return times, values
}

func FuzzArchive(f *testing.F) {
	f.Add([]byte{0, 0x40, 0x45, 0, 0, 0, 0, 0, 0}, uint32(60))
	f.Add([]byte{0, 0x40, 0x45, 0, 0, 0, 0, 0, 0, 7, 0x7F, 0xF0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0}, uint32(3600))
	f.Add([]byte{255, 0x3F, 0xB9, 0x99, 0x99, 0x99, 0x99, 0x99, 0x9A, 0, 0x40, 0x24, 0, 0, 0, 0, 0, 0}, uint32(1<<31))
	f.Fuzz(func(t *testing.T, raw []byte, step uint32) {
		var d Decoder
		step = max(step, 1)
		base := ArchiveBase(1741046460, step)
		// Any bytes are read or are an error.
		if times, values, err := d.AppendArchive(nil, nil, raw, base, step); err == nil {
			if len(times) == 0 || len(times) != len(values) || !slices.IsSorted(times) {
				t.Fatalf("%X: %v %v", raw, times, values)
			}
		} else if !errors.Is(err, ErrArchive) || len(times)+len(values) > 0 {
			t.Fatal(times, values, err)
		}
		times, values := archiveOf(raw, base, step)
		if len(times) == 0 {
			return
		}
		var e Encoder
		cell := e.AppendArchive(nil, times, values, base, step)
		gotTimes, gotValues, err := d.AppendArchive([]int64{1}, []float64{2}, cell, base, step)
		if err != nil || !slices.Equal(gotTimes[1:], times) {
			t.Fatalf("%v: %v, %v", times, gotTimes, err)
		}
		for i, v := range gotValues[1:] {
			if math.Float64bits(v) != math.Float64bits(values[i]) {
				t.Fatalf("%v, want %v", v, values[i])
			}
		}
	})
}

func TestArchiveIsSmall(t *testing.T) {
	var times []int64
	var values []float64
	for i := range int64(ArchiveSlots) {
		times, values = append(times, i*60), append(values, float64(i%17)/4)
	}
	var e Encoder
	if cell := e.AppendArchive(nil, times, values, 0, 60); len(cell) > 2*ArchiveSlots {
		t.Errorf("%d bytes for %d slots", len(cell), len(times))
	}
}
