package columns

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// A Decoder reads column-coded cells. It is the memory that this takes; the zero value is
// ready. Not safe for concurrent use.
type Decoder struct {
	form    byte
	rule    flagRule
	values  valueForm
	scale   int
	offsets []int64 // in the unit of form
	numbers []int64
	floats  []float64 // with valuesBits
	flags   []byte    // with flagsEach; one with flagsSame
}

// AppendCell appends the qualifier and the value of a coded cell, the same bytes that were coded.
func (d *Decoder) AppendCell(qualifier, value, coded []byte) (q, v []byte, err error) {
	if len(coded) > 0 && coded[0] == formNewTSMeta {
		return parseMetaCell(qualifier, value, coded)
	}
	if err := d.decode(coded); err != nil {
		return qualifier, value, err
	}
	if err := d.allFlags(); err != nil {
		return qualifier, value, err
	}
	q, trailer, err := d.appendQualifiers(qualifier)
	if err != nil {
		return qualifier, value, err
	}
	return q, append(d.appendValues(value), trailer), nil
}

// AppendPoints appends the points of a coded cell, as DecodeData does those of the cell itself.
func (d *Decoder) AppendPoints(dst []schema.Point, coded []byte) ([]schema.Point, error) {
	if err := d.decode(coded); err != nil {
		return dst, err
	}
	if err := d.allFlags(); err != nil {
		return dst, err
	}
	unit := d.unit()
	dst = slices.Grow(dst, len(d.offsets))
	for i, o := range d.offsets {
		offset := o * unit
		p := schema.Point{Offset: uint32(offset), Flags: d.flags[i], Millis: d.countsMillis(i, offset)}
		p.Bits = d.bits(i, p.Flags) & (math.MaxUint64 >> (64 - 8*uint(p.Width())))
		dst = append(dst, p)
	}
	return dst, nil
}

func (d *Decoder) unit() int64 {
	if d.form&formTimeMask == formSeconds {
		return 1000
	}
	return 1
}

// countsMillis reports whether the qualifier of a point does, of which the offset is in
// milliseconds.
func (d *Decoder) countsMillis(i int, offset int64) bool {
	form := d.form & formTimeMask
	return offset%1000 != 0 || form == formAllMillis || form == formFirstMillis && i == 0
}

// begin reads what a cell begins with, and returns the number of its points.
func (d *Decoder) begin(r *reader) int {
	d.form = r.byte()
	d.rule = flagRule(d.form >> formRuleShift & formRuleMask)
	d.values = valueForm(d.form >> formValShift & formValMask)
	count := r.uvarint()
	if d.form&formReserved != 0 || d.rule >= flagRules || d.values >= valueForms || count < 2 || count > maxColumnPoints {
		r.bad = true
	}
	return int(count)
}

// damaged is the error of a cell that cannot be read.
func damaged(coded []byte) error {
	return fmt.Errorf("%w: %d bytes %X", errColumns, len(coded), schema.Clip(coded))
}

// decode reads all columns.
func (d *Decoder) decode(coded []byte) error {
	r := reader{rest: coded}
	n := d.begin(&r)
	if r.bad {
		return damaged(coded)
	}
	d.decodeTimes(&r, n)
	switch d.rule {
	case flagsSame:
		d.flags = append(d.flags[:0], r.take(1)...)
	case flagsEach:
		d.flags = nibbles(sized(d.flags, n), r.take((n+1)/2))
	}
	if d.values == valuesBits {
		d.floats = sized(d.floats, n)
		bitsTo(d.floats, &r)
	} else {
		d.decodeNumbers(&r, n)
		if d.values == valuesDecimal && !r.bad {
			d.floats = sized(d.floats, n)
			scaleBack(d.floats, d.numbers, d.scale)
		}
	}
	if r.bad || len(r.rest) > 0 {
		return damaged(coded)
	}
	return nil
}

// limit returns the greatest offset, in the unit of form.
func (d *Decoder) limit() int64 {
	if d.form&formTimeMask == formSeconds {
		return schema.MaxSecondsOffset
	}
	return schema.MsOffsetMask
}

