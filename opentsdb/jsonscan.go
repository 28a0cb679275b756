package opentsdb

import (
	"encoding/json"
	"errors"
	"fmt"
)

// A scanner walks over JSON text. It accepts what Jackson accepts in OpenTSDB's configuration: RFC
// 8259, and in addition NaN and infinities without quotes.
type scanner struct {
	b []byte
	i int
}

// A scalarKind is the kind of a value.
type scalarKind uint8

const (
	kindNull scalarKind = iota
	kindString
	kindNumber
	kindWord // true, false, NaN, Infinity
)

// A scalar is a string, a number, a word or null.
type scalar struct {
	kind    scalarKind
	raw     []byte // a string without its quotes
	escaped bool   // raw has backslashes
}

// text returns the text of a scalar. Jackson takes numbers and words for strings too.
func (s scalar) text() ([]byte, error) {
	if !s.escaped {
		return s.raw, nil
	}
	var text string
	if err := json.Unmarshal([]byte(`"`+string(s.raw)+`"`), &text); err != nil {
		return nil, err
	}
	return []byte(text), nil
}

// fail is an error at the present place.
func (s *scanner) fail(what string) error {
	if s.i >= len(s.b) {
		return fmt.Errorf("unexpected end after %d bytes: %s", len(s.b), what)
	}
	return fmt.Errorf("unexpected character %q at byte %d: %s", s.b[s.i], s.i+1, what)
}

// space skips white space and returns the byte after it, 0 at the end.
func (s *scanner) space() byte {
	for s.i < len(s.b) {
		switch c := s.b[s.i]; c {
		case ' ', '\n', '\t', '\r':
			s.i++
		default:
			return c
		}
	}
	return 0
}

// expect skips white space and then the byte c.
func (s *scanner) expect(c byte) error {
	if s.space() != c || s.i >= len(s.b) {
		return s.fail("want " + string(c))
	}
	s.i++
	return nil
}

// text reads a string.
func (s *scanner) text() (scalar, error) {
	if err := s.expect('"'); err != nil {
		return scalar{}, err
	}
	start, escaped := s.i, false
	for s.i < len(s.b) {
		switch c := s.b[s.i]; {
		case c == '"':
			s.i++
			return scalar{kindString, s.b[start : s.i-1], escaped}, nil
		case c == '\\':
			if err := s.escape(); err != nil {
				return scalar{}, err
			}
			escaped = true
		case c < ' ':
			return scalar{}, s.fail("control character in a string")
		default:
			s.i++
		}
	}
	return scalar{}, s.fail("string without end")
}

// escape skips an escape.
func (s *scanner) escape() error {
	s.i++
	if s.i >= len(s.b) {
		return s.fail("escape without end")
	}
	switch s.b[s.i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.i++
		return nil
	case 'u':
		for range 4 {
			if s.i++; s.i >= len(s.b) || !isHex(s.b[s.i]) {
				return s.fail("want four hexadecimal digits")
			}
		}
		s.i++
		return nil
	}
	return s.fail("no such escape")
}

func isHex(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

var errNested = errors.New("an object or array where a number or a string must be")

// scalar reads a value that is neither an object nor an array.
func (s *scanner) scalar() (scalar, error) {
	switch c := s.space(); {
	case c == '"':
		return s.text()
	case c == '{', c == '[':
		return scalar{}, fmt.Errorf("byte %d: %w", s.i+1, errNested)
	case isDigit(c), c == '-' && s.i+1 < len(s.b) && isDigit(s.b[s.i+1]):
		return s.number()
	}
	return s.word()
}

// number reads a number whose first characters were looked at.
func (s *scanner) number() (scalar, error) {
	start := s.i
	if s.b[s.i] == '-' {
		s.i++
	}
	if zero := s.i; s.digits() > 1 && s.b[zero] == '0' {
		s.i = zero
		return scalar{}, s.fail("leading zero")
	}
	if s.i < len(s.b) && s.b[s.i] == '.' {
		s.i++
		if s.digits() == 0 {
			return scalar{}, s.fail("want a digit")
		}
	}
	if s.i < len(s.b) && s.b[s.i]|0x20 == 'e' {
		s.i++
		if s.i < len(s.b) && (s.b[s.i] == '+' || s.b[s.i] == '-') {
			s.i++
		}
		if s.digits() == 0 {
			return scalar{}, s.fail("want a digit")
		}
	}
	return scalar{kind: kindNumber, raw: s.b[start:s.i]}, nil
}

// digits skips digits and returns how many there are.
func (s *scanner) digits() int {
	start := s.i
	for s.i < len(s.b) && isDigit(s.b[s.i]) {
		s.i++
	}
	return s.i - start
}

// word reads null and the other words.
func (s *scanner) word() (scalar, error) {
	start := s.i
	for s.i < len(s.b) && (s.b[s.i]|0x20 >= 'a' && s.b[s.i]|0x20 <= 'z' || s.i == start && (s.b[s.i] == '-' || s.b[s.i] == '+')) {
		s.i++
	}
	raw := s.b[start:s.i]
	switch string(raw) {
	case "null":
		return scalar{}, nil
	case "true", "false", "NaN", "Infinity", "-Infinity", "+Infinity", "INF", "-INF", "+INF":
		return scalar{kind: kindWord, raw: raw}, nil
	}
	s.i = start
	return scalar{}, s.fail("want a value")
}

// maxDepth is how deep objects and arrays that are skipped may be nested.
const maxDepth = 500

// skip skips any value.
func (s *scanner) skip(depth int) error {
	if depth > maxDepth {
		return s.fail("nested too deeply")
	}
	switch s.space() {
	case '{':
		return s.object(func(scalar) error { return s.skip(depth + 1) })
	case '[':
		return s.array(func() error { return s.skip(depth + 1) })
	}
	_, err := s.scalar()
	return err
}

// object walks over an object. member is called after the colon of each member and reads the value.
func (s *scanner) object(member func(name scalar) error) error {
	return s.list('{', '}', func() error {
		name, err := s.text()
		if err == nil {
			err = s.expect(':')
		}
		if err == nil {
			err = member(name)
		}
		return err
	})
}

// array walks over an array. element is called for each element and reads it.
func (s *scanner) array(element func() error) error { return s.list('[', ']', element) }

// oneOrMany reads one element or an array of them, and nothing else.
func (s *scanner) oneOrMany(element func() error) error {
	var err error
	if s.space() == '[' {
		err = s.array(element)
	} else {
		err = element()
	}
	if err == nil && (s.space() != 0 || s.i < len(s.b)) {
		err = s.fail("want the end")
	}
	return err
}

func (s *scanner) list(begin, end byte, item func() error) error {
	if err := s.expect(begin); err != nil {
		return err
	}
	if s.space() == end {
		s.i++
		return nil
	}
	for {
		if err := item(); err != nil {
			return err
		}
		switch s.space() {
		case ',':
			s.i++
		case end:
			s.i++
			return nil
		default:
			return s.fail("want , or " + string(end))
		}
	}
}
