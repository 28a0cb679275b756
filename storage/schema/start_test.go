package schema

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestNoCellIsMistakenForAppend makes cells that begin at every second of the hour, as seconds and
// with a fraction, and continue in every way.
func TestNoCellIsMistakenForAppend(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	var coder ColumnEncoder
	var decoder ColumnDecoder
	for second := range uint32(RowSeconds) {
		for _, start := range []uint32{second * 1000, second*1000 + 1, second*1000 + 999} {
			for _, step := range []uint32{1, 500, 1000, 7000} {
				points := pointsFrom(rng, start, step)
				q, v := AppendCell(nil, nil, points)
				if MistakenForAppend(q) || len(q) > 2 && q[0] == prefixAppend {
					t.Fatalf("the cell of %v begins with 05: %X", points, q)
				}
				checkColumns(t, &coder, &decoder, q, v)
				checkSamePoints(t, q, v, points)
			}
		}
	}
}

// pointsFrom returns one to five points from an offset on, within the hour.
func pointsFrom(rng *rand.Rand, start, step uint32) (points []Point) {
	for range 1 + rng.IntN(5) {
		if start < rowMillis {
			points = append(points, randomPoint(rng, start))
		}
		start += step
	}
	return points
}

// checkSamePoints checks that a cell holds these points, whether its qualifiers count seconds or
// milliseconds.
func checkSamePoints(t *testing.T, q, v []byte, want []Point) {
	t.Helper()
	got, err := DecodeData(nil, q, v)
	same := func(a, b Point) bool { return a.Offset == b.Offset && a.SameValue(b) }
	if err != nil || !slices.EqualFunc(got, want, same) {
		t.Fatalf("%X=%X holds %v, %v, want %v", q, v, got, err, want)
	}
}

func TestMistakenForAppend(t *testing.T) {
	for _, test := range []struct {
		qualifier []byte
		want      bool
	}{
		{[]byte{0x05, 0x00, 0x05, 0x10}, true},
		{[]byte{0x05, 0xFB, 0xF0, 0x10, 0x00, 0x0B}, true},
		{[]byte{0x05, 0x00}, false},             // one point
		{[]byte{0x05, 0x00, 0x00}, false},       // an append cell
		{[]byte{0x04, 0xF0, 0x05, 0x00}, false}, // begins with second 79
		{[]byte{0x06, 0x00, 0x06, 0x10}, false}, // with second 96
		{[]byte{0xF0, 0x01, 0x38, 0x80}, false},
		{nil, false},
	} {
		if got := MistakenForAppend(test.qualifier); got != test.want {
			t.Errorf("MistakenForAppend(%X) = %v", test.qualifier, got)
		}
	}
}

func TestFromFirst(t *testing.T) {
	for _, test := range []struct {
		offset       uint32
		millis, want bool
	}{
		{79_000, true, true},
		{80_000, true, false},
		{80_000, false, false},
		{80_001, true, true},
		{95_000, true, false},
		{96_000, true, true},
	} {
		p := IntPoint(test.offset, 7)
		p.Millis = test.millis
		if got := p.FromFirst(); got.Millis != test.want || got.Offset != p.Offset || !got.SameValue(p) {
			t.Errorf("%+v is %+v elsewhere", p, got)
		}
		if first := p.asFirst(); p.FromFirst().asFirst() != first {
			t.Errorf("%+v is %+v as first", p, first)
		}
	}
}

func TestWithOurUnit(t *testing.T) {
	for _, test := range []struct {
		offset       uint32
		millis, want bool
	}{
		{80_000, true, false},
		{80_000, false, false},
		{80_001, true, true},
		{maxSecondsOffset * 1000, true, false},
		{maxSecondsOffset*1000 + 1000, true, true}, // beyond the hour, and beyond what 2 bytes say
	} {
		p := IntPoint(test.offset, 7)
		p.Millis = test.millis
		if got := p.WithOurUnit(); got.Millis != test.want || got.Offset != p.Offset || !got.SameValue(p) {
			t.Errorf("%+v in our unit is %+v", p, got)
		}
	}
}
