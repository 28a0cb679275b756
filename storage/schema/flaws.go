package schema

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// Flaws are what is wrong with a row key or with a cell of points: a set of bits.
type Flaws uint32

// The flaws of cells of points. Unless a cell is FlawUnreadable, its points are known.
const (
	FlawUnreadable  Flaws = 1 << iota // its points cannot be told
	FlawValueLength                   // the flags have another length than the value, which counts
	FlawFloatLength                   // a float of 4 bytes stands after 4 bytes of 00 or FF, as early OpenTSDBs put it
	FlawTrailer                       // after the last of several points there is not the one byte that should be
	FlawOrder                         // the points do not ascend
	FlawTwice                         // an instant stands in the cell twice
	FlawReserved                      // reserved bits of a qualifier are set
	FlawMistaken                      // OpenTSDB's fsck takes the cell for an append cell: MistakenForAppend
	FlawOutside                       // a point is not within the hour of the row
	FlawLongInteger                   // an integer of 8 bytes fits in fewer
)

// The flaws of row keys of the data table.
const (
	FlawKeyLength Flaws = 1 << (16 + iota) // the length is not that of a prefix and whole tags
	FlawNoTags                             // there are no tags, and the row is not of global annotations
	FlawZeroUID                            // a UID is 0
	FlawTagOrder                           // the tags do not ascend, or a tag key is there twice
	FlawBaseTime                           // the base time is not a multiple of an hour
	FlawSalt                               // the salt is not that of the series
)

// flawWords are the words for flaws, for people.
var flawWords = []struct {
	flaw Flaws
	word string
}{
	{FlawUnreadable, "cannot be read"},
	{FlawValueLength, "the flags have another length than the value"},
	{FlawFloatLength, "a float of 4 bytes stands in 8"},
	{FlawTrailer, "the last byte is missing or wrong, or something is left over"},
	{FlawOrder, "the points do not ascend"},
	{FlawTwice, "an instant stands in it twice"},
	{FlawReserved, "reserved bits are set"},
	{FlawMistaken, "OpenTSDB's fsck takes it for an append cell"},
	{FlawOutside, "a point is not within the hour"},
	{FlawLongInteger, "an integer of 8 bytes fits in fewer"},
	{FlawKeyLength, "its length is not that of a row key"},
	{FlawNoTags, "it has no tags"},
	{FlawZeroUID, "a UID is 0"},
	{FlawTagOrder, "its tags do not ascend"},
	{FlawBaseTime, "its base time is not a full hour"},
	{FlawSalt, "its salt is not that of the series"},
}

// String lists the flaws.
func (f Flaws) String() string {
	var words []string
	for _, w := range flawWords {
		if f&w.flaw != 0 {
			words = append(words, w.word)
		}
	}
	return strings.Join(words, ", ")
}

// CheckData is DecodeData for a check: it tells what is wrong with a data cell, and it repairs a few
// more cells. err tells why a cell is FlawUnreadable; then dst is as it was.
func CheckData(dst []Point, qualifier, value []byte) (points []Point, flaws Flaws, err error) {
	start := len(dst)
	if IsSingle(qualifier) {
		dst, flaws, err = checkSingle(dst, qualifier, value)
	} else if dst, err = DecodeData(dst, qualifier, value); err == nil {
		flaws = trailerFlaws(dst[start:], qualifier, value) | orderFlaws(dst[start:])
		if MistakenForAppend(qualifier) {
			flaws |= FlawMistaken
		}
	}
	if err != nil {
		return dst[:start], FlawUnreadable, err
	}
	return dst, flaws | pointFlaws(dst[start:]) | reservedFlaws(qualifier), nil
}

// checkSingle reads a cell of one point. What it repairs is what OpenTSDB's fsck repairs, and the
// flags that a TSD's compaction corrects. Lengths that differ are corrected in seconds alone, as by
// all readers: other cells may be of anything.
func checkSingle(dst []Point, qualifier, value []byte) ([]Point, Flaws, error) {
	p, n := CutQualifier(qualifier)
	flaws := Flaws(0)
	if n > 0 && p.Flags == FlagsFloat4 && len(value) == 8 {
		switch head := binary.BigEndian.Uint32(value); {
		case head == 0, head == 0xFFFFFFFF && n == 2:
			value, flaws = value[4:], FlawFloatLength
		}
	} else if n == 2 {
		was := p.Flags
		if p, value = repair(p, value); p.Flags != was {
			flaws = FlawValueLength
		}
	}
	bits, width := CutValue(p.Flags, value)
	if n == 0 || width == 0 || width != len(value) {
		return dst, FlawUnreadable, fmt.Errorf("cell %X: a value of %d bytes %X does not fit the flags", qualifier, len(value), Clip(value))
	}
	p.Bits = bits
	return append(dst, p), flaws, nil
}

