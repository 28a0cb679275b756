package client

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A Point is an instant of a series, in the unit of the answer, and its value as it is written.
type Point struct {
	Time  int64
	Value string // a number; NaN, Infinity and -Infinity without quotes; null
}

// Points are those of a series, in the order of the answer.
type Points []Point

// errPoints is text that is no points.
var errPoints = errors.New("these are no points")

// UnmarshalJSON implements json.Unmarshaler: it reads {"time":value,...} and [[time,value],...].
func (p *Points) UnmarshalJSON(b []byte) error {
	*p = (*p)[:0]
	text := string(b) // one copy, of which the values are parts
	s := pointScanner{text: text}
	pairs := s.take('[')
	if !pairs && !s.take('{') {
		if text == "null" {
			return nil
		}
		return errPoints
	}
	end := byte('}')
	if pairs {
		end = ']'
	}
	for !s.take(end) {
		if len(*p) > 0 && !s.take(',') {
			return fmt.Errorf("%w: at byte %d", errPoints, s.at)
		}
		point, err := s.point(pairs)
		if err != nil {
			return err
		}
		*p = append(*p, point)
	}
	return nil
}

// A pointScanner reads JSON that was checked.
type pointScanner struct {
	text string
	at   int
}

// take goes over a character, and over white space before it, if it is there.
func (s *pointScanner) take(c byte) bool {
	for s.at < len(s.text) && strings.IndexByte(" \t\r\n", s.text[s.at]) >= 0 {
		s.at++
	}
	if s.at < len(s.text) && s.text[s.at] == c {
		s.at++
		return true
	}
	return false
}

// word returns what follows up to a character that ends it.
func (s *pointScanner) word() string {
	quoted := s.take('"')
	from := s.at
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case '"', ',', ']', '}', ':', ' ', '\t', '\r', '\n':
			word := s.text[from:s.at]
			if quoted {
				s.take('"')
			}
			return word
		}
		s.at++
	}
	return s.text[from:]
}

func (s *pointScanner) point(pairs bool) (p Point, err error) {
	separator := byte(':')
	if pairs {
		separator = ','
		if !s.take('[') {
			return p, fmt.Errorf("%w: at byte %d", errPoints, s.at)
		}
	}
	p.Time, err = strconv.ParseInt(s.word(), 10, 64)
	if err != nil || !s.take(separator) {
		return p, fmt.Errorf("%w: at byte %d", errPoints, s.at)
	}
	if p.Value = s.word(); p.Value == "" || pairs && !s.take(']') {
		return p, fmt.Errorf("%w: at byte %d", errPoints, s.at)
	}
	return p, nil
}
