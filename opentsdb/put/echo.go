package put

import "github.com/tsdbridge/tsdbridge/opentsdb/jackson"

// echoed is a point as a TSD returns it to the client that sent it: the value is always a string,
// and members that were not sent are left out.
type echoed struct {
	Metric    *string             `json:"metric,omitempty"`
	Timestamp int64               `json:"timestamp"`
	Value     *string             `json:"value,omitempty"`
	Tags      *map[string]*string `json:"tags,omitempty"`
	*echoedHistogram
}

// echoedHistogram is what more a TSD returns of a histogram.
type echoedHistogram struct {
	ID        int64              `json:"id"`
	Buckets   *map[string]*int64 `json:"buckets,omitempty"`
	Underflow int64              `json:"underflow"`
	Overflow  int64              `json:"overflow"`
}

// echo reads a point or a histogram that was walked over before; nil for null.
func echo(b []byte, ofHistogram bool) *echoed {
	e := &echoed{}
	more := func(string, *walker) (bool, error) { return false, nil }
	if ofHistogram {
		e.echoedHistogram = &echoedHistogram{}
		more = func(name string, p *walker) (bool, error) { return true, p.echoHistogram(e.echoedHistogram, name) }
	}
	if !e.read(b, more) {
		return nil
	}
	return e
}

// echoedRollup is echoed for a rolled up value.
type echoedRollup struct {
	echoed
	Interval   *string `json:"interval,omitempty"`
	Aggregator *string `json:"aggregator,omitempty"`
	GroupBy    *string `json:"groupByAggregator,omitempty"`
}

// echoRollup is echo for a rolled up value.
func echoRollup(b []byte) any {
	e := &echoedRollup{}
	to := map[string]**string{memberInterval: &e.Interval, memberAggregator: &e.Aggregator, memberGroupBy: &e.GroupBy}
	ok := e.read(b, func(name string, p *walker) (mine bool, err error) {
		if at := to[name]; at != nil {
			*at, err = p.echoText()
			return true, err
		}
		return false, nil
	})
	if !ok {
		return nil
	}
	return e
}

// read reads a point; false for null. more reads the members that not all points have.
func (e *echoed) read(b []byte, more func(name string, p *walker) (mine bool, err error)) bool {
	p := walker{Scanner: jackson.Scanner{B: b}}
	if p.Space() != '{' {
		return false
	}
	// The text is an object of known shape, so nothing can be wrong with it any more.
	_ = p.Object(func(name jackson.Scalar) error {
		word, err := name.Text()
		if err != nil {
			return err
		}
		switch string(word) {
		case memberMetric:
			e.Metric, err = p.echoText()
		case memberTimestamp:
			e.Timestamp, err = long(&p.Scanner)
		case memberValue:
			e.Value, err = p.echoText()
		case memberTags:
			e.Tags, err = p.echoTags()
		default:
			mine, err := more(string(word), &p)
			if mine || err != nil {
				return err
			}
			return p.Skip(0)
		}
		return err
	})
	return true
}

// echoHistogram reads a member that a point does not have.
func (p *walker) echoHistogram(e *echoedHistogram, name string) (err error) {
	switch name {
	case memberID:
		e.ID, err = p.count(name)
	case memberUnderflow:
		e.Underflow, err = p.count(name)
	case memberOverflow:
		e.Overflow, err = p.count(name)
	case memberBuckets:
		e.Buckets, err = p.echoBuckets()
	default:
		err = p.Skip(0)
	}
	return err
}

func (p *walker) echoBuckets() (*map[string]*int64, error) {
	if p.Space() != '{' {
		_, err := p.Scalar()
		return nil, err
	}
	buckets := map[string]*int64{}
	err := p.Object(func(name jackson.Scalar) error {
		bounds, err := name.Text()
		if err != nil {
			return err
		}
		value, err := p.Scalar()
		if count, ok := value.Long(); ok && value.Kind != jackson.Null {
			buckets[string(bounds)] = &count
		} else {
			buckets[string(bounds)] = nil
		}
		return err
	})
	return &buckets, err
}

// echoText returns a jackson.Scalar as a string; nil for null.
func (p *walker) echoText() (*string, error) {
	s, err := p.Scalar()
	if err != nil || s.Kind == jackson.Null {
		return nil, err
	}
	text, err := s.Text()
	word := string(text)
	return &word, err
}

func (p *walker) echoTags() (*map[string]*string, error) {
	if p.Space() != '{' {
		_, err := p.Scalar()
		return nil, err
	}
	tags := map[string]*string{}
	err := p.Object(func(name jackson.Scalar) error {
		key, err := name.Text()
		if err != nil {
			return err
		}
		tags[string(key)], err = p.echoText()
		return err
	})
	return &tags, err
}