// trailerFlaws looks at what a cell of several points has after the last one.
func trailerFlaws(points []Point, qualifier, value []byte) Flaws {
	size, qualifiers, mixed := 0, 0, byte(TrailerPlain)
	for _, p := range points {
		size += p.Width()
		if qualifiers += 2; p.Millis {
			qualifiers += 2
		}
		if p.Millis != points[0].Millis {
			mixed = TrailerMixed
		}
	}
	if size+1 != len(value) || qualifiers != len(qualifier) || value[size] != mixed {
		return FlawTrailer
	}
	return 0
}

func orderFlaws(points []Point) (flaws Flaws) {
	for i := 1; i < len(points); i++ {
		switch a, b := points[i-1].Offset, points[i].Offset; {
		case a == b:
			flaws |= FlawTwice
		case a > b:
			flaws |= FlawOrder
		}
	}
	return flaws
}

func pointFlaws(points []Point) (flaws Flaws) {
	for _, p := range points {
		if p.Offset >= RowMillis {
			flaws |= FlawOutside
		}
		if p.Shortest() != p {
			flaws |= FlawLongInteger
		}
	}
	return flaws
}

// reservedFlaws looks at the qualifiers of points that can be read.
func reservedFlaws(qualifiers []byte) Flaws {
	for len(qualifiers) > 0 {
		p, n := CutQualifier(qualifiers)
		if n == 4 && qualifiers[3] != byte(p.Offset<<MsShift)|p.Flags {
			return FlawReserved
		}
		if n == 0 {
			break
		}
		qualifiers = qualifiers[n:]
	}
	return 0
}

// Shortest returns the point with an integer of 8 bytes in as few bytes as hold it.
func (p Point) Shortest() Point {
	if p.Flags == 7 {
		s := IntPoint(p.Offset, p.Int())
		p.Bits, p.Flags = s.Bits, s.Flags
	}
	return p
}

// CheckAppend is DecodeAppend for a check: the points are all that the cell has, in the order of
// their arrival. err tells why it is FlawUnreadable.
func CheckAppend(dst []Point, value []byte) (points []Point, flaws Flaws, err error) {
	if _, err := DecodeAppend(nil, value); err != nil {
		return dst, FlawUnreadable, err
	}
	start := len(dst)
	for rest := value; len(rest) > 0; {
		p, n := CutQualifier(rest)
		bits, width := CutValue(p.Flags, rest[n:])
		p.Bits = bits
		dst = append(dst, p)
		flaws |= reservedFlaws(rest[:n])
		rest = rest[n+width:]
	}
	return dst, flaws | orderFlaws(dst[start:]) | pointFlaws(dst[start:]), nil
}

// TidyAppend returns the value of an append cell with each instant once, in order: that of its last
// arrival. The flags and the bytes of the values stay.
func TidyAppend(value []byte) ([]byte, error) {
	points, err := DecodeAppend(nil, value)
	if err != nil {
		return nil, err
	}
	return AppendArrivals(make([]byte, 0, len(value)), points), nil
}

// CheckRowKey tells what is wrong with a key of the data table. The parts are those of ParseRowKey;
// they are there unless the key has FlawKeyLength.
func (l Layout) CheckRowKey(key []byte) (RowKey, Flaws) {
	k, err := l.ParseRowKey(key)
	if err != nil {
		return RowKey{}, FlawKeyLength
	}
	flaws := Flaws(0)
	if k.Base%RowSeconds != 0 {
		flaws |= FlawBaseTime
	}
	tsuid := k.AppendTSUID(nil)
	if k.IsGlobal() {
		if !isZero(key[:l.SaltWidth]) {
			flaws |= FlawSalt
		}
		return k, flaws
	}
	if len(k.Tags) == 0 {
		flaws |= FlawNoTags
	} else if l.CheckSeries(tsuid) != nil {
		flaws |= FlawZeroUID
	}
	var before []byte
	for tagk := range l.Pairs(k.Tags) {
		if before != nil && string(before) >= string(tagk) {
			flaws |= FlawTagOrder
		}
		before = tagk
	}
	if salt := l.AppendSalt(nil, l.Bucket(tsuid)); string(salt) != string(key[:l.SaltWidth]) {
		flaws |= FlawSalt
	}
	return k, flaws
}

// IsGlobal reports whether the row is of global annotations.
func (k RowKey) IsGlobal() bool { return len(k.Tags) == 0 && isZero(k.Metric) }

// IsSingle reports whether the qualifier of a data cell is of one point.
func IsSingle(qualifier []byte) bool {
	return len(qualifier) == 2 || len(qualifier) == 4 && IsMillis(qualifier[0])
}

// ShortFloat returns the value of a point that has FlawFloatLength as it should be.
func ShortFloat(value []byte) []byte { return value[len(value)-4:] }
