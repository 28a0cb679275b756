// Package carbon receives points in carbon's plaintext protocol, lines of "name value timestamp"
// over TCP and UDP, by the rules of Graphite's own carbon 1.1.10 (which are Python's), and hands
// them to a Sink. It never knows how names or points are stored, and never sends a byte back: the
// protocol has no replies.
package carbon

import (
	"math"
	"unicode"
	"unicode/utf8"
)

// A Point is one value of one series.
type Point struct {
	Name  []byte // as it was sent; never empty, valid UTF-8, of a line without white space
	Time  int64  // seconds since the epoch, 0 to MaxTime
	Value float64
}

// MaxTime is the last second that OpenTSDB's row keys can represent. Carbon accepts later and
// negative ones, and never returns them.
const MaxTime = math.MaxUint32

// A Reason is why a line, or an item of a frame, is not a point.
type Reason uint8

// The reasons. The zero Reason means that the line is a point.
const (
	ReasonFields       Reason = iota + 1 // not three fields
	ReasonValue                          // the value is not a number
	ReasonNaN                            // the value is NaN, which carbon drops silently
	ReasonTimestamp                      // the timestamp is not a number
	ReasonTimestampNaN                   // the timestamp is NaN
	ReasonTimestampInf                   // the timestamp is infinite
	ReasonTimeRange                      // the timestamp is not between 0 and MaxTime
	ReasonUTF8                           // the line is not UTF-8
	ReasonTooLong                        // the line has more than MaxLine bytes, the frame more than are read
	ReasonUnfinished                     // the connection ended within the line or the frame
	ReasonFrame                          // the frame is not what the protocol has
	ReasonNoList                         // the frame is no list
	ReasonShape                          // the item is not (name, (time, value)), or has an empty name
	ReasonName                           // the name is no text
	ReasonHTTP                           // the line is one of the head of an HTTP request
	ReasonTLS                            // the connection begins with a handshake of TLS
	reasons
)

// String returns the reason as a metric's label.
func (r Reason) String() string {
	return [reasons]string{
		"none", "fields", "value", "nan", "timestamp", "timestamp_nan", "timestamp_inf", "time_range", "utf8", "too_long", "unfinished",
		"frame", "no_list", "shape", "name", "http", "tls",
	}[r]
}

// closes reports whether carbon closes the TCP connection on such a line or item: its Python raises an
// exception that it does not catch.
func (r Reason) closes() bool {
	switch r {
	case ReasonTimestampNaN, ReasonTimestampInf, ReasonUTF8, ReasonTooLong, ReasonNoList, ReasonName:
		return true
	default:
		return false
	}
}

// foreign reports whether the line is one of another protocol, which ends the connection with any
// options: what follows is not meant for carbon. A page of the web may have sent it.
func (r Reason) foreign() bool { return r == ReasonHTTP || r == ReasonTLS }

// ParseLine reads one line, without its newline. now, in seconds since the epoch, takes the place
// of the timestamp -1. The point's name is a part of line.
func ParseLine(line []byte, now int64) (Point, Reason) {
	var f fields
	n, ok := f.ascii(line)
	if !ok {
		if !utf8.Valid(line) {
			return Point{}, ReasonUTF8
		}
		n = f.unicode(line)
	}
	if n != len(f) {
		return Point{}, ReasonFields
	}
	value, ok := parseFloat(f[1])
	if !ok {
		return Point{}, ReasonValue
	}
	time, reason := parseTime(f[2], now)
	switch {
	case reason == ReasonTimestamp:
		return Point{}, reason
	case math.IsNaN(value): // carbon looks at the value before it rounds the timestamp
		return Point{}, ReasonNaN
	case reason != 0:
		return Point{}, reason
	}
	return Point{Name: f[0], Time: time, Value: value}, 0
}

// fields are the parts of a line between white space.
type fields [3][]byte

// The classes of bytes.
const (
	isText = iota
	isSpace
	isForeign // not ASCII
)

// byteClass has the ASCII white space of Python's str.split: the usual ones, and the separators 1C
// to 1F.
var byteClass = func() (class [256]uint8) {
	for _, c := range "\t\n\v\f\r\x1c\x1d\x1e\x1f " {
		class[c] = isSpace
	}
	for c := utf8.RuneSelf; c < len(class); c++ {
		class[c] = isForeign
	}
	return class
}()

// ascii splits a line of ASCII and returns how many fields it has; false if it is not ASCII.
func (f *fields) ascii(line []byte) (n int, ok bool) {
	for i := 0; i < len(line); {
		if byteClass[line[i]] == isSpace {
			i++
			continue
		}
		start := i
		// Nearly all bytes are between ! and DEL.
		for i < len(line) && (line[i]-'!' <= 0x7f-'!' || byteClass[line[i]] == isText) {
			i++
		}
		if i < len(line) && byteClass[line[i]] == isForeign {
			return 0, false
		}
		if n < len(f) {
			f[n] = line[start:i]
		}
		n++
	}
	return n, true
}

// unicode splits any line.
func (f *fields) unicode(line []byte) (n int) {
	for i := 0; i < len(line); {
		start := i
		for i < len(line) {
			r, size := utf8.DecodeRune(line[i:])
			if IsSpace(r) {
				break
			}
			i += size
		}
		if start == i {
			_, size := utf8.DecodeRune(line[i:])
			i += size
			continue
		}
		if n < len(f) {
			f[n] = line[start:i]
		}
		n++
	}
	return n
}

// IsSpace is Python's str.isspace.
func IsSpace(r rune) bool {
	return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f
}

// parseTime reads a timestamp: a float, of which carbon drops the fraction, and -1 for now.
func parseTime(b []byte, now int64) (int64, Reason) {
	if t, ok := parseDigits(b); ok {
		return t, 0
	}
	t, ok := parseFloat(b)
	if !ok {
		return 0, ReasonTimestamp
	}
	return wholeTime(t, now)
}

// wholeTime returns the second of a timestamp.
func wholeTime(t float64, now int64) (int64, Reason) {
	t = math.Trunc(t)
	switch {
	case math.IsNaN(t):
		return 0, ReasonTimestampNaN
	case math.IsInf(t, 0):
		return 0, ReasonTimestampInf
	case t == -1:
		return now, 0
	case t < 0 || t > MaxTime:
		return 0, ReasonTimeRange
	}
	return int64(t), 0
}

// parseDigits reads the usual timestamp: up to ten digits.
func parseDigits(b []byte) (t int64, ok bool) {
	if len(b) == 0 || len(b) > 10 {
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		t = t*10 + int64(c-'0')
	}
	return t, t <= MaxTime
}
