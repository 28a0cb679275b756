package head

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
)

// sample is a point of a stream on its way through the codec.
type sample struct {
	offset uint32
	bits   uint64 // of the float or the integer
	form   storage.Form
}

// encodeAll makes a stream of samples in ascending order.
func encodeAll(samples []sample) []byte {
	var e encoder
	var stream []byte
	for _, p := range samples {
		var op [maxOp]byte
		var n int
		double := p.form == storage.FormDouble
		if p.form != storage.FormInteger && double != e.double {
			stream = append(stream, op[:e.turn(&op)]...)
		}
		if p.form == storage.FormInteger {
			n = e.integer(&op, p.offset, int64(p.bits))
		} else {
			n = e.float(&op, p.offset, math.Float64frombits(p.bits))
		}
		if n == 0 {
			stream[len(stream)-1]++
		}
		stream = append(stream, op[:n]...)
	}
	return stream
}

// checkFrom checks that a stream that is decoded from a time on has the points of the whole from there
// on.
func checkFrom(t *testing.T, whole *points, from, begin int64, stream []byte) {
	t.Helper()
	c := points{times: []int64{-1}, values: []float64{-1}} // what was there before stays
	c.decodeFrom(begin, from, append(stream, make([]byte, padding)...), len(whole.times))
	skipped := len(whole.times) - (len(c.times) - 1)
	if skipped < 0 || skipped > 0 && whole.times[skipped-1] >= from {
		t.Fatalf("from %d: %d of %v were skipped", from, skipped, whole.times)
	}
	if len(c.times) > 1+maxRepeat && c.times[1+maxRepeat] < from {
		t.Fatalf("from %d: %v remains", from, c.times)
	}
	form := func(c *points, i int) storage.Form {
		f, _ := c.doubles.form(i)
		return f
	}
	exact := func(c *points, i int) (v int64, is bool) {
		for _, k := range c.integers {
			if k.at == i {
				return k.value, true
			}
		}
		return 0, false
	}
	for i := skipped; i < len(whole.times); i++ {
		at := i - skipped + 1
		v, is := exact(&c, at)
		want, wanted := exact(whole, i)
		if c.times[at] != whole.times[i] || math.Float64bits(c.values[at]) != math.Float64bits(whole.values[i]) ||
			form(&c, at) != form(whole, i) || v != want || is != wanted {
			t.Fatalf("from %d: point %d is %v at %d, want %v at %d", from, i, c.values[at], c.times[at], whole.values[i], whole.times[i])
		}
	}
}

func checkStream(t *testing.T, samples []sample) {
	t.Helper()
	stream := encodeAll(samples)
	const begin = 7200_000
	var c points
	c.decode(begin, append(stream, make([]byte, padding)...), len(samples))
	for range min(len(samples), 4) {
		p := samples[rand.IntN(len(samples))]
		checkFrom(t, &c, begin+int64(p.offset)+rand.Int64N(3)-1, begin, stream)
	}
	integers, doubles := c.integers, c.doubles
	for i, p := range samples {
		if got := c.times[i] - begin; got != int64(p.offset) {
			t.Fatalf("point %d of %v: offset %d", i, samples, got)
		}
		want := math.Float64frombits(p.bits)
		var form storage.Form
		if form, doubles = doubles.form(i); p.form != storage.FormInteger && form != p.form {
			t.Fatalf("point %d of %v: form %d", i, samples, form)
		}
		if p.form == storage.FormInteger {
			want = float64(int64(p.bits))
			if len(integers) == 0 || integers[0] != (integer{i, int64(p.bits)}) {
				t.Fatalf("point %d of %v: integers %v", i, samples, integers)
			}
			integers = integers[1:]
		}
		if math.Float64bits(c.values[i]) != math.Float64bits(want) {
			t.Fatalf("point %d of %v: %x, want %x", i, samples, math.Float64bits(c.values[i]), math.Float64bits(want))
		}
	}
	if len(integers) > 0 {
		t.Fatalf("%v: integers that were never written: %v", samples, integers)
	}
}

// corners are values around every boundary of the encoding.
var corners = []float64{
	0, math.Copysign(0, -1), 1, -1, 7, 8, -8, -9, 2047, 2048, 0.1, 0.25, -0.01, 1.0 / 3, 2.0 / 3, math.Pi, 123456789.12, 0.000000001, 1e-10,
	float64(float32(0.1)), float64(float32(2.7)), 1<<53 - 1, 1 << 53, 1<<53 + 2, -(1 << 53), -(1<<53 + 2), math.MaxInt64, math.MinInt64, 1e22, 1e300,
	math.MaxFloat64, math.SmallestNonzeroFloat64, math.Inf(1), math.Inf(-1), math.NaN(), math.Float64frombits(0x7FF0000000000002),
	math.Float64frombits(0xFFF8000000000123),
}

func TestCornersInAnyOrder(t *testing.T) {
	for _, a := range corners {
		for _, b := range corners {
			for _, c := range corners {
				var samples []sample
				for i, v := range []float64{a, a, b, b, b, c, a} {
					samples = append(samples, sample{uint32(i) * 15000, math.Float64bits(v), storage.FormFloat})
				}
				checkStream(t, samples)
			}
		}
	}
}

