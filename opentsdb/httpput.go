package opentsdb

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage"
)

// putBody walks over one body of /api/put.
type putBody struct {
	scanner
	job   job
	point putPoint
	key   []byte
	// where the points of the job that are not in the cache begin and end in the body, two for each
	origin []int
	bad    []badPoint
	points int
	limit  int // of points
	// careful skips the fast path of points of the usual form. Tests compare both ways.
	careful bool
	// histograms are set for a body of /api/histogram: its elements are added to them.
	histograms *histograms
	histogram  sentHistogram // of the element
}

var errTooMany = errors.New("too many points")

// walk reads the body into the job. An error means that the body is not JSON of points; then all of
// it is discarded.
func (p *putBody) walk() error {
	p.job.Begin()
	defer p.job.End()
	return p.oneOrMany(p.element)
}

// element reads one point.
func (p *putBody) element() error {
	if p.points++; p.points > p.limit {
		return fmt.Errorf("%w: more than %d", errTooMany, p.limit)
	}
	c := p.space()
	if c == '{' && !p.careful && p.plain() {
		return nil
	}
	p.point = putPoint{from: p.i}
	if p.histograms != nil {
		p.beginHistogram()
	}
	if c == 'n' {
		if _, err := p.word(); err != nil {
			return err
		}
		p.point.null = true
	} else if err := p.members(); err != nil {
		return err
	}
	p.point.to = p.i
	take := p.take
	if p.histograms != nil {
		take = p.takeHistogram
	}
	if err := take(); err != nil {
		p.refuse(p.point.from, p.point.to, err)
	}
	return nil
}

// members is scanner.object for the members of a point, without its calls.
func (p *putBody) members() error {
	if err := p.expect('{'); err != nil {
		return err
	}
	if p.space() == '}' {
		p.i++
		return nil
	}
	for {
		if err := p.nameAndValue(); err != nil {
			return err
		}
		switch p.space() {
		case ',':
			p.i++
		case '}':
			p.i++
			return nil
		default:
			return p.fail("want , or }")
		}
	}
}

// The names of the members of a point.
const (
	memberMetric    = "metric"
	memberTimestamp = "timestamp"
	memberValue     = "value"
	memberTags      = "tags"
)

// nameAndValue reads a member.
func (p *putBody) nameAndValue() error {
	if name := p.usualName(); name != "" {
		return p.member(name)
	}
	name, err := p.text()
	if err == nil {
		err = p.expect(':')
	}
	if err != nil {
		return err
	}
	text, err := name.text()
	if err != nil {
		return err
	}
	return p.member(string(text))
}

// usualName reads one of the known names and the colon right after it. It reads nothing else.
func (p *putBody) usualName() string {
	p.space()
	rest := p.b[p.i:]
	if len(rest) < len(`"value":`) {
		return ""
	}
	switch rest[1] {
	case 'm':
		return p.skipName(rest, `"metric":`, memberMetric)
	case 'v':
		return p.skipName(rest, `"value":`, memberValue)
	case 't':
		if rest[2] == 'a' {
			return p.skipName(rest, `"tags":`, memberTags)
		}
		return p.skipName(rest, `"timestamp":`, memberTimestamp)
	}
	return ""
}

func (p *putBody) skipName(rest []byte, quoted, name string) string {
	if len(rest) < len(quoted) || string(rest[:len(quoted)]) != quoted {
		return ""
	}
	p.i += len(quoted)
	return name
}

// member reads the value of a member. Of two members with one name the last one counts.
func (p *putBody) member(name string) (err error) {
	switch name {
	case memberMetric:
		p.point.metric, err = p.scalar()
		p.point.ref = 0
	case memberTimestamp:
		p.point.timestamp, err = p.long()
	case memberValue:
		p.point.value, err = p.scalar()
	case memberTags:
		err = p.tags()
	default:
		if p.histograms != nil {
			return p.histogramMember(name)
		}
		err = p.skip(0)
	}
	return err
}

// safeDigits is how many digits any int64 holds.
const safeDigits = 18

