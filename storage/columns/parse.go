package columns

import (
	"encoding/binary"
	"math"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// cellColumns are the points of a cell, each part of them by itself.
type cellColumns struct {
	offsets   []int64   // seconds if no qualifier counts milliseconds, else milliseconds
	flags     []byte    // if they differ; else the first alone is set
	ints      []int64   // of the points that are integers
	floats    []float64 // of all points; integers beyond 53 bits are rounded
	millis    int       // qualifiers that count milliseconds
	integers  int       // points that are integers
	sameFlags bool
	// of qualifiers of both kinds the first is a whole second that counts milliseconds
	firstMillis bool
}

// parse takes a cell apart and reports whether it can be put together again.
func (c *cellColumns) parse(q, v []byte) bool {
	if len(q) < 4 || len(q)%2 != 0 || len(q)/2 > maxColumnPoints || len(q) == 4 && schema.IsMillis(q[0]) {
		return false
	}
	c.offsets, c.flags = sized(c.offsets, len(q)/2), sized(c.flags, len(q)/2)
	return c.parseQualifiers(q) && c.parseValues(v) && c.floatsAreExact()
}

// parseQualifiers reads the qualifiers. Nearly all cells have one kind of them, and of flags.
func (c *cellColumns) parseQualifiers(q []byte) bool {
	var n int
	c.firstMillis = false
	if c.millis = 0; schema.IsMillis(q[0]) {
		if n = c.parseMillis(q); n < 0 {
			return false
		}
		c.millis = n
		q = q[4*n:]
	} else {
		n = c.parseSeconds(q)
		q = q[2*n:]
	}
	if len(q) > 0 {
		return c.parseMixed(q, n)
	}
	c.offsets, c.flags = c.offsets[:n], c.flags[:n]
	return true
}

// parseMillis reads as many qualifiers of 4 bytes as there are, -1 if one has reserved bits. Flags
// are set if they differ, else the first.
func (c *cellColumns) parseMillis(q []byte) (n int) {
	offsets := c.offsets[:len(q)/4]
	first, differ := binary.BigEndian.Uint32(q), uint32(0)
	for n = range offsets {
		word := binary.BigEndian.Uint32(q[4*n:])
		if word < schema.MsMark {
			n--
			break
		}
		differ |= word ^ first
		offsets[n] = int64(word >> schema.MsShift & schema.MsOffsetMask)
	}
	n++
	if (first|differ)&(1<<schema.MsShift-1)&^schema.FlagsMask != 0 {
		return -1
	}
	c.flags[0] = byte(first) & schema.FlagsMask
	if c.sameFlags = differ&schema.FlagsMask == 0; !c.sameFlags || 4*n < len(q) {
		for i := range n {
			c.flags[i] = q[4*i+3] & schema.FlagsMask
		}
	}
	return n
}

// parseSeconds reads as many qualifiers of 2 bytes as there are, likewise.
func (c *cellColumns) parseSeconds(q []byte) (n int) {
	offsets := c.offsets[:len(q)/2]
	first, differ := binary.BigEndian.Uint16(q), uint16(0)
	for n = range offsets {
		word := binary.BigEndian.Uint16(q[2*n:])
		if word >= schema.MsMark>>16 {
			n--
			break
		}
		differ |= word ^ first
		offsets[n] = int64(word >> schema.SecondsShift)
	}
	n++
	c.flags[0] = byte(first) & schema.FlagsMask
	if c.sameFlags = differ&schema.FlagsMask == 0; !c.sameFlags || 2*n < len(q) {
		for i := range n {
			c.flags[i] = q[2*i+1] & schema.FlagsMask
		}
	}
	return n
}

// parseMixed reads the rest of qualifiers of both kinds, of which n of one kind were read. Those
// and only those that are no whole seconds must count milliseconds, and the first of all may.
func (c *cellColumns) parseMixed(q []byte, n int) bool {
	c.firstMillis = c.millis > 0 && c.offsets[0]%1000 == 0
	if c.millis == 0 {
		for i := range c.offsets[:n] {
			c.offsets[i] *= 1000
		}
	}
	for ; len(q) > 0; n++ {
		p, size := schema.CutQualifier(q)
		if size == 0 || size == 4 && q[3]&(1<<schema.MsShift-1)&^schema.FlagsMask != 0 {
			return false
		}
		q = q[size:]
		if p.Millis {
			c.millis++
		}
		c.offsets[n], c.flags[n] = int64(p.Offset), p.Flags
		c.sameFlags = c.sameFlags && p.Flags == c.flags[0]
	}
	c.offsets, c.flags = c.offsets[:n], c.flags[:n]
	parts := 0
	if c.firstMillis {
		parts++
	}
	for _, o := range c.offsets {
		if o%1000 != 0 {
			parts++
		}
	}
	// A qualifier of 2 bytes is a whole second, so as many parts of seconds as qualifiers of 4
	// bytes are the same points.
	return parts == c.millis
}

// parseValues reads the values and the trailing byte.
func (c *cellColumns) parseValues(v []byte) bool {
	n := len(c.flags)
	c.floats, c.ints = sized(c.floats, n), sized(c.ints, n)
	c.integers = 0
	trailer := byte(schema.TrailerPlain)
	if c.millis > 0 && c.millis < n {
		trailer = schema.TrailerMixed
	}
	if len(v) == 0 || v[len(v)-1] != trailer {
		return false
	}
	v = v[:len(v)-1]
	switch {
	case c.sameFlags && c.flags[0] == schema.FlagsFloat4:
		return c.parseFloat4(v)
	case c.sameFlags && c.flags[0] == schema.FlagsFloat8:
		return c.parseFloat8(v)
	}
	return c.parseAny(v)
}

func (c *cellColumns) parseFloat4(v []byte) bool {
	if len(v) != 4*len(c.floats) {
		return false
	}
	finite := true
	for i := range c.floats {
		f := math.Float32frombits(binary.BigEndian.Uint32(v[4*i:]))
		finite = finite && f-f == 0
		c.floats[i] = float64(f)
	}
	return finite
}

func (c *cellColumns) parseFloat8(v []byte) bool {
	if len(v) != 8*len(c.floats) {
		return false
	}
	finite := true
	for i := range c.floats {
		f := math.Float64frombits(binary.BigEndian.Uint64(v[8*i:]))
		finite = finite && f-f == 0
		c.floats[i] = f
	}
	return finite
}

// parseAny reads values of any lengths.
func (c *cellColumns) parseAny(v []byte) bool {
	if c.sameFlags {
		for i := range c.flags {
			c.flags[i] = c.flags[0]
		}
	}
	finite := true
	for i, flags := range c.flags {
		bits, width := schema.CutValue(flags, v)
		if width == 0 {
			return false
		}
		v = v[width:]
		switch flags {
		case schema.FlagsFloat4:
			c.floats[i] = float64(math.Float32frombits(uint32(bits)))
		case schema.FlagsFloat8:
			c.floats[i] = math.Float64frombits(bits)
		default:
			unused := (64 - 8*uint(width)) & 63
			c.ints[i] = int64(bits<<unused) >> unused
			c.floats[i] = float64(c.ints[i])
			c.integers++
		}
		finite = finite && c.floats[i]-c.floats[i] == 0
	}
	return finite && len(v) == 0
}

// floatsAreExact reports whether floats hold all values: where there are floats too, integers must
// be within 53 bits.
func (c *cellColumns) floatsAreExact() bool {
	if c.integers == 0 || c.integers == len(c.flags) {
		return true
	}
	for i, flags := range c.flags {
		if flags&schema.FlagFloat == 0 && (c.ints[i] > schema.MaxCompact || c.ints[i] < -schema.MaxCompact) {
			return false
		}
	}
	return true
}

// rule finds a rule that gives the flags.
func (c *cellColumns) rule() flagRule {
	switch {
	case c.sameFlags:
		return flagsSame
	case c.integers == len(c.flags) && c.follows(flagsInteger):
		return flagsInteger
	case c.integers == 0 && c.follows(flagsAuto):
		return flagsAuto
	case c.integers < len(c.flags) && c.follows(flagsCompact):
		return flagsCompact
	case c.integers < len(c.flags) && c.follows(flagsShort):
		return flagsShort
	}
	return flagsEach
}

func (c *cellColumns) follows(rule flagRule) bool {
	for i, flags := range c.flags {
		var want byte
		switch f := c.floats[i]; rule {
		case flagsAuto:
			want = flagsOfFloat(f)
		case flagsInteger:
			want = flagsOfInt(c.ints[i])
		case flagsShort:
			want = flagsOfShort(f)
		default:
			want = flagsOfCompact(f)
		}
		if flags != want {
			return false
		}
	}
	return true
}

// flagsOfFloat returns what FloatPoint gives a finite value with ValuesAuto.
func flagsOfFloat(v float64) byte {
	if float64(float32(v)) == v {
		return schema.FlagsFloat4
	}
	return schema.FlagsFloat8
}

// flagsOfShort returns what it gives with ValuesCompact.
func flagsOfShort(v float64) byte {
	if whole, ok := schema.ShortWhole(v); ok {
		return flagsOfInt(whole)
	}
	return flagsOfFloat(v)
}

// flagsOfCompact returns what it once gave with ValuesCompact.
func flagsOfCompact(v float64) byte {
	if whole, ok := schema.WholeNumber(v); ok {
		return flagsOfInt(whole)
	}
	return flagsOfFloat(v)
}

// flagsOfInt returns what IntPoint gives.
func flagsOfInt(v int64) byte {
	switch {
	case v == int64(int8(v)):
		return 0
	case v == int64(int16(v)):
		return 1
	case v == int64(int32(v)):
		return 3
	}
	return 7
}
