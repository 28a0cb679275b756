package put

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/tsdbridge/tsdbridge/opentsdb/java"
	"github.com/tsdbridge/tsdbridge/storage"
)

// A Point is one value of a series that is known from elsewhere.
type Point struct {
	Number
	Stamp
}

// A Stamp is a time and how it came: a TSD stores a whole second that came in milliseconds in
// another way.
type Stamp struct {
	Time   int64 // milliseconds
	millis bool  // it came so
}

// lastMillisecond is the greatest timestamp that a TSD takes. Those above storage.MaxTime it stores
// under the time of another: base times have 32 bits. We refuse them with the same words.
const lastMillisecond = min(9999999999999, storage.MaxTime)

// stampOf returns the time of a timestamp: what has more than 32 bits is in milliseconds (OpenTSDB
// Const.SECOND_MASK).
func stampOf(timestamp int64) (s Stamp, ok bool) {
	if timestamp>>32 == 0 {
		return Stamp{Time: timestamp * 1000}, true
	}
	return Stamp{timestamp, true}, timestamp > 0 && timestamp <= lastMillisecond
}

// MillisSuffix ends a timestamp of an import that is in milliseconds whatever its length is. A TSD does
// not take it, and has no other way to write an instant of the first weeks of 1970 that is no whole second.
const MillisSuffix = "ms"

// ParseMillis reads digits with millisSuffix. Whole seconds are as if they came in seconds.
func ParseMillis(word string) (at Stamp, ok bool) {
	digits, ok := strings.CutSuffix(word, MillisSuffix)
	if !ok || strings.Trim(digits, "0123456789") != "" {
		return at, false
	}
	t, err := strconv.ParseInt(digits, 10, 64)
	return Stamp{Time: t}, err == nil && t <= storage.MaxTime
}

// A sent point is a point as its client wrote it, before its names are checked. Error texts are
// those of Java.
type sent struct {
	metric    string
	timestamp int64
	value     Number
	tags      []storage.Tag // in the order in which they were sent, each key once
	double    bool          // floats take 8 bytes, as those of HTTP do in OpenTSDB 2.4
}

// refuse is TSDB.addPoint of OpenTSDB 2.4 as far as it throws: the order of its checks is that of
// the answers.
func (s *sent) refuse(rules NameRules) error {
	if !s.value.finite() {
		return argumentError(fmt.Sprintf("value is NaN or Infinite: %s for metric=%s timestamp=%d",
			java.AppendFloat(nil, math.Float64frombits(s.value.Bits), 64), s.metric, s.timestamp))
	}
	if _, ok := stampOf(s.timestamp); !ok {
		return argumentError(fmt.Sprintf("bad timestamp=%d when trying to add value=%s to metric=%s, tags=%s",
			s.timestamp, s.valueText(), s.metric, TagsText(s.tags)))
	}
	return CheckNames(s.metric, s.tags, rules)
}

// valueText returns the cell that a TSD would have written: its bytes, signed, and its flags.
func (s *sent) valueText() string {
	bits, size, flags := s.value.Bits, 8, 15
	switch v := int64(bits); {
	case s.value.Integer:
		size = integerSize(v)
		flags = size - 1
	case !s.double:
		if f := math.Float64frombits(bits); float64(float32(f)) == f {
			bits, size, flags = uint64(math.Float32bits(float32(f))), 4, 11
		}
	}
	var b strings.Builder
	for i := size - 1; i >= 0; i-- {
		if i < size-1 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Itoa(int(int8(bits >> (8 * i)))))
	}
	return "[" + b.String() + "]/" + strconv.Itoa(flags)
}

// integerSize returns the number of bytes of an integer's cell.
func integerSize(v int64) int {
	switch {
	case v == int64(int8(v)):
		return 1
	case v == int64(int16(v)):
		return 2
	case v == int64(int32(v)):
		return 4
	}
	return 8
}

// AddPoint appends a point. floats is the form of its float. That a point came in milliseconds
// matters only for a whole second.
func AddPoint(b *storage.Batch, ref storage.Ref, p Point, floats storage.Form) {
	if p.Integer {
		floats = storage.FormInteger
	}
	if p.millis && p.Time%1000 == 0 {
		floats |= storage.FormMillis
	}
	b.AddForm(ref, p.Time, math.Float64frombits(p.Bits), floats)
}