// long reads a number as Jackson does into a long: it drops what follows the point of a fraction,
// and takes numbers in quotes.
func (s *scanner) long() (int64, error) {
	begin := s.space()
	v, i := int64(0), s.i
	for ; i < len(s.b) && isDigit(s.b[i]) && i-s.i < safeDigits; i++ {
		v = v*10 + int64(s.b[i]-'0')
	}
	if i > s.i && begin != '0' && i < len(s.b) && (s.b[i] == ',' || s.b[i] == '}') {
		s.i = i
		return v, nil
	}
	at := s.i + 1
	value, err := s.scalar()
	if err != nil {
		return 0, err
	}
	if v, ok := longOf(value); ok {
		return v, nil
	}
	return 0, fmt.Errorf("byte %d: timestamp is no integer of 64 bits", at)
}

// tags reads the tags. Tags of a series in the cache are known by their bytes up to the first "}"
// and are not parsed again: they were parsed when the series was first met, and no longer text that
// begins with them is an object.
func (p *putBody) tags() error {
	p.point.tags, p.point.ref = nil, 0
	c, start := p.space(), p.i
	if end := bytes.IndexByte(p.b[start:], '}'); c == '{' && end >= 0 && p.point.metric.kind != kindNull {
		if ref := p.job.Find(p.keyOf(p.b[start : start+end+1])); ref != 0 {
			p.i = start + end + 1
			p.point.tags, p.point.ref = p.b[start:p.i], ref
			return nil
		}
	}
	tags, err := p.tagObject()
	p.point.tags = tags
	return err
}

// tagObject walks over an object of scalars and returns it; nil for null.
func (s *scanner) tagObject() ([]byte, error) {
	c, start := s.space(), s.i
	if c != '{' {
		value, err := s.scalar()
		if err == nil && value.kind != kindNull {
			err = fmt.Errorf("byte %d: tags are no object", start+1)
		}
		return nil, err
	}
	err := s.object(func(scalar) error {
		_, err := s.scalar()
		return err
	})
	return s.b[start:s.i], err
}

// keyOf returns the key of a series: the metric and the tags as they were sent. No name of a series
// has "{" in it.
func (p *putBody) keyOf(tags []byte) []byte {
	p.key = append(append(p.key[:0], p.point.metric.raw...), tags...)
	return p.key
}

// take adds the point to the job, or returns why it is not a point. The order of the checks is that
// of a TSD.
func (p *putBody) take() error {
	point := &p.point
	if err := point.missing(true); err != nil {
		return err
	}
	value, ok := parseShort(point.value.raw)
	if !ok {
		var err error
		if value, err = parseScalar(point.value); err != nil {
			return errNoNumber
		}
	}
	at, ok := stampOf(point.timestamp)
	if !ok || !value.finite() {
		_, err := point.series(value, p.job.in.o.names())
		return err
	}
	if err := p.job.early(dataPoint(value, at)); err != nil {
		return err
	}
	if point.ref != 0 {
		p.job.add(point.ref, dataPoint(value, at))
		return nil
	}
	key := p.keyOf(point.tags)
	if ref := p.job.Find(key); ref != 0 {
		p.job.add(ref, dataPoint(value, at))
		return nil
	}
	err := p.job.addUnknown(key, dataPoint(value, at), len(p.origin)/2, func(string) (storage.Series, error) {
		return point.series(value, p.job.in.o.names())
	})
	if err == nil {
		p.origin = append(p.origin, point.from, point.to)
	}
	return err
}

func dataPoint(n number, at stamp) point { return point{n, at} }

// refuse notes a bad point.
func (p *putBody) refuse(from, to int, err error) {
	p.job.Refused++
	p.bad = append(p.bad, badPoint{from, to, err})
}

// refuseUnknown notes that the store refused the series of a point.
func (p *putBody) refuseUnknown(origin int, err error) {
	p.bad = append(p.bad, badPoint{p.origin[2*origin], p.origin[2*origin+1], err})
}
