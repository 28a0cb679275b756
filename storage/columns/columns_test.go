package columns

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// shape is a kind of series.
type shape struct {
	name    string
	percent int // of all series
	begin   func(rng *rand.Rand) float64
	next    func(rng *rand.Rand, v, rate float64) float64
}

// shapes are the kinds of series of a host's exporter and what their values do.
var shapes = []shape{
	{
		"constant", 45, func(rng *rand.Rand) float64 { return float64(rng.Uint64N(1<<36) * rng.Uint64N(2)) },
		func(_ *rand.Rand, v, _ float64) float64 { return v },
	},
	{
		"counter", 18, func(rng *rand.Rand) float64 { return math.Floor(rng.Float64() * 1e9) },
		func(rng *rand.Rand, v, rate float64) float64 { return v + math.Floor(rate*(0.8+0.4*rng.Float64())) },
	},
	{
		"hundredths", 16, func(rng *rand.Rand) float64 { return math.Floor(rng.Float64() * 1e6) },
		func(rng *rand.Rand, v, rate float64) float64 {
			return hundredths(v + min(rate, 14)*(0.5+rng.Float64()))
		},
	},
	{
		"slow", 11, func(*rand.Rand) float64 { return 0 },
		func(rng *rand.Rand, v, _ float64) float64 { return v + float64((rng.IntN(20)+1)/20) },
	},
	{
		"bytes", 8, func(rng *rand.Rand) float64 { return float64(1<<18+rng.IntN(1<<22)) * 4096 },
		func(rng *rand.Rand, v, _ float64) float64 { return v + float64(rng.IntN(513)-256)*4096 },
	},
	{
		"gauge", 2, func(*rand.Rand) float64 { return 2 },
		func(rng *rand.Rand, v, _ float64) float64 { return hundredths(math.Abs(v + (rng.Float64()-0.5)*0.2)) },
	},
}

func hundredths(v float64) float64 { return math.Round(v*100) / 100 }

// hostCells makes cells of n points, one each 15 s with an offset in milliseconds, like those of an
// exporter's series: of all shapes, or of one.
func hostCells(count, n int, offset uint32, name string) (cells [][2][]byte) {
	rng := rand.New(rand.NewPCG(7, uint64(n)))
	for i := range count {
		at, s := i%100, 0
		for ; at >= shapes[s].percent; s++ {
			at -= shapes[s].percent
		}
		if name != "" {
			s = slices.IndexFunc(shapes, func(x shape) bool { return x.name == name })
		}
		v, rate := shapes[s].begin(rng), math.Exp(rng.Float64()*10)
		var points []schema.Point
		for k := range n {
			v = shapes[s].next(rng, v, rate)
			p, _ := schema.FloatPoint(offset+uint32(k)*15000, v, schema.ValuesAuto)
			points = append(points, p)
		}
		q, val := schema.AppendCell(nil, nil, points)
		cells = append(cells, [2][]byte{q, val})
	}
	return cells
}

