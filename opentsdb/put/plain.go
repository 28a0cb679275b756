package put

import (
	"bytes"

	"github.com/tsdbridge/tsdbridge/internal/decimal"
	"github.com/tsdbridge/tsdbridge/opentsdb/putline"
)

// The members of a point that plain has met.
const (
	hasMetric = 1 << iota
	hasTimestamp
	hasValue
	hasTags
	hasAll = 1<<iota - 1
)

// plain reads the next element if it is a point of the usual form: the four members in any order,
// with at most a blank after each colon and comma, the timestamp digits, the value a number of a
// few digits, the series one of the cache. When it returns false, it has read nothing, and element
// finds out what there is.
//
// A series of the cache is known by the bytes of its metric and its tags: they were parsed when the
// series was first met, so they are not parsed again. No name of a series has a quote or a brace in
// it.
func (p *walker) plain() bool {
	b, i, has := p.B, p.I, 0
	var metric, tags []byte
	var value putline.Point
	for end := byte('{'); i < len(b) && b[i] == end; end = ',' {
		i++
		if end == ',' {
			i = skipBlank(b, i)
		}
		member, length := memberName(b[i:])
		i = skipBlank(b, i+length)
		if has&member != 0 || i >= len(b) {
			return false // of two the last counts
		}
		has |= member
		switch member {
		case hasMetric:
			if b[i] != '"' {
				return false
			}
			length = bytes.IndexByte(b[i+1:], '"')
			if length <= 0 {
				return false
			}
			metric = b[i+1 : i+1+length]
			length += 2
		case hasTimestamp:
			value.Stamp, length = plainTime(b[i:])
		case hasValue:
			value.Number, length = plainValue(b[i:])
		case hasTags:
			if b[i] != '{' {
				return false
			}
			length = bytes.IndexByte(b[i:], '}') + 1
			tags = b[i : i+length]
		default:
			return false
		}
		if length == 0 {
			return false
		}
		i += length
	}
	if has != hasAll || i >= len(b) || b[i] != '}' {
		return false
	}
	p.key = append(append(p.key[:0], metric...), tags...)
	ref := p.job.Find(p.key)
	if ref == 0 || value.Time > p.job.Latest {
		return false
	}
	p.job.add(ref, value)
	p.I = i + 1
	return true
}

func skipBlank(b []byte, i int) int {
	if i < len(b) && b[i] == ' ' {
		return i + 1
	}
	return i
}

// memberName reads one of the four names with its colon. It is 0 for anything else.
func memberName(b []byte) (member, length int) {
	const metric, timestamp, value, tags = `"metric":`, `"timestamp":`, `"value":`, `"tags":`
	if len(b) < len(timestamp) {
		return 0, 0
	}
	switch {
	case string(b[:len(metric)]) == metric:
		return hasMetric, len(metric)
	case string(b[:len(timestamp)]) == timestamp:
		return hasTimestamp, len(timestamp)
	case string(b[:len(value)]) == value:
		return hasValue, len(value)
	case string(b[:len(tags)]) == tags:
		return hasTags, len(tags)
	}
	return 0, 0
}

// plainTime reads a timestamp that the store takes.
func plainTime(b []byte) (at putline.Stamp, length int) {
	timestamp, length := decimal.ScanDigits(b)
	at, ok := putline.StampOf(timestamp)
	if !ok || length == 0 || length > putline.TimestampDigits || b[0] == '0' { // JSON has no leading zeros
		return putline.Stamp{}, 0
	}
	return at, length
}

// plainValue reads a number of JSON: without a plus, without leading zeros, with digits on both
// sides of the point.
func plainValue(b []byte) (n putline.Number, length int) {
	n, length, ok := putline.ScanNumber(b)
	if !ok {
		return putline.Number{}, 0
	}
	text := b[:length]
	digits := bytes.TrimPrefix(text, minus)
	if !putline.IsDigit(digits[0]) || len(digits) > 1 && digits[0] == '0' && putline.IsDigit(digits[1]) {
		return putline.Number{}, 0
	}
	if n.Integer {
		return n, length
	}
	if point := bytes.IndexByte(digits, '.'); point >= 0 && (point+1 == len(digits) || !putline.IsDigit(digits[point+1])) {
		return putline.Number{}, 0
	}
	return n, length
}

var minus = []byte{'-'}
