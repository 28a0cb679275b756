package put

import (
	"fmt"
	"math"
	"strings"

	"github.com/tsdbridge/tsdbridge/opentsdb/jackson"
	"github.com/tsdbridge/tsdbridge/opentsdb/putline"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// maxHistograms is how many histograms a request may have: each takes more memory than a point.
const maxHistograms = 50_000

// sentHistogram is the part of an element of a body of /api/histogram that a point does not have: HistogramPojo of
// OpenTSDB 2.4.
type sentHistogram struct {
	id         int64
	histogram  schema.SimpleHistogram
	hasBuckets bool
	err        error // of the bounds of a bucket
}

// The names of the members of a histogram.
const (
	memberID        = "id"
	memberBuckets   = "buckets"
	memberUnderflow = "underflow"
	memberOverflow  = "overflow"
)

// The texts of HistogramPojo.validate.
const (
	errNoBuckets = putline.ArgumentError("Histogram buckets cannot be null or empty if 'value' is empty.")
	errCodecID   = putline.ArgumentError("Invalid type. Must be from 0 to 255.")
)

// beginHistogram forgets the element before.
func (p *walker) beginHistogram() {
	p.histogram = sentHistogram{histogram: schema.SimpleHistogram{Buckets: p.histogram.histogram.Buckets[:0]}}
}

// histogramMember reads the value of a member that a point does not have.
func (p *walker) histogramMember(name string) (err error) {
	h := &p.histogram
	switch name {
	case memberID:
		if h.id, err = p.count(name); err == nil && (h.id < math.MinInt32 || h.id > math.MaxInt32) {
			err = fmt.Errorf("byte %d: id is no integer of 32 bits", p.I)
		}
	case memberBuckets:
		err = p.buckets()
	case memberUnderflow:
		h.histogram.Underflow, err = p.count(name)
	case memberOverflow:
		h.histogram.Overflow, err = p.count(name)
	default:
		err = p.Skip(0)
	}
	return err
}

// count reads a number as Jackson does into a long; null is 0.
func (p *walker) count(name string) (int64, error) {
	p.Space()
	at := p.I + 1
	s, err := p.Scalar()
	if err != nil {
		return 0, err
	}
	v, ok := s.Long()
	if !ok {
		return 0, fmt.Errorf("byte %d: %.40s is no integer of 64 bits", at, name)
	}
	return v, nil
}

// buckets reads the buckets. What is wrong with their bounds is said when the histogram is taken.
func (p *walker) buckets() error {
	h := &p.histogram
	h.hasBuckets, h.err, h.histogram.Buckets = false, nil, h.histogram.Buckets[:0]
	if c, start := p.Space(), p.I; c != '{' {
		s, err := p.Scalar()
		if err == nil && s.Kind != jackson.Null {
			err = fmt.Errorf("byte %d: buckets are no object", start+1)
		}
		return err
	}
	return p.Object(func(name jackson.Scalar) error {
		bounds, err := name.Text()
		if err != nil {
			return err
		}
		count, err := p.count("the count of a bucket")
		if err != nil {
			return err
		}
		h.hasBuckets = true
		if h.err != nil {
			return nil
		}
		lower, upper, err := parseBounds(string(bounds), func() error { return putline.ArgumentError("Unable to parse bucket bounds: " + string(bounds)) })
		if err != nil {
			if _, number := err.(putline.NumberError); number { //nolint:errorlint // it is not wrapped
				err = errNoNumber
			}
			h.err = err
			return nil
		}
		h.histogram.Buckets = append(h.histogram.Buckets, schema.HistogramBucket{Lower: lower, Upper: upper, Count: count})
		return nil
	})
}

// takeHistogram adds the histogram to those of the request, or returns why it is not one. The order of the checks is
// that of a TSD.
func (p *walker) takeHistogram() error {
	sent, h := &p.point, &p.histogram
	if err := sent.missing(false); err != nil {
		return err
	}
	tags, err := readTags(sent.tags)
	switch {
	case err != nil:
		return err
	case len(tags) == 0:
		return errNoTags
	case len(sent.value.Raw) == 0 && !h.hasBuckets:
		return errNoBuckets
	case len(sent.value.Raw) > 0 && (h.id < 0 || h.id > 255):
		return errCodecID
	}
	value, err := p.histogramValue()
	if err != nil {
		return err
	}
	metric, err := sent.metric.Text()
	if err != nil {
		return err
	}
	name := strings.ToValidUTF8(string(metric), "\uFFFD")
	at, err := checkHistogram(name, sent.timestamp, tags, value, p.job.in.o.names())
	if err != nil {
		return err
	}
	if err := p.job.early(putline.Point{Stamp: at}); err != nil {
		return err
	}
	p.histograms.Add(putline.Series(name, tags), at, value, len(p.origin)/2)
	p.origin = append(p.origin, sent.from, sent.to)
	return nil
}

// histogramValue returns the value of the cell: of the encoded histogram, or without one of the buckets.
func (p *walker) histogramValue() ([]byte, error) {
	h, codecs := &p.histogram, p.job.in.o.Codecs
	if len(p.point.value.Raw) == 0 {
		if h.err != nil {
			return nil, h.err
		}
		return codecs.encode(&h.histogram)
	}
	text, err := p.point.value.Text()
	if err != nil {
		return nil, err
	}
	encoded, ok := decodeBase64(text)
	if !ok {
		return nil, errHistogram
	}
	value, err := codecs.recode(h.id, encoded)
	if err == errUnderflow { //nolint:errorlint // it is not wrapped
		return nil, errHistogram
	}
	return value, err
}