// checkColumns codes a cell and compares all that is read from it with the cell.
func checkColumns(t *testing.T, e *Encoder, d *Decoder, q, v []byte) (coded []byte) {
	t.Helper()
	coded, ok := e.Append([]byte("before"), q, v)
	if !ok {
		if string(coded) != "before" {
			t.Fatalf("Append(%X, %X), not ok, left %X", q, v, coded)
		}
		return nil
	}
	if coded = coded[len("before"):]; len(coded) >= len(q)+len(v) {
		t.Fatalf("%d and %d bytes became %d", len(q), len(v), len(coded))
	}
	coded = slices.Clip(bytes.Clone(coded))
	gotQ, gotV, err := d.AppendCell([]byte("q"), []byte("v"), coded)
	if err != nil || gotQ[0] != 'q' || gotV[0] != 'v' || !bytes.Equal(gotQ[1:], q) || !bytes.Equal(gotV[1:], v) {
		t.Fatalf("%X=%X is coded as %X and comes back as %X=%X, %v", q, v, coded, gotQ, gotV, err)
	}
	points, err := schema.DecodeData(nil, q, v)
	if err != nil {
		t.Fatalf("%X=%X was coded: %v", q, v, err)
	}
	gotPoints, err := d.AppendPoints(points[:1:1], coded)
	if err != nil || !slices.Equal(gotPoints[1:], points) {
		t.Fatalf("points of %X=%X: %v, want %v; %v", q, v, gotPoints[1:], points, err)
	}
	const base = 1_700_000_000
	times, values, distance, err := d.AppendColumns([]int64{1}, []float64{1}, coded, base)
	if err != nil || len(times) != len(points)+1 || len(values) != len(times) {
		t.Fatalf("columns of %X=%X: %v, %v, %v", q, v, times, values, err)
	}
	for i, p := range points {
		if times[i+1] != base*1000+int64(p.Offset) || math.Float64bits(values[i+1]) != math.Float64bits(p.Float()) {
			t.Fatalf("point %d of %X=%X: %d %v, want %v", i, q, v, times[i+1], values[i+1], p)
		}
		if i > 0 && distance != 0 && distance != times[i+1]-times[i] {
			t.Fatalf("points %d of %X=%X: %d after the one before, want %d", i, q, v, times[i+1]-times[i], distance)
		}
	}
	return coded
}

