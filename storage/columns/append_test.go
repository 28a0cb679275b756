package columns

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// naiveColumns reads an undamaged coded cell as the comment on its format says, bit by bit.
func naiveColumns(coded []byte, base uint32) (times []int64, values []float64) {
	rest := coded[1:]
	uvarint := func() uint64 {
		v, n := binary.Uvarint(rest)
		rest = rest[n:]
		return v
	}
	varint := func() int64 { return unzigzag(uvarint()) }
	cut := func(n int) []byte {
		b := rest[:n]
		rest = rest[n:]
		return b
	}
	pack := func(n int) []int64 {
		head := cut(1)[0]
		width, low := int(head&0x7F), varint()
		numbers := make([]int64, n)
		var shift byte
		var packed []byte
		if width > 0 {
			shift = cut(1)[0]
			packed = cut((n*width + 7) / 8)
		}
		for i := range numbers {
			u := uint64(0)
			for b := range width {
				at := i*width + b
				u |= uint64(packed[at/8]>>(at%8)&1) << b
			}
			numbers[i] = low + int64(u<<shift)
		}
		if head&0x80 != 0 {
			places, at := make([]uint64, uvarint()), uint64(0)
			for i := range places {
				at += uvarint()
				places[i] = at
			}
			for _, place := range places {
				numbers[place] = low + varint()
			}
		}
		return numbers
	}
	add := func(numbers []int64) {
		for i := 1; i < len(numbers); i++ {
			numbers[i] += numbers[i-1]
		}
	}
	n := int(uvarint())
	offsets := append([]int64{int64(uvarint())}, pack(n-1)...)
	add(offsets)
	unit := int64(1)
	if coded[0]&3 == 1 {
		unit = 1000
	}
	for _, o := range offsets {
		times = append(times, int64(base)*1000+o*unit)
	}
	switch flagRule(coded[0] >> 2 & 7) {
	case flagsSame:
		cut(1)
	case flagsEach:
		cut((n + 1) / 2)
	}
	if valueForm(coded[0]>>5&3) == valuesBits {
		before := uint64(0)
		for _, h := range cut(n) {
			x := uint64(0)
			for k, b := range cut(int(h & 0xF)) {
				x |= uint64(b) << (8 * k)
			}
			before ^= x << (8 * (h >> 4))
			values = append(values, math.Float64frombits(before))
		}
		return times, values
	}
	head := cut(1)[0]
	order := int(head >> 4)
	var numbers []int64
	for range order {
		numbers = append(numbers, varint())
	}
	numbers = append(numbers, pack(n-order)...)
	for k := order - 1; k >= 0; k-- {
		add(numbers[k:])
	}
	for _, x := range numbers {
		v := float64(x)
		if scale := head & 0xF; scale > 0 {
			v /= math.Pow10(int(scale))
		}
		values = append(values, v)
	}
	return times, values
}

// widthCell codes a cell of n values whose packed numbers have so many bits, of an order.
func widthCell(rng *rand.Rand, n, width, order, scale int, shift uint, floats bool) (coded []byte) {
	numbers := make([]int64, n)
	for i := range numbers {
		numbers[i] = int64(rng.Uint64() >> (64 - width) << shift)
	}
	rest := numbers[order:]
	low, high := bounds(rest)
	form := byte(formAllMillis)
	if floats {
		form |= byte(flagsAuto)<<formRuleShift | byte(valuesDecimal)<<formValShift
	} else {
		form |= byte(flagsInteger)<<formRuleShift | byte(valuesInteger)<<formValShift
	}
	coded = binary.AppendUvarint([]byte{form}, uint64(n))
	coded = binary.AppendUvarint(coded, rng.Uint64N(1000))
	if rng.IntN(2) == 0 {
		coded = appendConstant(coded, 1+rng.Int64N(1000))
	} else {
		steps := make([]int64, n-1)
		for i := range steps {
			steps[i] = 1 + rng.Int64N(1000)
		}
		low, high := bounds(steps)
		p := planPack(steps, low, high)
		coded = p.append(coded, steps, make([]uint64, n))
	}
	coded = append(coded, byte(scale)|byte(order)<<4)
	for _, x := range numbers[:order] {
		coded = binary.AppendVarint(coded, x)
	}
	p := planPack(rest, low, high)
	return p.append(coded, rest, make([]uint64, n))
}

