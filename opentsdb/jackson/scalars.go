package jackson

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Text returns a reader of text; null is empty.
func Text[T ~string](to *T) Reader {
	return func(s *Scanner) error {
		var text *T
		err := TextOrNull(&text)(s)
		if *to = ""; text != nil {
			*to = *text
		}
		return err
	}
}

// TextOrNull returns a reader of text; null is none.
func TextOrNull[T ~string](to **T) Reader {
	return func(s *Scanner) error {
		scalar, err := s.Scalar()
		if *to = nil; err != nil || scalar.Kind == Null {
			return err
		}
		b, err := scalar.Text()
		text := T(strings.ToValidUTF8(string(b), "\uFFFD"))
		*to = &text
		return err
	}
}

// read returns a reader of a scalar.
func read[T any](to *T, what string, convert func(Scalar) (T, bool)) Reader {
	return func(s *Scanner) error {
		s.Space()
		at := s.I + 1
		scalar, err := s.Scalar()
		if err != nil {
			return err
		}
		v, ok := convert(scalar)
		if !ok {
			return fmt.Errorf("byte %d: %.40q is no %s", at, scalar.Raw, what)
		}
		*to = v
		return nil
	}
}

// Bool returns a reader of a boolean.
func Bool[T ~bool](to *T) Reader {
	return read(to, "boolean", func(s Scalar) (T, bool) {
		b, ok := s.Bool()
		return T(b), ok
	})
}

// Long returns a reader of a number of 64 bits.
func Long(to *int64) Reader { return read(to, "integer of 64 bits", Scalar.Long) }

// Int returns a reader of a number of 32 bits.
func Int(to *int) Reader {
	return read(to, "integer of 32 bits", func(s Scalar) (int, bool) {
		v, ok := s.Long()
		return int(v), ok && v == int64(int32(v))
	})
}

// Double returns a reader of a floating point number.
func Double(to *float64) Reader { return read(to, "number", Scalar.Double) }

// Bool returns a scalar as a boolean: of numbers all but 0 are true.
func (s Scalar) Bool() (value, ok bool) {
	word := s.word()
	switch s.Kind {
	case Null:
		return false, true
	case Number:
		return word != "0", !strings.ContainsAny(word, ".eE")
	}
	switch word {
	case "true":
		return true, true
	case "false":
		return false, true
	case "True":
		return true, s.Kind == String
	case "False", "", "null":
		return false, s.Kind == String
	}
	return false, false
}

// Long returns a scalar as an integer. A fraction loses what is behind its point.
func (s Scalar) Long() (int64, bool) {
	word := s.word()
	switch s.Kind {
	case Null:
		return 0, true
	case Word:
		return 0, word == "NaN"
	case String:
		if word == "" || word == "null" {
			return 0, true
		}
	case Number:
		if bytes.ContainsAny(s.Raw, ".eE") {
			f, err := strconv.ParseFloat(word, 64)
			return int64(f), err == nil && math.Abs(f) < 1<<63
		}
	}
	v, err := strconv.ParseInt(word, 10, 64)
	return v, err == nil
}

// Double returns a scalar as a floating point number.
func (s Scalar) Double() (float64, bool) {
	word := s.word()
	switch s.Kind {
	case Null:
		return 0, true
	case Word:
		word = map[string]string{"NaN": "NaN", "Infinity": "Inf", "+Infinity": "Inf", "+INF": "Inf", "-Infinity": "-Inf", "-INF": "-Inf"}[word]
	case String:
		word = doubleWord(word)
	}
	v, err := strconv.ParseFloat(word, 64)
	return v, err == nil || errors.Is(err, strconv.ErrRange)
}

// doubleWord returns a text that Java reads as a double as Go reads it, others as one that Go does not read.
func doubleWord(word string) string {
	switch word {
	case "", "null":
		return "0"
	case "NaN":
		return word
	case "Infinity", "INF":
		return "Inf"
	case "-Infinity", "-INF":
		return "-Inf"
	}
	if strings.ContainsAny(word[len(word)-1:], "dDfF") {
		word = word[:len(word)-1]
	}
	if strings.Trim(word, "0123456789.eE+-") != "" {
		return ""
	}
	return word
}

// word returns the text of a scalar, that of a string without the blanks around it.
func (s Scalar) word() string {
	text, err := s.Text()
	if err != nil {
		return "\x00" // no number, no boolean
	}
	if s.Kind == String {
		return strings.TrimFunc(string(text), func(c rune) bool { return c <= ' ' }) // Java's String.trim
	}
	return string(text)
}