// columnCases returns cells of a few dozen points that take different paths through the coder.
func columnCases(rng *rand.Rand) map[string][]schema.Point {
	series := func(n int, point func(i int) schema.Point) (points []schema.Point) {
		for i := range n {
			points = append(points, point(i))
		}
		return points
	}
	float := func(offset int, v float64, values schema.Values) schema.Point {
		p, _ := schema.FloatPoint(uint32(offset), v, values)
		return p
	}
	with := func(p schema.Point, flags byte) schema.Point { p.Flags = flags; return p }
	walk := 0.0
	return map[string][]schema.Point{
		"constant":       series(60, func(i int) schema.Point { return float(994+i*15000, 5, schema.ValuesAuto) }),
		"starts like 05": series(60, func(i int) schema.Point { return float(85_000+i*15_000, 5, schema.ValuesAuto) }),
		"05, then parts": series(60, func(i int) schema.Point { return float(80_000+i*500, 5, schema.ValuesAuto) }),
		"05, all parts":  series(60, func(i int) schema.Point { return float(95_000+i*999, 5, schema.ValuesAuto) }),
		"two":            series(2, func(i int) schema.Point { return float(i*1000, 1.5, schema.ValuesAuto) }),
		"seconds":        series(60, func(i int) schema.Point { return float(i*60000, float64(i*i), schema.ValuesAuto) }),
		"hundredths":     series(60, func(i int) schema.Point { return float(i*60000, 0.01*float64(i), schema.ValuesAuto) }),
		"many digits":    series(60, func(i int) schema.Point { return float(i*60000, float64(i)/1e13, schema.ValuesAuto) }),
		"doubles":        series(60, func(i int) schema.Point { return float(i*60000, float64(i), schema.ValuesDouble) }),
		"compact":        series(60, func(i int) schema.Point { return float(i*60000, float64(i)/2, schema.ValuesCompact) }),
		"compact, long": series(60, func(i int) schema.Point {
			return float(i*60000, float64(1<<31-10+i)+float64(i%2)/2, schema.ValuesCompact)
		}),
		"once compact":  series(60, func(i int) schema.Point { return schema.IntPoint(uint32(i*60000), int64(1<<31-10+i)) }),
		"jitter":        series(240, func(i int) schema.Point { return float(i*15000+rng.IntN(9), 5, schema.ValuesAuto) }),
		"whole ms":      series(60, func(i int) schema.Point { p := float(i*500, 1, schema.ValuesAuto); p.Millis = true; return p }),
		"gap":           series(60, func(i int) schema.Point { return float(i*15000+i/30*60000+7, 1, schema.ValuesAuto) }),
		"reset":         series(60, func(i int) schema.Point { return float(i*15000, float64((1<<40)*((59-i)/30)+i*77), schema.ValuesAuto) }),
		"spikes":        series(60, func(i int) schema.Point { return float(i*15000, float64(i%20/19*1_000_000+5), schema.ValuesAuto) }),
		"jump":          series(60, func(i int) schema.Point { return float(i*15000, float64(i/30*4567), schema.ValuesAuto) }),
		"quadratic":     series(60, func(i int) schema.Point { return float(i*15000, float64(1<<30+1000*i*i), schema.ValuesAuto) }),
		"random":        series(60, func(i int) schema.Point { return float(i*15000, rng.Float64(), schema.ValuesAuto) }),
		"random short":  series(60, func(i int) schema.Point { return float(i*15000, float64(rng.Float32()), schema.ValuesAuto) }),
		"random walk":   series(60, func(i int) schema.Point { walk += rng.NormFloat64(); return float(i*15000, walk, schema.ValuesAuto) }),
		"negative zero": series(60, func(i int) schema.Point { return float(i*15000, math.Copysign(0, float64(i%2)-0.5), schema.ValuesAuto) }),
		"huge":          series(60, func(i int) schema.Point { return float(i*15000, math.MaxFloat64/float64(i+1), schema.ValuesAuto) }),
		"tiny": series(60, func(i int) schema.Point {
			return float(i*15000, math.SmallestNonzeroFloat64*float64(i), schema.ValuesAuto)
		}),
		"integers":      series(60, func(i int) schema.Point { return schema.IntPoint(uint32(i*15000), int64(i*i*i*i-1000)) }),
		"wide integers": series(60, func(i int) schema.Point { return with(schema.IntPoint(uint32(i*15000), int64(i)), 7) }),
		"all integers":  series(60, func(i int) schema.Point { return schema.IntPoint(uint32(i*15000), int64(rng.Uint64())) }),
		"ends": series(60, func(i int) schema.Point {
			return schema.IntPoint(uint32(i*15000), math.MinInt64+int64(i%2)*math.MaxInt64*2+1)
		}),
		"each": series(61, func(i int) schema.Point { return with(float(i*15000, float64(i), schema.ValuesAuto), 0xB) }),
		"ints and floats": series(61, func(i int) schema.Point {
			return [2]schema.Point{schema.IntPoint(uint32(i*1000), 7), float(i*1000, 3, schema.ValuesDouble)}[i%2]
		}),
		"kinds and flags": series(30, func(i int) schema.Point { return float(500+i*50, 1+float64(i/10)*0.1, schema.ValuesAuto) }),
		"unsorted":        series(60, func(i int) schema.Point { return float((i*7919)%3600*1000, 1, schema.ValuesAuto) }),
		"one instant":     series(60, func(i int) schema.Point { return float(5000, float64(i), schema.ValuesAuto) }),
		"beyond the hour": series(60, func(i int) schema.Point { return float(3_600_000+i*3001, float64(i), schema.ValuesAuto) }),
	}
}

func TestColumns(t *testing.T) {
	var e Encoder
	var d Decoder
	for name, points := range columnCases(rand.New(rand.NewPCG(8, 8))) {
		t.Run(name, func(t *testing.T) {
			q, v := schema.AppendCell(nil, nil, points)
			if checkColumns(t, &e, &d, q, v) == nil && name != "random" && name != "all integers" && name != "ends" && name != "two" {
				t.Errorf("not coded")
			}
		})
	}
}

