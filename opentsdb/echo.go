package opentsdb

// echoed is a point as a TSD returns it to the client that sent it: the value is always a string,
// and members that were not sent are left out.
type echoed struct {
	Metric    *string             `json:"metric,omitempty"`
	Timestamp int64               `json:"timestamp"`
	Value     *string             `json:"value,omitempty"`
	Tags      *map[string]*string `json:"tags,omitempty"`
}

// echo reads a point that was walked over before; nil for null.
func echo(b []byte) *echoed {
	p := putBody{scanner: scanner{b: b}}
	if p.space() != '{' {
		return nil
	}
	e := &echoed{}
	// The text is an object of known shape, so nothing can be wrong with it any more.
	_ = p.object(func(name scalar) error {
		word, err := name.text()
		if err != nil {
			return err
		}
		switch string(word) {
		case memberMetric:
			e.Metric, err = p.echoText()
		case memberTimestamp:
			e.Timestamp, err = p.long()
		case memberValue:
			e.Value, err = p.echoText()
		case memberTags:
			e.Tags, err = p.echoTags()
		default:
			err = p.skip(0)
		}
		return err
	})
	return e
}

// echoText returns a scalar as a string; nil for null.
func (p *putBody) echoText() (*string, error) {
	s, err := p.scalar()
	if err != nil || s.kind == kindNull {
		return nil, err
	}
	text, err := s.text()
	word := string(text)
	return &word, err
}

func (p *putBody) echoTags() (*map[string]*string, error) {
	if p.space() != '{' {
		_, err := p.scalar()
		return nil, err
	}
	tags := map[string]*string{}
	err := p.object(func(name scalar) error {
		key, err := name.text()
		if err != nil {
			return err
		}
		tags[string(key)], err = p.echoText()
		return err
	})
	return &tags, err
}
