package putline

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
	Millis bool  // it came so
}

// lastMillisecond is the greatest timestamp that a TSD takes. Those above storage.MaxTime it stores
// under the time of another: base times have 32 bits. We refuse them with the same words.
const lastMillisecond = min(9999999999999, storage.MaxTime)

// StampOf returns the time of a timestamp: what has more than 32 bits is in milliseconds (OpenTSDB
// Const.SECOND_MASK).
func StampOf(timestamp int64) (s Stamp, ok bool) {
	if timestamp>>32 == 0 {
		return Stamp{Time: timestamp * 1000}, true
	}
	return Stamp{timestamp, true}, timestamp > 0 && timestamp <= lastMillisecond
}

// MillisSuffix ends a timestamp of an import that is in milliseconds whatever its length is. A TSD does
// not take it, and has no other way to write an instant of the first weeks of 1970 that is no whole second.
const MillisSuffix = "ms"

// ParseMillis reads digits with MillisSuffix. Whole seconds are as if they came in seconds.
func ParseMillis(word string) (at Stamp, ok bool) {
	digits, ok := strings.CutSuffix(word, MillisSuffix)
	if !ok || strings.Trim(digits, "0123456789") != "" {
		return at, false
	}
	t, err := strconv.ParseInt(digits, 10, 64)
	return Stamp{Time: t}, err == nil && t <= storage.MaxTime
}

// A Sent point is a point as its client wrote it, before its names are checked. Error texts are
// those of Java.
type Sent struct {
	Metric    string
	Timestamp int64
	Value     Number
	Tags      []storage.Tag // in the order in which they were sent, each key once
	Double    bool          // floats take 8 bytes, as those of HTTP do in OpenTSDB 2.4
}

// Refuse is TSDB.addPoint of OpenTSDB 2.4 as far as it throws: the order of its checks is that of
// the answers.
func (s *Sent) Refuse(rules NameRules) error {
	if !s.Value.Finite() {
		return ArgumentError(fmt.Sprintf("value is NaN or Infinite: %s for metric=%s timestamp=%d",
			java.AppendFloat(nil, math.Float64frombits(s.Value.Bits), 64), s.Metric, s.Timestamp))
	}
	if _, ok := StampOf(s.Timestamp); !ok {
		return ArgumentError(fmt.Sprintf("bad timestamp=%d when trying to add value=%s to metric=%s, tags=%s",
			s.Timestamp, s.ValueText(), s.Metric, TagsText(s.Tags)))
	}
	return CheckNames(s.Metric, s.Tags, rules)
}

// ValueText returns the cell that a TSD would have written: its bytes, signed, and its flags.
func (s *Sent) ValueText() string {
	bits, size, flags := s.Value.Bits, 8, 15
	switch v := int64(bits); {
	case s.Value.Integer:
		size = integerSize(v)
		flags = size - 1
	case !s.Double:
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
	if p.Millis && p.Time%1000 == 0 {
		floats |= storage.FormMillis
	}
	b.AddForm(ref, p.Time, math.Float64frombits(p.Bits), floats)
}