func (d *Decoder) decodeTimes(r *reader, n int) {
	first, limit := int64(r.uvarint()), d.limit()
	d.offsets = sized(d.offsets, n)
	if step, ok := r.constant(); ok {
		r.bad = r.bad || !evenWithin(first, step, n, limit)
		fillEven(d.offsets, first, step)
		return
	}
	r.unpack(d.offsets[1:])
	d.offsets[0] = first
	sums(d.offsets)
	for _, o := range d.offsets {
		if uint64(o) > uint64(limit) {
			r.bad = true
			return
		}
	}
}

// sums undoes differences.
func sums(numbers []int64) {
	sum := int64(0)
	for i, x := range numbers {
		sum += x
		numbers[i] = sum
	}
}

func nibbles(dst, from []byte) []byte {
	if len(from) < (len(dst)+1)/2 {
		return dst
	}
	for i := range dst {
		dst[i] = from[i/2] >> (4 * (i & 1)) & schema.FlagsMask
	}
	return dst
}

// numbersHead reads the scale of numbers and their order.
func (d *Decoder) numbersHead(r *reader, n int) (order int) {
	head := r.byte()
	d.scale, order = int(head&0xF), int(head>>4)
	if order > maxOrder || order >= n || d.values == valuesInteger && d.scale != 0 {
		r.bad = true
	}
	return order
}

func (d *Decoder) decodeNumbers(r *reader, n int) {
	order := d.numbersHead(r, n)
	if r.bad {
		return
	}
	d.numbers = sized(d.numbers, n)
	for k := range order {
		d.numbers[k] = r.varint()
	}
	r.unpack(d.numbers[order:])
	for k := order - 1; k >= 0; k-- {
		sums(d.numbers[k:])
	}
}

// bitsTo sets floats of the bits that change from one to the next.
func bitsTo(to []float64, r *reader) {
	heads := r.take(len(to))
	if r.bad {
		return
	}
	before := uint64(0)
	for i, h := range heads {
		trailing, size := uint(h>>4), int(h&0xF)
		if trailing+uint(size) > 8 {
			r.bad = true
			return
		}
		var x uint64
		if len(r.rest) >= 8 {
			x = binary.LittleEndian.Uint64(r.rest) & (1<<(8*uint(size)) - 1)
			r.rest = r.rest[size:]
		} else {
			for k, b := range r.take(size) {
				x |= uint64(b) << (8 * k)
			}
		}
		before ^= x << (8 * trailing)
		to[i] = math.Float64frombits(before)
	}
}

// scaleBack makes floats of scaled numbers.
func scaleBack(to []float64, numbers []int64, scale int) {
	numbers = numbers[:len(to)]
	if scale == 0 {
		for i, x := range numbers {
			to[i] = float64(x)
		}
		return
	}
	power := powersOfTen[scale]
	for i, x := range numbers {
		to[i] = float64(x) / power
	}
}

// bits returns the bytes of a value with these flags, in the low bytes of what may have others.
func (d *Decoder) bits(i int, flags byte) uint64 {
	switch {
	case d.values == valuesInteger:
		return uint64(d.numbers[i])
	case flags == schema.FlagsFloat8:
		return math.Float64bits(d.floats[i])
	case flags == schema.FlagsFloat4:
		return uint64(math.Float32bits(float32(d.floats[i])))
	default:
		return uint64(int64(d.floats[i]))
	}
}

// allFlags sets the flags of each point.
func (d *Decoder) allFlags() error {
	n := len(d.offsets)
	switch d.rule {
	case flagsSame:
		same := d.flags[0]
		d.flags = sized(d.flags, n)
		if same > schema.FlagsMask || schema.ValueLengths[same] == 0 || d.values == valuesInteger && same&schema.FlagFloat != 0 {
			return errColumns
		}
		for i := range d.flags {
			d.flags[i] = same
		}
		return nil
	case flagsEach:
		for _, f := range d.flags {
			if schema.ValueLengths[f] == 0 || d.values == valuesInteger && f&schema.FlagFloat != 0 {
				return errColumns
			}
		}
		return nil
	}
	if d.values == valuesInteger != (d.rule == flagsInteger) {
		return errColumns
	}
	d.flags = sized(d.flags, n)
	d.follow()
	return nil
}