// TestColumnSizes bounds the sizes of coded cells, in bytes for a number of points.
func TestColumnSizes(t *testing.T) {
	cases := columnCases(rand.New(rand.NewPCG(8, 8)))
	var e Encoder
	for name, most := range map[string]int{
		"constant": 14, "doubles": 16, "compact": 16, "seconds": 20, "gap": 20, "reset": 30, "spikes": 30, "jump": 24, "quadratic": 24, "whole ms": 14,
		"starts like 05": 16, "05, then parts": 16, "05, all parts": 16,
		"jitter": 240*5/8 + 20, "integers": 160, "one instant": 16, "wide integers": 16,
	} {
		q, v := schema.AppendCell(nil, nil, cases[name])
		if coded, ok := e.Append(nil, q, v); !ok || len(coded) > most {
			t.Errorf("%s: %d points in %d bytes, want at most %d: %X", name, len(cases[name]), len(coded), most, coded)
		}
	}
}

func TestRandomColumnsComeBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	var e Encoder
	var d Decoder
	coded := 0
	for range 3000 {
		points := randomPoints(rng, 1+rng.IntN(60))
		if q, v := schema.AppendCell(nil, nil, points); checkColumns(t, &e, &d, q, v) != nil {
			coded++
		}
		if q, v := schema.AppendCell(nil, nil, randomWidths(rng)); checkColumns(t, &e, &d, q, v) != nil {
			coded++
		}
	}
	if coded < 2000 {
		t.Errorf("%d of 6000 cells were coded", coded)
	}
}

// randomWidths returns points whose offsets and values use a random number of bits, some of them
// many more.
func randomWidths(rng *rand.Rand) (points []schema.Point) {
	n, timeBits, valueBits, shift := 2+rng.IntN(80), rng.UintN(12), rng.UintN(63), rng.UintN(5)
	offset, v := uint32(0), rng.Int64()>>rng.UintN(64)
	for range n {
		offset += rng.Uint32N(1<<timeBits+1) + 1
		step := rng.Int64N(1<<valueBits+1) << shift
		if rng.IntN(20) == 0 {
			step = rng.Int64()
		}
		v += step
		points = append(points, schema.IntPoint(offset, v))
	}
	return points
}

// TestColumnsRefuse: cells that AppendCell would not write are not coded.
func TestColumnsRefuse(t *testing.T) {
	var points []schema.Point
	for i := range 60 {
		points = append(points, schema.IntPoint(uint32(i)*500, 5))
	}
	q, v := schema.AppendCell(nil, nil, points)
	change := func(b []byte, at int, to byte) []byte {
		b = bytes.Clone(b)
		b[at] = to
		return b
	}
	single := schema.IntPoint(7, 7)
	for name, cell := range map[string][2][]byte{
		"trailing byte of another kind": {q, change(v, len(v)-1, 0)},
		"no trailing byte":              {q, v[:len(v)-1]},
		"a byte too many":               {q, append(bytes.Clone(v), 0)},
		"value missing":                 {q, v[:10]},
		"nothing":                       {nil, nil},
		"odd qualifier":                 {q[:len(q)-1], v},
		"cut qualifier":                 {q[:len(q)-2], v},
		"reserved bits":                 {change(q, 5, q[5]|0x10), v},
		"length 3":                      {change(q, 1, 2), append([]byte{0, 0}, v...)},
		"one point":                     {single.AppendQualifier(nil), single.AppendValue(nil)},
		"second, then whole second in milliseconds": {[]byte{0, 0, 0xF0, 0, 0xFA, 0, 0, 0x20, 0, 0x30}, []byte{1, 1, 1, 1, 1}},
		"reserved bits of milliseconds":             {[]byte{0xF0, 0, 0x7D, 0x10, 0xF0, 1, 0x77, 0x10, 0xF0, 2, 0x71, 0x10}, []byte{1, 1, 1, 0}},
		"value left over":                           {[]byte{0, 0, 0, 0x10, 0, 0x20, 0, 0x30}, []byte{1, 1, 1, 1, 1, 0}},
		"NaN among integers":                        {[]byte{0, 0x00, 0, 0x1B, 0, 0x2B}, []byte{1, 0x7F, 0xC0, 0, 0, 0x7F, 0xC0, 0, 0, 0}},
		"NaN":                                       {[]byte{0, 0x0B, 0, 0x1B}, []byte{0x7F, 0xC0, 0, 0, 0x7F, 0xC0, 0, 0, 0}},
	} {
		var e Encoder
		if coded, ok := e.Append(nil, cell[0], cell[1]); ok {
			t.Errorf("%s: coded as %X", name, coded)
		}
	}
	var e Encoder
	if _, ok := e.Append(nil, q, v); !ok {
		t.Error("the cell as it was is not coded")
	}
}