// TestAppendColumnsLikeNaive decodes packs of every width, order, scale and length.
func TestAppendColumnsLikeNaive(t *testing.T) {
	const base = 1_700_000_000
	rng := rand.New(rand.NewPCG(3, 4))
	var d Decoder
	check := func(coded []byte) {
		t.Helper()
		wantTimes, wantValues := naiveColumns(coded, base)
		// Nothing after the cell may be read, and what is before the columns stays.
		times, values, distance, err := d.AppendColumns([]int64{7}, []float64{8}, slices.Clip(coded), base)
		if err != nil || times[0] != 7 || values[0] != 8 || !slices.Equal(times[1:], wantTimes) {
			t.Fatalf("%X: %v, %v, want %v", coded, err, times, wantTimes)
		}
		if !slices.EqualFunc(values[1:], wantValues, func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }) {
			t.Fatalf("%X: %v, want %v", coded, values[1:], wantValues)
		}
		even := wantTimes[1] - wantTimes[0]
		for i := 1; i < len(wantTimes); i++ {
			if wantTimes[i]-wantTimes[i-1] != even {
				even = 0
			}
		}
		if distance != 0 && distance != even {
			t.Fatalf("%X: distance %d, want %d", coded, distance, even)
		}
	}
	for width := 1; width <= 64; width++ {
		for order := range maxOrder + 1 {
			for range 12 {
				n, floats := order+1+rng.IntN(70), width <= 50 && rng.IntN(2) == 0
				scale, shift := 0, rng.UintN(3)
				if floats {
					scale = rng.IntN(maxScale + 1)
				}
				check(widthCell(rng, max(n, 2), width, order, scale, shift, floats))
			}
		}
	}
	var e Encoder
	for _, points := range columnCases(rng) {
		q, v := schema.AppendCell(nil, nil, points)
		if coded, ok := e.Append(nil, q, v); ok {
			check(coded)
		}
	}
}

// A cell at even distances says so.
func TestAppendColumnsDistance(t *testing.T) {
	var e Encoder
	var d Decoder
	for name, want := range map[string]int64{"constant": 15_000, "seconds": 60_000, "jitter": 0, "gap": 0, "one instant": 0} {
		q, v := schema.AppendCell(nil, nil, columnCases(rand.New(rand.NewPCG(8, 8)))[name])
		coded, _ := e.Append(nil, q, v)
		if _, _, distance, err := d.AppendColumns(nil, nil, coded, 0); err != nil || distance != want {
			t.Errorf("%s: distance %d, %v, want %d", name, distance, err, want)
		}
	}
}

// FullCount sees the rate of a series that begins in the middle of an hour.
func TestFullCount(t *testing.T) {
	var e Encoder
	for _, c := range []struct{ first, n, want int }{
		{0, 240, 240},
		{5000, 240, 240},
		{1_800_000, 120, 240},
		{1_807_000, 120, 240},
		{3_000_000, 40, 240},
		{3_555_000, 3, 240},
		{3_598_000, 2, 256}, // at most
		{0, 100, 100},       // it ends early
	} {
		var points []schema.Point
		for i := range c.n {
			p, _ := schema.FloatPoint(uint32(c.first+i*15_000), 5, schema.ValuesAuto)
			points = append(points, p)
		}
		q, v := schema.AppendCell(nil, nil, points)
		coded, ok := e.Append(nil, q, v)
		if got := FullCount(coded); !ok || got < c.want || got > c.want*26/25 {
			t.Errorf("%d points from %d ms on: FullCount is %d, want about %d", c.n, c.first, got, c.want)
		}
	}
	if got := FullCount(nil); got != 0 {
		t.Errorf("FullCount of nothing is %d", got)
	}
}
