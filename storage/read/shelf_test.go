package read

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// FuzzPacked: what is packed is parsed to the same cells, and what cannot be parsed is an error.
func FuzzPacked(f *testing.F) {
	f.Add([]byte("qualifier"), []byte("value"), int64(5), int64(-3))
	f.Add([]byte{}, []byte{0}, int64(1)<<62, int64(0))
	f.Fuzz(func(t *testing.T, q, v []byte, time, other int64) {
		if time < 0 || other < 0 { // no stamps
			time, other = -(time + 1), -(other + 1)
			time, other = max(time, 0), max(other, 0)
		}
		cells := []kv.StoredCell{{Qualifier: q, Value: v, Time: time}, {Qualifier: v, Value: q, Time: other}}
		packed := appendPacked(nil, cells)
		got, err := parsePacked(nil, packed)
		if err != nil || len(got) != 2 {
			t.Fatal(got, err)
		}
		for i := range cells {
			if !bytes.Equal(got[i].Qualifier, cells[i].Qualifier) || !bytes.Equal(got[i].Value, cells[i].Value) || got[i].Time != cells[i].Time {
				t.Errorf("cell %d is %v, want %v", i, got[i], cells[i])
			}
		}
		_, _ = parsePacked(nil, q) // whatever it is
		if len(packed) > 0 {
			_, _ = parsePacked(nil, packed[:len(packed)-1])
		}
	})
}

// Rows of a series come back in order of time, whatever the order in which they were added, and a
// shelf that is gone keeps nothing.
func TestShelf(t *testing.T) {
	s := &shelf{last: make([]int32, 3)}
	grown := int64(0)
	for i, base := range []uint32{7200, 0, 3600} {
		for series := range 3 {
			if series != 1 {
				grown += s.add(series, base, bytes.Repeat([]byte{byte(i)}, 5000*i))
			}
		}
	}
	if grown != s.bytes {
		t.Errorf("the shelf grew by %d bytes and has %d", grown, s.bytes)
	}
	for series, want := range [][]uint32{{0, 3600, 7200}, nil, {0, 3600, 7200}} {
		var got []uint32
		for _, r := range s.rowsOf(series, nil) {
			got = append(got, r.base)
			if n := map[uint32]int{7200: 0, 0: 5000, 3600: 10_000}[r.base]; len(s.cells(r)) != n {
				t.Errorf("row of %d has %d bytes, want %d", r.base, len(s.cells(r)), n)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("series %d (-want +got):\n%s", series, diff)
		}
	}
	if n := s.drop(); n != grown {
		t.Errorf("drop gave back %d bytes, want %d", n, grown)
	}
	if n := s.add(0, 0, []byte("x")); n != 0 {
		t.Errorf("a shelf that is gone grew by %d bytes", n)
	}
}