// TestDamagedColumns: a cell with missing or extra bytes, or with times that no cell has, is an
// error.
func TestDamagedColumns(t *testing.T) {
	cell := hostCells(1, 60, 994, "counter")[0]
	var e Encoder
	var d Decoder
	good, ok := e.Append(nil, cell[0], cell[1])
	if !ok {
		t.Fatal("not coded")
	}
	bad := [][]byte{
		append(bytes.Clone(good), 0),
		{formAllMillis, 2, 0, 0, 0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0x01, 0x0B, 0, 0, 2}, // a step of years
		{formAllMillis, 2, 0, 0, 1, 0x0B, 0, 0, 2},                                  // a step back from 0
		{formAllMillis, 1, 0, 0, 2, 0x0B, 0, 0, 2},
	}
	for n := range good {
		bad = append(bad, good[:n:n])
	}
	for _, b := range bad {
		if times, values, _, err := d.AppendColumns(nil, nil, b, 0); !errors.Is(err, errColumns) {
			t.Errorf("%X: %v, %v, %v", b, times, values, err)
		}
		if q, v, err := d.AppendCell(nil, nil, b); !errors.Is(err, errColumns) || q != nil || v != nil {
			t.Errorf("%X: %X=%X, %v", b, q, v, err)
		}
	}
}

// TestColumnsMakeNoGarbage: coder and decoder reuse the memory that they have.
func TestColumnsMakeNoGarbage(t *testing.T) {
	var e Encoder
	var d Decoder
	for _, shape := range shapes {
		cell := hostCells(1, 240, 994, shape.name)[0]
		coded, ok := e.Append(nil, cell[0], cell[1])
		if !ok {
			t.Fatalf("%s: not coded", shape.name)
		}
		buffer := bytes.Clone(coded)
		var q, v []byte
		var times []int64
		var values []float64
		for name, run := range map[string]func(){
			"Append":        func() { buffer, _ = e.Append(buffer[:0], cell[0], cell[1]) },
			"AppendCell":    func() { q, v, _ = d.AppendCell(q[:0], v[:0], coded) },
			"AppendColumns": func() { times, values, _, _ = d.AppendColumns(times[:0], values[:0], coded, 0) },
		} {
			if n := testing.AllocsPerRun(10, run); n != 0 {
				t.Errorf("%s of %s: %v allocations", name, shape.name, n)
			}
		}
	}
}

// FuzzColumns codes everything that is a cell.
func FuzzColumns(f *testing.F) {
	for _, points := range columnCases(rand.New(rand.NewPCG(8, 8))) {
		q, v := schema.AppendCell(nil, nil, points)
		f.Add(q, v)
	}
	f.Fuzz(func(t *testing.T, qualifier, value []byte) {
		var e Encoder
		var d Decoder
		checkColumns(t, &e, &d, qualifier, value)
	})
}

// FuzzColumnValues makes cells of any values, since a fuzzer finds few valid cells by itself.
func FuzzColumnValues(f *testing.F) {
	f.Add(uint16(15), uint16(994), byte(0), []byte("01234567012345670123456701234567"))
	f.Fuzz(func(t *testing.T, step, offset uint16, mix byte, words []byte) {
		var points []schema.Point
		at := uint32(offset)
		for ; len(words) >= 8; words = words[8:] {
			bits := binary.LittleEndian.Uint64(words)
			p, ok := schema.FloatPoint(at, math.Float64frombits(bits), schema.Values(mix>>1%3))
			if !ok || mix&1 == 1 && bits&1 == 1 {
				p = schema.IntPoint(at, int64(bits>>1))
			}
			points = append(points, p)
			at = (at + uint32(step)) & schema.MsOffsetMask
		}
		q, v := schema.AppendCell(nil, nil, points)
		var e Encoder
		var d Decoder
		checkColumns(t, &e, &d, q, v)
	})
}

