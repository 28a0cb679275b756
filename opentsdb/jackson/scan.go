package jackson

import (
	"encoding/json"
	"errors"
	"fmt"
)

// A Scanner walks over JSON text. It accepts what Jackson accepts in OpenTSDB's configuration: RFC
// 8259, and in addition NaN and infinities without quotes.
type Scanner struct {
	B []byte
	I int
}

// A ScalarKind is the kind of a Scalar.
type ScalarKind uint8

// The kinds of values.
const (
	Null   ScalarKind = iota
	String            // in quotes
	Number
	Word // true, false, NaN, Infinity
)

// A Scalar is a string, a number, a word or null.
type Scalar struct {
	Kind    ScalarKind
	Raw     []byte // a string without its quotes
	escaped bool   // raw has backslashes
}

// Text returns the text of a scalar. Jackson takes numbers and words for strings too.
func (s Scalar) Text() ([]byte, error) {
	if !s.escaped {
		return s.Raw, nil
	}
	var text string
	if err := json.Unmarshal([]byte(`"`+string(s.Raw)+`"`), &text); err != nil {
		return nil, err
	}
	return []byte(text), nil
}

// Fail is an error at the present place.
func (s *Scanner) Fail(what string) error {
	if s.I >= len(s.B) {
		return fmt.Errorf("unexpected end after %d bytes: %s", len(s.B), what)
	}
	return fmt.Errorf("unexpected character %q at byte %d: %s", s.B[s.I], s.I+1, what)
}

// Space skips white space and returns the byte after it, 0 at the end.
func (s *Scanner) Space() byte {
	for s.I < len(s.B) {
		switch c := s.B[s.I]; c {
		case ' ', '\n', '\t', '\r':
			s.I++
		default:
			return c
		}
	}
	return 0
}

// Expect skips white space and then the byte c.
func (s *Scanner) Expect(c byte) error {
	if s.Space() != c || s.I >= len(s.B) {
		return s.Fail("want " + string(c))
	}
	s.I++
	return nil
}

// Text reads a string.
func (s *Scanner) Text() (Scalar, error) {
	if err := s.Expect('"'); err != nil {
		return Scalar{}, err
	}
	start, escaped := s.I, false
	for s.I < len(s.B) {
		switch c := s.B[s.I]; {
		case c == '"':
			s.I++
			return Scalar{String, s.B[start : s.I-1], escaped}, nil
		case c == '\\':
			if err := s.escape(); err != nil {
				return Scalar{}, err
			}
			escaped = true
		case c < ' ':
			return Scalar{}, s.Fail("control character in a string")
		default:
			s.I++
		}
	}
	return Scalar{}, s.Fail("string without end")
}

// escape skips an escape.
func (s *Scanner) escape() error {
	s.I++
	if s.I >= len(s.B) {
		return s.Fail("escape without end")
	}
	switch s.B[s.I] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.I++
		return nil
	case 'u':
		for range 4 {
			if s.I++; s.I >= len(s.B) || !isHex(s.B[s.I]) {
				return s.Fail("want four hexadecimal digits")
			}
		}
		s.I++
		return nil
	}
	return s.Fail("no such escape")
}

func isHex(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

var errNested = errors.New("an object or array where a number or a string must be")

// Scalar reads a value that is neither an object nor an array.
func (s *Scanner) Scalar() (Scalar, error) {
	switch c := s.Space(); {
	case c == '"':
		return s.Text()
	case c == '{', c == '[':
		return Scalar{}, fmt.Errorf("byte %d: %w", s.I+1, errNested)
	case isDigit(c), c == '-' && s.I+1 < len(s.B) && isDigit(s.B[s.I+1]):
		return s.number()
	}
	return s.Word()
}

// number reads a number whose first characters were looked at.
func (s *Scanner) number() (Scalar, error) {
	start := s.I
	if s.B[s.I] == '-' {
		s.I++
	}
	if zero := s.I; s.digits() > 1 && s.B[zero] == '0' {
		s.I = zero
		return Scalar{}, s.Fail("leading zero")
	}
	if s.I < len(s.B) && s.B[s.I] == '.' {
		s.I++
		if s.digits() == 0 {
			return Scalar{}, s.Fail("want a digit")
		}
	}
	if s.I < len(s.B) && s.B[s.I]|0x20 == 'e' {
		s.I++
		if s.I < len(s.B) && (s.B[s.I] == '+' || s.B[s.I] == '-') {
			s.I++
		}
		if s.digits() == 0 {
			return Scalar{}, s.Fail("want a digit")
		}
	}
	return Scalar{Kind: Number, Raw: s.B[start:s.I]}, nil
}

// digits skips digits and returns how many there are.
func (s *Scanner) digits() int {
	start := s.I
	for s.I < len(s.B) && isDigit(s.B[s.I]) {
		s.I++
	}
	return s.I - start
}

// Word reads null and the other words.
func (s *Scanner) Word() (Scalar, error) {
	start := s.I
	for s.I < len(s.B) && (s.B[s.I]|0x20 >= 'a' && s.B[s.I]|0x20 <= 'z' || s.I == start && (s.B[s.I] == '-' || s.B[s.I] == '+')) {
		s.I++
	}
	raw := s.B[start:s.I]
	switch string(raw) {
	case "null":
		return Scalar{}, nil
	case "true", "false", "NaN", "Infinity", "-Infinity", "+Infinity", "-INF", "+INF":
		return Scalar{Kind: Word, Raw: raw}, nil
	}
	s.I = start
	return Scalar{}, s.Fail("want a value")
}

// MaxDepth is how deep objects and arrays that are skipped may be nested.
const MaxDepth = 500

// Skip skips any value.
func (s *Scanner) Skip(depth int) error {
	if depth > MaxDepth {
		return s.Fail("nested too deeply")
	}
	switch s.Space() {
	case '{':
		return s.Object(func(Scalar) error { return s.Skip(depth + 1) })
	case '[':
		return s.Array(func() error { return s.Skip(depth + 1) })
	}
	_, err := s.Scalar()
	return err
}

// Object walks over an object. member is called after the colon of each member and reads the value.
func (s *Scanner) Object(member func(name Scalar) error) error {
	return s.list('{', '}', func() error {
		name, err := s.Text()
		if err == nil {
			err = s.Expect(':')
		}
		if err == nil {
			err = member(name)
		}
		return err
	})
}

// Array walks over an array. element is called for each element and reads it.
func (s *Scanner) Array(element func() error) error { return s.list('[', ']', element) }

// OneOrMany reads one element or an array of them. What follows may be text, but no second value: Jackson would
// not look at that, and points in it would be lost.
func (s *Scanner) OneOrMany(element func() error) error {
	var err error
	if s.Space() == '[' {
		err = s.Array(element)
	} else {
		err = element()
	}
	if c := s.Space(); err == nil && (c == '{' || c == '[' || c == ',') {
		err = s.Fail("want the end")
	}
	return err
}

func (s *Scanner) list(begin, end byte, item func() error) error {
	if err := s.Expect(begin); err != nil {
		return err
	}
	if s.Space() == end {
		s.I++
		return nil
	}
	for {
		if err := item(); err != nil {
			return err
		}
		switch s.Space() {
		case ',':
			s.I++
		case end:
			s.I++
			return nil
		default:
			return s.Fail("want , or " + string(end))
		}
	}
}
