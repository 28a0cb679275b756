package put

import (
	"strings"

	"github.com/tsdbridge/tsdbridge/opentsdb/jackson"
	"github.com/tsdbridge/tsdbridge/opentsdb/putline"
	"github.com/tsdbridge/tsdbridge/storage"
)

// element is one element of a body of /api/put: IncomingDataPoint of OpenTSDB 2.4.
type element struct {
	metric, value jackson.Scalar
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
	errNullPoint = putline.ArgumentError("Unexpected null datapoint encountered in set.")
	errNoMetric  = putline.ArgumentError("Metric name was empty")
	errTimestamp = putline.ArgumentError("Invalid timestamp")
	errNoValue   = putline.ArgumentError("Empty value")
	errNoTags    = putline.ArgumentError("Missing tags")
	errNoNumber  = putline.ArgumentError("Unable to parse value to a number")
)

// missing returns why a point is refused whose members are not all there. The order of the checks is that
// of a TSD.
func (q *element) missing(wantsValue bool) error {
	switch {
	case q.null:
		return errNullPoint
	case len(q.metric.Raw) == 0:
		return errNoMetric
	case q.timestamp <= 0:
		return errTimestamp
	case wantsValue && len(q.value.Raw) == 0:
		return errNoValue
	case len(q.tags) == 0:
		return errNoTags
	}
	return nil
}

// series returns the series of a point, unless something is wrong with its names, its value or its
// timestamp.
func (q *element) series(value putline.Number, rules putline.NameRules) (storage.Series, error) {
	metric, err := q.metric.Text()
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
	s := putline.Sent{Metric: strings.ToValidUTF8(string(metric), "\uFFFD"), Timestamp: q.timestamp, Value: value, Tags: tags, Double: true}
	if err := s.Refuse(rules); err != nil {
		return storage.Series{}, err
	}
	return putline.Series(s.Metric, s.Tags), nil
}

// readTags reads an object of tags that was walked over before. Of two tags with one key the last
// one counts.
func readTags(b []byte) ([]storage.Tag, error) {
	s := jackson.Scanner{B: b}
	var tags []storage.Tag
	err := s.Object(func(name jackson.Scalar) error {
		value, err := s.Scalar()
		if err != nil {
			return err
		}
		key, err := name.Text()
		if err != nil {
			return err
		}
		text, err := value.Text()
		if err != nil {
			return err
		}
		if value.Kind == jackson.Null {
			return putline.ArgumentError("Invalid tag value with key [" + string(key) + "]: null")
		}
		tag := storage.Tag{Key: strings.ToValidUTF8(string(key), "\uFFFD"), Value: strings.ToValidUTF8(string(text), "\uFFFD")}
		if n := putline.TagIndex(tags, tag.Key); n >= 0 {
			tags[n] = tag
			return nil
		}
		tags = append(tags, tag)
		return nil
	})
	return tags, err
}

func parseScalar(s jackson.Scalar) (putline.Number, error) {
	text, err := s.Text()
	if err != nil {
		return putline.Number{}, err
	}
	return putline.ParseNumber(text)
}