func TestIntegersAmongFloats(t *testing.T) {
	integers := []int64{0, 5, 5, 5, 5, 6, 7, 8, 9, 10, -3, 1 << 53, 1<<53 + 1, 1<<53 + 1, math.MaxInt64, math.MinInt64, -(1 << 53), 0}
	for _, v := range corners {
		for _, period := range []int{1, 2, 3, 5} {
			var samples []sample
			for i, n := range integers {
				if i%period == 0 {
					samples = append(samples, sample{uint32(2*i) * 1000, uint64(n), storage.FormInteger})
				}
				samples = append(samples, sample{uint32(2*i+1) * 1000, math.Float64bits(v), storage.FormFloat})
				if i%period != 0 {
					samples = append(samples, sample{uint32(2*i+1)*1000 + 1, uint64(n), storage.FormInteger})
				}
			}
			checkStream(t, samples)
		}
	}
}

// A double is distinguished from a float of the same value: in runs, alone and next to integers.
func TestDoublesAmongFloats(t *testing.T) {
	for _, v := range corners {
		for _, period := range []int{1, 2, 3, 70} {
			var samples []sample
			for i := range 200 {
				form := storage.Form(i / period % 3)
				samples = append(samples, sample{uint32(i) * 1000, math.Float64bits(v), form})
			}
			checkStream(t, samples)
		}
	}
	var samples []sample
	for i := range uint32(240) {
		samples = append(samples, sample{i * 15000, math.Float64bits(1.5), storage.FormDouble})
	}
	if n := len(encodeAll(samples)); n > shortSize {
		t.Errorf("an hour of doubles takes %d bytes, want at most %d", n, shortSize)
	}
}

func TestRunsOfIntegers(t *testing.T) {
	for _, change := range []int64{0, 1, -1000} {
		var samples []sample
		for i := range int64(200) {
			samples = append(samples, sample{uint32(i) * 10_000, uint64(50 + i*change), storage.FormInteger})
		}
		checkStream(t, samples)
		if n := len(encodeAll(samples)); n > shortSize {
			t.Errorf("200 integers that change by %d take %d bytes, want at most %d", change, n, shortSize)
		}
	}
}

func TestOddValueAfterARun(t *testing.T) {
	for _, odd := range corners {
		var samples []sample
		for i := range uint32(20) {
			v := float64(i) / 4
			if i%7 == 6 {
				v = odd
			}
			samples = append(samples, sample{i * 10_000, math.Float64bits(v), storage.FormFloat})
		}
		checkStream(t, samples)
	}
}

// TestRunOfOddValues: a repetition of bits does not change the scaled value.
func TestRunOfOddValues(t *testing.T) {
	var samples []sample
	for i, v := range []float64{1, 2, 3, math.Pi, math.Pi, math.Pi, math.Pi, 4, 5, 6, 6, 6} {
		samples = append(samples, sample{uint32(15_000 * i), math.Float64bits(v), storage.FormFloat})
	}
	for range 100 { // with other beginnings
		checkStream(t, samples)
	}
}

func TestStepsAndRepetitions(t *testing.T) {
	for _, steps := range [][]uint32{{15000}, {15000, 15001, 14999}, {15000, 15016}, {15016, 15000, 14984}, {15017, 14983}, {1}, {1, 40000, 2}, {1, 3000000}, {0, 1}} {
		for _, change := range []float64{0, 1, -0.5, 1e6} {
			var samples []sample
			offset, v := steps[0], 1000.0
			for i := 0; offset < 3600_000 && i < 300; i++ {
				samples = append(samples, sample{offset, math.Float64bits(v), storage.FormFloat})
				offset += max(steps[i%len(steps)], 1)
				v += change
			}
			checkStream(t, samples)
		}
	}
}

func TestConstantSeriesCostNothing(t *testing.T) {
	for _, v := range []float64{0, 1, 0.25, 1.0 / 3, math.NaN(), 1 << 60} {
		var samples []sample
		for i := range uint32(240) {
			samples = append(samples, sample{i*15000 + 977, math.Float64bits(v), storage.FormFloat})
		}
		if n := len(encodeAll(samples)); n > shortSize {
			t.Errorf("an hour of %v takes %d bytes, want at most %d", v, n, shortSize)
		}
	}
}

// FuzzStream makes samples of bytes: 2 of step, one that chooses, up to 8 of value.
func FuzzStream(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		b := make([]byte, 400)
		for i := range b {
			b[i] = byte(rng.UintN(256)) >> rng.UintN(9)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var samples []sample
		var offset uint32
		last := uint64(0)
		for len(b) >= 11 {
			offset += uint32(binary.LittleEndian.Uint16(b)) + 1
			if offset >= 3600_000 {
				break
			}
			last = fuzzValue(last, b[2], binary.LittleEndian.Uint64(b[3:]))
			samples = append(samples, sample{offset, last, fuzzForm(b[2])})
			b = b[3+min(8, int(b[2]&15)):]
		}
		checkStream(t, samples)
	})
}

func fuzzForm(choice byte) storage.Form {
	switch {
	case choice&0x80 != 0:
		return storage.FormInteger
	case choice&0xC == 0xC:
		return storage.FormDouble
	}
	return storage.FormFloat
}

// fuzzValue returns the next value: the last one, a decimal number near it, or any bits.
func fuzzValue(last uint64, choice byte, random uint64) uint64 {
	switch choice >> 4 & 7 {
	case 0, 1:
		return last
	case 2, 3:
		return math.Float64bits(math.Float64frombits(last) + float64(int8(random)))
	case 4:
		return math.Float64bits(float64(int32(random)) / 100)
	case 5:
		return math.Float64bits(float64(float32(int32(random)) / 10))
	case 6:
		return random & 0xFFFF
	default:
		return random
	}
}