// follow sets the flags by the rule.
func (d *Decoder) follow() {
	switch d.rule {
	case flagsInteger:
		for i, v := range d.numbers {
			d.flags[i] = flagsOfInt(v)
		}
	case flagsCompact:
		for i, f := range d.floats {
			d.flags[i] = flagsOfCompact(f)
		}
	case flagsShort:
		for i, f := range d.floats {
			d.flags[i] = flagsOfShort(f)
		}
	case flagsAuto:
		flags := d.flags[:len(d.floats)]
		for i, f := range d.floats {
			flags[i] = flagsOfFloat(f)
		}
	}
}

// appendQualifiers appends the qualifiers and gives the trailing byte of the value.
func (d *Decoder) appendQualifiers(q []byte) (_ []byte, trailer byte, err error) {
	n, at := len(d.offsets), len(q)
	q = slices.Grow(q, 4*n)
	to := q[at : at+4*n]
	flags := d.flags[:n]
	switch d.form & formTimeMask {
	case formSeconds:
		for i, o := range d.offsets {
			binary.BigEndian.PutUint16(to[2*i:], uint16(o<<schema.SecondsShift)|uint16(flags[i]))
		}
		return q[:at+2*n], schema.TrailerPlain, nil
	case formAllMillis:
		if d.rule == flagsSame {
			mark := schema.MsMark | uint32(flags[0])
			for i, o := range d.offsets {
				binary.BigEndian.PutUint32(to[4*i:], mark|uint32(o)<<schema.MsShift)
			}
			return q[:at+4*n], schema.TrailerPlain, nil
		}
		for i, o := range d.offsets {
			binary.BigEndian.PutUint32(to[4*i:], schema.MsMark|uint32(o)<<schema.MsShift|uint32(flags[i]))
		}
		return q[:at+4*n], schema.TrailerPlain, nil
	}
	q, err = d.appendMixed(q[:at])
	if len(q) != at+2*n && len(q) != at+4*n {
		trailer = schema.TrailerMixed
	}
	return q, trailer, err
}

// appendMixed appends qualifiers that count seconds where that is enough, except for the first with
// formFirstMillis.
func (d *Decoder) appendMixed(q []byte) ([]byte, error) {
	for i, o := range d.offsets {
		p := schema.Point{Offset: uint32(o), Flags: d.flags[i], Millis: d.countsMillis(i, o)}
		if !p.Millis && o > schema.MaxSecondsOffset*1000 {
			return q, errColumns
		}
		q = p.AppendQualifier(q)
	}
	return q, nil
}

// appendValues appends the bytes of the values.
func (d *Decoder) appendValues(v []byte) []byte {
	n, at := len(d.flags), len(v)
	v = slices.Grow(v, 8*n+8)
	to := v[at : at+8*n+8]
	if d.rule == flagsSame && d.values != valuesInteger {
		switch floats := d.floats[:n]; d.flags[0] {
		case schema.FlagsFloat4:
			for i, f := range floats {
				binary.BigEndian.PutUint32(to[4*i:], math.Float32bits(float32(f)))
			}
			return v[:at+4*n]
		case schema.FlagsFloat8:
			for i, f := range floats {
				binary.BigEndian.PutUint64(to[8*i:], math.Float64bits(f))
			}
			return v[:at+8*n]
		}
	}
	// Each value is written as 8 bytes; those that are too many are overwritten by the next.
	pos := 0
	for i, f := range d.flags {
		width := uint(schema.ValueLengths[f&schema.FlagsMask])
		binary.BigEndian.PutUint64(to[pos:], d.bits(i, f)<<((64-8*width)&63))
		pos += int(width)
	}
	return v[:at+pos]
}
