package own

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

func TestAgesRoundTrip(t *testing.T) {
	regular := func(n int, step uint32, lag func(i int) int64) []Age {
		ages := make([]Age, n)
		for i := range ages {
			ages[i] = Age{Offset: uint32(i) * step, Time: 1_700_000_000_000 + int64(uint32(i)*step) + lag(i)}
		}
		return ages
	}
	jitter := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		name string
		ages []Age
		most int // bytes of the value
	}{
		{"none", nil, 1},
		{"the first instant", []Age{{0, 0}}, 2},
		{"the last instant", []Age{{3_599_999, 1<<62 - 1}}, 20},
		{"a steady lag", regular(240, 15_000, func(int) int64 { return 70 }), 260},
		{"a lag that varies by some milliseconds", regular(240, 15_000, func(int) int64 { return jitter.Int64N(15) }), 260},
		{"a lag that varies by a second", regular(240, 15_000, func(int) int64 { return jitter.Int64N(1000) }), 500},
		{"one time for all", regular(240, 15_000, func(i int) int64 { return -int64(i) * 15_000 }), 260},
		{"before 1970", []Age{{5, -7}, {6, 9}}, 10},
	} {
		q, v := AppendAgesCell(nil, nil, 1_700_000_123_456, c.ages)
		if len(q) != 5 || schema.ClassifyCell(q) != schema.CellAges {
			t.Errorf("%s: qualifier %x", c.name, q)
		}
		got, err := DecodeAges(nil, q, v)
		if err != nil || len(got) != len(c.ages) || len(got) > 0 && !reflect.DeepEqual(got, c.ages) {
			t.Errorf("%s: %v, %v, want %v", c.name, got, err, c.ages)
		}
		if len(v) > c.most {
			t.Errorf("%s: %d bytes, want at most %d", c.name, len(v), c.most)
		}
	}
}

// No object cell has the qualifier of a cell of ages, and no cell of ages that of an object cell.
func TestAgesAreNoObjects(t *testing.T) {
	for _, offset := range []uint32{0, 1, 999, 1000, 3_599_000, 3_599_999} {
		if q, _ := AppendObjectCell(nil, nil, []Object{{Offset: offset, Kind: storage.KindFloat}}); schema.ClassifyCell(q) != schema.CellObject {
			t.Errorf("objects at %d: cell %x is of kind %d", offset, q, schema.ClassifyCell(q))
		}
	}
}

// FuzzAges: bytes that are not a cell of ages are an error and nothing worse; a cell of ages
// ascends, and is written again as it was.
func FuzzAges(f *testing.F) {
	_, v := AppendAgesCell(nil, nil, 5, []Age{{0, 1_700_000_000_000}, {15_000, 1_700_000_015_003}, {3_599_999, 1}})
	f.Add(v)
	f.Add([]byte{agesFormat, 0, 0, 1, 1})
	f.Add([]byte{agesFormat, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x80})
	f.Fuzz(func(t *testing.T, value []byte) {
		q, _ := AppendAgesCell(nil, nil, 5, nil)
		ages, err := DecodeAges(nil, q, value)
		if err != nil {
			return
		}
		for i := 1; i < len(ages); i++ {
			if ages[i].Offset <= ages[i-1].Offset {
				t.Fatalf("%x: ages %v do not ascend", value, ages)
			}
		}
		_, again := AppendAgesCell(nil, nil, 5, ages)
		if twice, err := DecodeAges(nil, q, again); err != nil || fmt.Sprint(twice) != fmt.Sprint(ages) {
			t.Fatalf("%x: %v, written again as %x: %v, %v", value, ages, again, twice, err)
		}
	})
}