// FuzzDecoder: bytes that are not a coded cell are an error, and bytes that are accepted are
// accepted by every way of reading.
func FuzzDecoder(f *testing.F) {
	var e Encoder
	for _, points := range columnCases(rand.New(rand.NewPCG(8, 8))) {
		q, v := schema.AppendCell(nil, nil, points)
		if coded, ok := e.Append(nil, q, v); ok {
			f.Add(coded)
		}
	}
	f.Fuzz(func(t *testing.T, coded []byte) {
		if len(coded) > 2 && binary.LittleEndian.Uint16(coded[1:]) > 1<<15 {
			return // millions of points in a few bytes are slow, not wrong
		}
		var d Decoder
		if len(coded) > 0 && coded[0] == formNewTSMeta {
			checkNoPoints(t, &d, coded) // FuzzMetaCell reads it
			return
		}
		times, values, _, err := d.AppendColumns(nil, nil, slices.Clip(coded), 0)
		if err != nil && !errors.Is(err, errColumns) || len(times) != len(values) {
			t.Fatalf("%d times and %d values, %v", len(times), len(values), err)
		}
		q, v, cellErr := d.AppendCell(nil, nil, slices.Clip(coded))
		if err != nil && cellErr == nil {
			t.Fatalf("AppendCell reads %X, AppendColumns says %v", coded, err)
		}
		if cellErr != nil {
			return
		}
		points, err := schema.DecodeData(nil, q, v)
		if err != nil || len(points) != len(times) {
			t.Fatalf("%X reads as %X=%X: %v", coded, q, v, err)
		}
		for i, p := range points {
			// The bytes of a value may say less than what is coded where others than Append made the cell.
			if times[i] != int64(p.Offset) {
				t.Fatalf("point %d of %X is at %d, want %d", i, coded, times[i], p.Offset)
			}
		}
		if full := FullCount(coded); full < len(points) || full > max(4*len(points), 256) {
			t.Fatalf("FullCount of %d points is %d", len(points), full)
		}
	})
}

// checkNoPoints: a document is refused in every way of reading points.
func checkNoPoints(t *testing.T, d *Decoder, coded []byte) {
	t.Helper()
	if _, _, _, err := d.AppendColumns(nil, nil, coded, 0); !errors.Is(err, errColumns) {
		t.Fatalf("AppendColumns reads the document %X: %v", coded, err)
	}
	if _, err := d.AppendPoints(nil, coded); !errors.Is(err, errColumns) {
		t.Fatalf("AppendPoints reads the document %X: %v", coded, err)
	}
	if n := Count(coded); n != 0 {
		t.Fatalf("ColumnCount of the document %X is %d", coded, n)
	}
}

func BenchmarkColumns(b *testing.B) {
	const points = 240
	cells := hostCells(1000, points, 994, "")
	var e Encoder
	var d Decoder
	var codeds [][]byte
	for _, c := range cells {
		coded, _ := e.Append(nil, c[0], c[1])
		codeds = append(codeds, coded)
	}
	var buffer, q, v []byte
	var times []int64
	var values []float64
	for name, run := range map[string]func(i int){
		"encode":  func(i int) { buffer, _ = e.Append(buffer[:0], cells[i][0], cells[i][1]) },
		"cell":    func(i int) { q, v, _ = d.AppendCell(q[:0], v[:0], codeds[i]) },
		"columns": func(i int) { times, values, _, _ = d.AppendColumns(times[:0], values[:0], codeds[i], 0) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				run(n % len(cells))
			}
			b.ReportMetric(float64(b.N)*points/1e6/b.Elapsed().Seconds(), "Mpoints/s")
		})
	}
}
