package put

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/tsdbridge/tsdbridge/opentsdb/jackson"
	"github.com/tsdbridge/tsdbridge/opentsdb/putline"
	"github.com/tsdbridge/tsdbridge/storage"
)

// walker walks over one body of /api/put.
type walker struct {
	jackson.Scanner
	job   job
	point element
	key   []byte
	// where the points of the job that are not in the cache begin and end in the body, two for each
	origin []int
	bad    []badPoint
	points int
	limit  int // of points
	// careful skips the fast path of points of the usual form. Tests compare both ways.
	careful bool
	// histograms are set for a body of /api/histogram: its elements are added to them.
	histograms *Histograms
	histogram  sentHistogram // of the element
}

var errTooMany = errors.New("too many points")

// walk reads the body into the job. An error means that the body is not JSON of points; then all of
// it is discarded.
func (p *walker) walk() error {
	p.job.Begin()
	defer p.job.End()
	return p.OneOrMany(p.element)
}

// element reads one point.
func (p *walker) element() error {
	if p.points++; p.points > p.limit {
		return fmt.Errorf("%w: more than %d", errTooMany, p.limit)
	}
	c := p.Space()
	if c == '{' && !p.careful && p.plain() {
		return nil
	}
	p.point = element{from: p.I}
	if p.histograms != nil {
		p.beginHistogram()
	}
	if c == 'n' {
		if _, err := p.Word(); err != nil {
			return err
		}
		p.point.null = true
	} else if err := p.members(); err != nil {
		return err
	}
	p.point.to = p.I
	take := p.take
	if p.histograms != nil {
		take = p.takeHistogram
	}
	if err := take(); err != nil {
		p.refuse(p.point.from, p.point.to, err)
	}
	return nil
}

// members is Scanner.Object for the members of a point, without its calls.
func (p *walker) members() error {
	if err := p.Expect('{'); err != nil {
		return err
	}
	if p.Space() == '}' {
		p.I++
		return nil
	}
	for {
		if err := p.nameAndValue(); err != nil {
			return err
		}
		switch p.Space() {
		case ',':
			p.I++
		case '}':
			p.I++
			return nil
		default:
			return p.Fail("want , or }")
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
func (p *walker) nameAndValue() error {
	if name := p.usualName(); name != "" {
		return p.member(name)
	}
	name, err := p.Text()
	if err == nil {
		err = p.Expect(':')
	}
	if err != nil {
		return err
	}
	text, err := name.Text()
	if err != nil {
		return err
	}
	return p.member(string(text))
}

// usualName reads one of the known names and the colon right after it. It reads nothing else.
func (p *walker) usualName() string {
	p.Space()
	rest := p.B[p.I:]
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

func (p *walker) skipName(rest []byte, quoted, name string) string {
	if len(rest) < len(quoted) || string(rest[:len(quoted)]) != quoted {
		return ""
	}
	p.I += len(quoted)
	return name
}

// member reads the value of a member. Of two members with one name the last one counts.
func (p *walker) member(name string) (err error) {
	switch name {
	case memberMetric:
		p.point.metric, err = p.Scalar()
		p.point.ref = 0
	case memberTimestamp:
		p.point.timestamp, err = long(&p.Scanner)
	case memberValue:
		p.point.value, err = p.Scalar()
	case memberTags:
		err = p.tags()
	default:
		if p.histograms != nil {
			return p.histogramMember(name)
		}
		err = p.Skip(0)
	}
	return err
}

// safeDigits is how many digits any int64 holds.
const safeDigits = 18

// long reads a number as Jackson does into a long: it drops what follows the point of a fraction,
// and takes numbers in quotes.
func long(s *jackson.Scanner) (int64, error) {
	begin := s.Space()
	v, i := int64(0), s.I
	for ; i < len(s.B) && putline.IsDigit(s.B[i]) && i-s.I < safeDigits; i++ {
		v = v*10 + int64(s.B[i]-'0')
	}
	if i > s.I && begin != '0' && i < len(s.B) && (s.B[i] == ',' || s.B[i] == '}') {
		s.I = i
		return v, nil
	}
	at := s.I + 1
	value, err := s.Scalar()
	if err != nil {
		return 0, err
	}
	if v, ok := value.Long(); ok {
		return v, nil
	}
	return 0, fmt.Errorf("byte %d: timestamp is no integer of 64 bits", at)
}

// tags reads the tags. Tags of a series in the cache are known by their bytes up to the first "}"
// and are not parsed again: they were parsed when the series was first met, and no longer text that
// begins with them is an object.
func (p *walker) tags() error {
	p.point.tags, p.point.ref = nil, 0
	c, start := p.Space(), p.I
	if end := bytes.IndexByte(p.B[start:], '}'); c == '{' && end >= 0 && p.point.metric.Kind != jackson.Null {
		if ref := p.job.Find(p.keyOf(p.B[start : start+end+1])); ref != 0 {
			p.I = start + end + 1
			p.point.tags, p.point.ref = p.B[start:p.I], ref
			return nil
		}
	}
	tags, err := tagObject(&p.Scanner)
	p.point.tags = tags
	return err
}

// tagObject walks over an object of scalars and returns it; nil for null.
func tagObject(s *jackson.Scanner) ([]byte, error) {
	c, start := s.Space(), s.I
	if c != '{' {
		value, err := s.Scalar()
		if err == nil && value.Kind != jackson.Null {
			err = fmt.Errorf("byte %d: tags are no object", start+1)
		}
		return nil, err
	}
	err := s.Object(func(jackson.Scalar) error {
		_, err := s.Scalar()
		return err
	})
	return s.B[start:s.I], err
}

// keyOf returns the key of a series: the metric and the tags as they were sent. No name of a series
// has "{" in it.
func (p *walker) keyOf(tags []byte) []byte {
	p.key = append(append(p.key[:0], p.point.metric.Raw...), tags...)
	return p.key
}

// take adds the point to the job, or returns why it is not a point. The order of the checks is that
// of a TSD.
func (p *walker) take() error {
	point := &p.point
	if err := point.missing(true); err != nil {
		return err
	}
	value, ok := putline.ParseShort(point.value.Raw)
	if !ok {
		var err error
		if value, err = parseScalar(point.value); err != nil {
			return errNoNumber
		}
	}
	at, ok := putline.StampOf(point.timestamp)
	if !ok || !value.Finite() {
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

func dataPoint(n putline.Number, at putline.Stamp) putline.Point {
	return putline.Point{Number: n, Stamp: at}
}

// refuse notes a bad point.
func (p *walker) refuse(from, to int, err error) {
	p.job.Refused++
	p.bad = append(p.bad, badPoint{from, to, err})
}

// refuseUnknown notes that the store refused the series of a point.
func (p *walker) refuseUnknown(origin int, err error) {
	p.bad = append(p.bad, badPoint{p.origin[2*origin], p.origin[2*origin+1], err})
}
