package opentsdb

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"github.com/tsdbridge/tsdbridge/storage"
)

// putPoint is one element of a body of /api/put: IncomingDataPoint of OpenTSDB 2.4.
type putPoint struct {
	metric, value scalar
	timestamp     int64
	tags          []byte // the object as it was sent; nil: none, or null
	ref           storage.Ref
	from, to      int // in the body
	null          bool
}

// A badPoint is a point that was refused: where it is in the body, and why.
type badPoint struct {
	from, to int
	err      error
}

// The texts of PutDataPointRpc for points that it does not hand to the store.
const (
	errNullPoint = argumentError("Unexpected null datapoint encountered in set.")
	errNoMetric  = argumentError("Metric name was empty")
	errTimestamp = argumentError("Invalid timestamp")
	errNoValue   = argumentError("Empty value")
	errNoTags    = argumentError("Missing tags")
	errNoNumber  = argumentError("Unable to parse value to a number")
)

// missing returns why a point is refused whose members are not all there. The order of the checks is that
// of a TSD.
func (q *putPoint) missing(wantsValue bool) error {
	switch {
	case q.null:
		return errNullPoint
	case len(q.metric.raw) == 0:
		return errNoMetric
	case q.timestamp <= 0:
		return errTimestamp
	case wantsValue && len(q.value.raw) == 0:
		return errNoValue
	case len(q.tags) == 0:
		return errNoTags
	}
	return nil
}

// series returns the series of a point, unless something is wrong with its names, its value or its
// timestamp.
func (q *putPoint) series(value number, rules nameRules) (storage.Series, error) {
	metric, err := q.metric.text()
	if err != nil {
		return storage.Series{}, err
	}
	tags, err := readTags(q.tags)
	if err != nil {
		return storage.Series{}, err
	}
	if len(tags) == 0 {
		return storage.Series{}, errNoTags
	}
	s := sent{metric: strings.ToValidUTF8(string(metric), "\uFFFD"), timestamp: q.timestamp, value: value, tags: tags, double: true}
	if err := s.refuse(rules); err != nil {
		return storage.Series{}, err
	}
	return series(s.metric, s.tags), nil
}

// readTags reads an object of tags that was walked over before. Of two tags with one key the last
// one counts.
func readTags(b []byte) ([]storage.Tag, error) {
	s := scanner{b: b}
	var tags []storage.Tag
	err := s.object(func(name scalar) error {
		value, err := s.scalar()
		if err != nil {
			return err
		}
		key, err := name.text()
		if err != nil {
			return err
		}
		text, err := value.text()
		if err != nil {
			return err
		}
		if value.kind == kindNull {
			return argumentError("Invalid tag value with key [" + string(key) + "]: null")
		}
		tag := storage.Tag{Key: strings.ToValidUTF8(string(key), "\uFFFD"), Value: strings.ToValidUTF8(string(text), "\uFFFD")}
		if n := tagIndex(tags, tag.Key); n >= 0 {
			tags[n] = tag
			return nil
		}
		tags = append(tags, tag)
		return nil
	})
	return tags, err
}

func parseScalar(s scalar) (number, error) {
	text, err := s.text()
	if err != nil {
		return number{}, err
	}
	return parseNumber(text)
}

// longOf returns a scalar as Jackson reads it into a long.
func longOf(s scalar) (int64, bool) {
	text, err := s.text()
	if err != nil {
		return 0, false
	}
	word := string(text)
	switch s.kind {
	case kindNull:
		return 0, true
	case kindWord:
		return 0, false
	case kindString:
		if word = strings.TrimSpace(word); word == "" {
			return 0, true
		}
	case kindNumber:
		if bytes.ContainsAny(text, ".eE") {
			f, err := strconv.ParseFloat(word, 64)
			return int64(f), err == nil && math.Abs(f) < 1<<63
		}
	}
	v, err := strconv.ParseInt(word, 10, 64)
	return v, err == nil
}
