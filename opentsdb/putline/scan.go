package putline

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/tsdbridge/tsdbridge/internal/decimal"
	"github.com/tsdbridge/tsdbridge/storage"
)

// PutWord begins a line of telnet with a point: "put <metric> <timestamp> <value> <tagk=tagv> ...".
const PutWord = "put "

// ScanPoint reads a line whose metric begins at from, with a valid timestamp and value. key names the
// series: the metric and the tags as they were sent, with a blank between. To join them, ScanPoint
// overwrites the line. It does not check the names. It returns false, and leaves the line unchanged, when
// the line needs a closer look.
func ScanPoint(line []byte, from int) (key []byte, p Point, ok bool) {
	metricEnd := from + bytes.IndexByte(line[from:], ' ')
	if metricEnd <= from {
		return nil, Point{}, false
	}
	timestamp, i := scanTimestamp(line, metricEnd+1)
	if i >= len(line) || line[i] != ' ' {
		return nil, Point{}, false
	}
	valueEnd := bytes.IndexByte(line[i+1:], ' ')
	if valueEnd < 0 {
		return nil, Point{}, false
	}
	valueEnd += i + 1
	value, ok := ParseShort(line[i+1 : valueEnd])
	if !ok {
		var err error
		if value, err = ParseNumber(line[i+1 : valueEnd]); err != nil || !value.Finite() {
			return nil, Point{}, false
		}
	}
	at, ok := StampOf(timestamp)
	if !ok || timestamp == 0 {
		return nil, Point{}, false
	}
	start := valueEnd - (metricEnd - from)
	copy(line[start:valueEnd], line[from:metricEnd])
	return line[start:], Point{value, at}, true
}

// PlainPoint is ScanPoint for the line that b begins with, whose metric begins at from, if it has the usual
// form: one blank between the fields, a timestamp of digits, a value of a few digits. n is its length with
// its end. n is 0, and nothing is overwritten, when the line needs a closer look, has more than longest
// bytes, or its end has not arrived yet.
func PlainPoint(b []byte, from, longest int) (key []byte, p Point, n int) {
	metric := bytes.IndexByte(b[from:], ' ')
	if metric <= 0 || bytes.IndexByte(b[from:from+metric], '\n') >= 0 {
		return nil, Point{}, 0
	}
	i := from + metric + 1
	timestamp, digits := decimal.ScanDigits(b[i:])
	at, ok := StampOf(timestamp)
	if i += digits; !ok || timestamp == 0 || digits > TimestampDigits || i >= len(b) || b[i] != ' ' {
		return nil, Point{}, 0
	}
	value, length, ok := ScanNumber(b[i+1:])
	if i += 1 + length; !ok || i >= len(b) || b[i] != ' ' {
		return nil, Point{}, 0
	}
	end := bytes.IndexByte(b[i:], '\n')
	if end < 0 {
		return nil, Point{}, 0
	}
	end += i
	n = end + 1
	if b[end-1] == '\r' {
		end--
	}
	if end > longest {
		return nil, Point{}, 0
	}
	start := i - metric
	copy(b[start:i], b[from:from+metric])
	return b[start:end], Point{value, at}, n
}

// TimestampDigits is the length of the greatest timestamp.
const TimestampDigits = 13

// scanTimestamp reads the digits from i on, leaving out points: 1356998400.500 is a timestamp in
// milliseconds. It returns where they end, and 0 if there are none, or too many.
func scanTimestamp(line []byte, i int) (timestamp int64, end int) {
	start, points := i, 0
	for ; i < len(line); i++ {
		switch c := line[i] - '0'; {
		case c <= 9:
			timestamp = timestamp*10 + int64(c)
		case line[i] == '.':
			points++
		default:
			if i-start-points > TimestampDigits {
				return 0, i
			}
			return timestamp, i
		}
	}
	return 0, i
}

// TextSeries reads a metric and its tags from the text of a series.
func TextSeries(key string, rules NameRules) (storage.Series, error) {
	words := strings.Split(key, " ")
	tags, err := ParseTags(words[1:])
	if err != nil {
		return storage.Series{}, err
	}
	if err := CheckNames(words[0], tags, rules); err != nil {
		return storage.Series{}, err
	}
	return Series(words[0], tags), nil
}

// ExplainWords is PutDataPointRpc.importDataPoint of OpenTSDB 2.4 for the words of a line from the metric on
// that ScanPoint did not take: it returns what is wrong with it. A line with an odd spelling only is a
// point of the series s.
func ExplainWords(words []string, rules NameRules) (s storage.Series, p Point, err error) {
	if len(words) < 4 {
		return s, p, ArgumentError(fmt.Sprintf("not enough arguments (need least 4, got %d)", len(words)))
	}
	if words[0] == "" {
		return s, p, ArgumentError("empty metric name")
	}
	point := Sent{Metric: words[0]}
	point.Timestamp, err = ParseLong(strings.ReplaceAll(words[1], ".", ""))
	switch {
	case err != nil:
		return s, p, err
	case point.Timestamp <= 0:
		return s, p, ArgumentError(fmt.Sprintf("invalid timestamp: %d", point.Timestamp))
	case words[2] == "":
		return s, p, ArgumentError("empty value")
	}
	if point.Tags, err = ParseTags(words[3:]); err != nil {
		return s, p, err
	}
	if point.Value, err = ParseNumber(Latin1Bytes(words[2])); err != nil {
		return s, p, err
	}
	if err := point.Refuse(rules); err != nil {
		return s, p, err
	}
	p.Number = point.Value
	p.Stamp, _ = StampOf(point.Timestamp)
	return Series(point.Metric, point.Tags), p, nil
}

// ParseTags is OpenTSDB's Tags.parse for each word; empty words are skipped.
func ParseTags(words []string) ([]storage.Tag, error) {
	tags := make([]storage.Tag, 0, len(words))
	for _, word := range words {
		if word == "" {
			continue
		}
		key, value, ok := strings.Cut(word, "=")
		if !ok || key == "" || value == "" || strings.Contains(value, "=") {
			return nil, ArgumentError("invalid tag: " + word)
		}
		n := TagIndex(tags, key)
		switch {
		case n < 0:
			tags = append(tags, storage.Tag{Key: key, Value: value})
		case tags[n].Value != value:
			return nil, ArgumentError("duplicate tag: " + word + ", tags=" + TagsText(tags))
		}
	}
	return tags, nil
}

// TagIndex returns where a tag key is; below 0: nowhere.
func TagIndex(tags []storage.Tag, key string) int {
	for i := range tags {
		if tags[i].Key == key {
			return i
		}
	}
	return -1
}

// Latin1Bytes is the inverse of Latin1. Other characters become "?", as in Java.
func Latin1Bytes(s string) []byte {
	b := make([]byte, 0, len(s))
	for _, c := range s {
		if c > 0xff {
			c = '?'
		}
		b = append(b, byte(c))
	}
	return b
}
