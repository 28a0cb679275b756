package columns

import "slices"

// AppendColumns appends the times, in milliseconds since 1970 when base is the base time of the
// row, and the values of a coded cell, in the order of the cell. An integer beyond 53 bits is
// rounded. distance is that between all neighbouring times if it is always the same, else 0. After
// an error times and values are as they were.
//
// It is the loop of every query: it writes times and values straight to where they stay.
func (d *Decoder) AppendColumns(times []int64, values []float64, coded []byte, base uint32) (_ []int64, _ []float64, distance int64, err error) {
	r := reader{rest: coded}
	n := d.begin(&r)
	if r.bad {
		return times, values, 0, damaged(coded)
	}
	at, to := len(times), len(values)
	newTimes, newValues := slices.Grow(times, n)[:at+n], slices.Grow(values, n)[:to+n]
	distance = d.timesTo(newTimes[at:], &r, int64(base)*1000)
	switch d.rule { // flags tell nothing of values
	case flagsSame:
		r.take(1)
	case flagsEach:
		r.take((n + 1) / 2)
	}
	if d.values == valuesBits {
		bitsTo(newValues[to:], &r)
	} else {
		d.valuesTo(newValues[to:], &r)
	}
	if r.bad || len(r.rest) > 0 {
		return times, values, 0, damaged(coded)
	}
	return newTimes, newValues, distance, nil
}

// timesTo sets times, and returns the distance between them if it is always the same, else 0.
func (d *Decoder) timesTo(to []int64, r *reader, begin int64) int64 {
	first, limit, unit := int64(r.uvarint()), d.limit(), d.unit()
	if step, ok := r.constant(); ok {
		if !evenWithin(first, step, len(to), limit) {
			r.bad = true
			return 0
		}
		fillEven(to, begin+first*unit, step*unit)
		return step * unit
	}
	r.unpack(to[1:])
	to[0] = first
	offset, wrong := int64(0), int64(0)
	for i, step := range to {
		offset += step
		wrong |= limit - offset | offset // negative if one of these is
		to[i] = begin + offset*unit
	}
	r.bad = r.bad || wrong < 0
	return 0
}

// evenWithin reports whether n even offsets are all from 0 to a limit. They go one way, so the ends
// bound all; the step must not be so long that they wrap.
func evenWithin(first, step int64, n int, limit int64) bool {
	last := first + step*int64(n-1)
	return step <= limit && step >= -limit && uint64(first) <= uint64(limit) && uint64(last) <= uint64(limit)
}

// fillEven sets numbers at even distances.
func fillEven(to []int64, first, step int64) {
	second, third, fourth := step, 2*step, 3*step
	for len(to) >= 4 {
		to[0], to[1], to[2], to[3] = first, first+second, first+third, first+fourth
		first += 4 * step
		to = to[4:]
	}
	for i := range to {
		to[i] = first
		first += step
	}
}

// valuesTo sets the values of scaled numbers.
func (d *Decoder) valuesTo(to []float64, r *reader) {
	order := d.numbersHead(r, len(to))
	if r.bad {
		return
	}
	d.numbers = sized(d.numbers, len(to))
	var first [maxOrder]int64
	for k := range order {
		first[k] = r.varint()
	}
	if number, ok := r.constantOf(order); ok {
		fillValues(to, float64(number)/powersOfTen[d.scale])
		return
	}
	r.unpack(d.numbers[order:])
	switch order {
	case 0:
		scaleBack(to, d.numbers, d.scale)
	case 1:
		d.numbers[0] = first[0]
		sumsBack(to, d.numbers, d.scale)
	case 2:
		d.numbers[0], d.numbers[1] = first[0], 0
		doubleSumsBack(to, d.numbers, first[1], d.scale)
	}
}

// constantOf reads the pack of values that are all the same.
func (r *reader) constantOf(order int) (int64, bool) {
	if order > 0 {
		return 0, false
	}
	return r.constant()
}

func fillValues(to []float64, v float64) {
	for i := range to {
		to[i] = v
	}
}

// sumsBack is scaleBack of the sums of numbers.
func sumsBack(to []float64, numbers []int64, scale int) {
	numbers = numbers[:len(to)]
	x := int64(0)
	if scale == 0 {
		for len(to) >= 4 && len(numbers) >= 4 {
			a := x + numbers[0]
			b := a + numbers[1]
			c := b + numbers[2]
			x = c + numbers[3]
			to[0], to[1], to[2], to[3] = float64(a), float64(b), float64(c), float64(x)
			to, numbers = to[4:], numbers[4:]
		}
		for i, step := range numbers {
			x += step
			to[i] = float64(x)
		}
		return
	}
	power := powersOfTen[scale]
	for len(to) >= 4 && len(numbers) >= 4 {
		a := x + numbers[0]
		b := a + numbers[1]
		c := b + numbers[2]
		x = c + numbers[3]
		to[0], to[1], to[2], to[3] = float64(a)/power, float64(b)/power, float64(c)/power, float64(x)/power
		to, numbers = to[4:], numbers[4:]
	}
	for i, step := range numbers {
		x += step
		to[i] = float64(x) / power
	}
}

// doubleSumsBack is scaleBack of the sums of the sums of numbers after the first, which begin with
// a step.
func doubleSumsBack(to []float64, numbers []int64, step int64, scale int) {
	power := powersOfTen[scale]
	numbers = numbers[:len(to)]
	x := numbers[0]
	to[0] = float64(x) / power
	for i, change := range numbers[1:] {
		step += change
		x += step
		to[i+1] = float64(x) / power
	}
}
