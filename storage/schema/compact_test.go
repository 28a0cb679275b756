package schema

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// randomPoints returns n points at ascending instants, about half of them whole seconds, with
// values of every length.
func randomPoints(rng *rand.Rand, n int) []Point {
	offsets := map[uint32]bool{}
	for len(offsets) < n {
		offset := rng.Uint32N(RowMillis)
		if rng.IntN(2) == 0 {
			offset = offset / 1000 * 1000
		}
		offsets[offset] = true
	}
	points := make([]Point, 0, n)
	for offset := range offsets {
		points = append(points, randomPoint(rng, offset))
	}
	slices.SortFunc(points, func(a, b Point) int { return int(a.Offset) - int(b.Offset) })
	return points
}

func randomPoint(rng *rand.Rand, offset uint32) Point {
	if p, ok := FloatPoint(offset, math.Float64frombits(rng.Uint64()), ValuesAuto); ok && rng.IntN(3) == 0 {
		return p
	}
	if p, ok := FloatPoint(offset, float64(math.Float32frombits(rng.Uint32())), ValuesAuto); ok && rng.IntN(2) == 0 {
		return p
	}
	return IntPoint(offset, rng.Int64()>>rng.UintN(64))
}

func TestRandomCellsComeBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	first := IntPoint(5, 5)
	for range 2000 {
		points := randomPoints(rng, 1+rng.IntN(60))
		q, v := AppendCell([]byte("q"), []byte("v"), points)
		if q[0] != 'q' || v[0] != 'v' || ClassifyCell(q[1:]) != CellData {
			t.Fatalf("AppendCell = %X, %X", q, v)
		}
		got, err := DecodeData([]Point{first}, q[1:], v[1:])
		points = asWritten(points)
		if err != nil || got[0] != first || !slices.Equal(got[1:], points) {
			t.Fatalf("DecodeData(%X, %X) = %v, %v, want %v", q[1:], v[1:], got, err, points)
		}
	}
}

// asWritten returns the points as one cell holds them: the first of several may count milliseconds
// though it is a whole second.
func asWritten(points []Point) []Point {
	points = slices.Clone(points)
	if len(points) > 1 {
		points[0] = points[0].AsFirst()
	}
	return points
}

// TestEveryCutIsNoticed: a value that lost bytes, or gained some, is read as a TSD reads it: the points before a cut
// between two of them, and not at all with a cut within one. The check finds each of them.
func TestEveryCutIsNoticed(t *testing.T) {
	points := asWritten(randomPoints(rand.New(rand.NewPCG(4, 4)), 20))
	q, v := AppendCell(nil, nil, points)
	whole := map[int]int{} // bytes of the first points
	size := 0
	for i, p := range points {
		size += p.Width()
		whole[size] = i + 1
	}
	for n := range len(v) {
		got, err := DecodeData(points[:1:1], q, v[:n])
		want, readable := whole[n]
		switch {
		case readable && (err != nil || !slices.Equal(got[1:], points[:want])):
			t.Errorf("value cut to %d of %d bytes: %v, %v, want %d points", n, len(v), got[1:], err, want)
		case !readable && (err == nil || len(got) != 1):
			t.Errorf("value cut to %d of %d bytes: %d points, %v", n, len(v), len(got), err)
		}
		if _, flaws, _ := CheckData(nil, q, v[:n]); flaws&(FlawTrailer|FlawUnreadable) == 0 {
			t.Errorf("value cut to %d of %d bytes: the check finds nothing", n, len(v))
		}
	}
	longer := append(v, 0, 1, 2)
	if got, err := DecodeData(nil, q, longer); err != nil || !slices.Equal(got, points) {
		t.Errorf("value with surplus: %v, %v", got, err)
	}
	if _, flaws, _ := CheckData(nil, q, longer); flaws&FlawTrailer == 0 {
		t.Error("value with surplus: the check finds nothing")
	}
}

// TestHotPathsMakeNoGarbage: functions that run for each cell append to the memory that they are
// given.
func TestHotPathsMakeNoGarbage(t *testing.T) {
	points := randomPoints(rand.New(rand.NewPCG(5, 5)), 100)
	q, v := AppendCell(nil, nil, points)
	var appended []byte
	for _, p := range points {
		appended = p.AppendValue(p.AppendQualifier(appended))
	}
	l := DefaultLayout()
	l.SaltWidth = 1
	tsuid := make([]byte, 15)
	key := l.AppendRowKey(nil, tsuid, 0)
	dst := make([]Point, 0, len(q)/2)
	for name, run := range map[string]func(){
		"AppendCell":   func() { q, v = AppendCell(q[:0], v[:0], points) },
		"DecodeData":   func() { dst, _ = DecodeData(dst[:0], q, v) },
		"DecodeAppend": func() { dst, _ = DecodeAppend(dst[:0], appended) },
		"AppendRowKey": func() { key = l.AppendRowKey(key[:0], tsuid, 0) },
		"ParseRowKey":  func() { _, _ = l.ParseRowKey(key) },
	} {
		if n := testing.AllocsPerRun(10, run); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func FuzzDecodeData(f *testing.F) {
	for _, cell := range [][2][]byte{
		{{0, 0}, {0x2A}},
		{{0, 0x0B}, {0, 0, 0, 0, 0x42, 0x2A, 0, 0}},
		{{0xF0, 0, 0x7D, 0x0B}, {0x42, 0x2A, 0, 0}},
		{{0, 0, 0, 0x10}, {1, 2, 0}},
		{{0, 0, 0xF0, 0, 0, 0x40}, {1, 2, 1}},
		{{0, 0, 0, 0x10}, {1, 2}},
	} {
		f.Add(cell[0], cell[1])
	}
	f.Fuzz(func(t *testing.T, qualifier, value []byte) {
		first := IntPoint(5, 5)
		points, err := DecodeData([]Point{first}, qualifier, value)
		if err != nil {
			if len(points) != 1 || points[0] != first {
				t.Fatalf("after an error: %v", points)
			}
			return
		}
		q, v := AppendCell(nil, nil, points[1:])
		again, err := DecodeData(nil, q, v)
		if err != nil || !slices.Equal(again, asWritten(points[1:])) {
			t.Errorf("%X=%X holds %v, again %X=%X: %v, %v", qualifier, value, points[1:], q, v, again, err)
		}
	})
}

func BenchmarkDecodeData(b *testing.B) {
	points := make([]Point, 240)
	for i := range points {
		points[i], _ = FloatPoint(uint32(i)*15000, float64(i)*1.1, ValuesAuto)
	}
	q, v := AppendCell(nil, nil, points)
	b.ReportAllocs()
	for b.Loop() {
		points, _ = DecodeData(points[:0], q, v)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(points)), "ns/point")
}

func BenchmarkAppendCell(b *testing.B) {
	points := make([]Point, 240)
	for i := range points {
		points[i], _ = FloatPoint(uint32(i)*15000, float64(i)*1.1, ValuesAuto)
	}
	var q, v []byte
	b.ReportAllocs()
	for b.Loop() {
		q, v = AppendCell(q[:0], v[:0], points)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(points)), "ns/point")
}
