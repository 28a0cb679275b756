package jackson

import (
	"errors"
	"fmt"
)

// A Reader reads the value that comes next.
type Reader func(s *Scanner) error

// Fields are the readers of the values of an object's fields, by their names.
type Fields map[string]Reader

// Read reads the first value of a text. What follows it does not matter.
func Read(text []byte, read Reader) error {
	s := Scanner{B: text}
	if s.Space(); s.I == len(s.B) {
		return errors.New("no content to map due to end of input")
	}
	return read(&s)
}

// Null reads null, if it comes next; else nothing.
func (s *Scanner) Null() bool {
	if s.Space() != 'n' {
		return false
	}
	begin := s.I
	if word, err := s.Word(); err == nil && word.Kind == Null {
		return true
	}
	s.I = begin
	return false
}

// Object returns a reader of an object with some fields. Others are passed over.
func Object(fields Fields) Reader {
	return func(s *Scanner) error {
		return s.fields(fields, func(string) error { return s.Skip(0) })
	}
}

// Strict returns a reader of an object with some fields, and no others.
func Strict(fields Fields) Reader {
	return func(s *Scanner) error {
		return s.fields(fields, func(name string) error { return fmt.Errorf("unrecognized field %q", clip(name)) })
	}
}

// Any returns a reader of an object whose fields have any names. null is an object without fields.
func Any(field func(name string) Reader) Reader {
	return OrNull(func(s *Scanner) error {
		return s.fields(nil, func(name string) error { return field(name)(s) })
	}, func() {})
}

// fields reads an object: each field by its reader, or by other.
func (s *Scanner) fields(fields Fields, other func(name string) error) error {
	if c := s.Space(); c != '{' {
		return s.Fail("want an object")
	}
	return s.Object(func(scalar Scalar) error {
		text, err := scalar.Text()
		if err != nil {
			return err
		}
		name := string(text)
		read, known := fields[name]
		if !known {
			return other(name)
		}
		if err := read(s); err != nil {
			return fmt.Errorf("field %q: %w", clip(name), err)
		}
		return nil
	})
}

// OrNull returns a reader that takes null too.
func OrNull(read Reader, null func()) Reader {
	return func(s *Scanner) error {
		if s.Null() {
			null()
			return nil
		}
		return read(s)
	}
}

// List returns a reader of a list, which replaces the one that was there. null is no list.
func List[E any](to *[]E, element func(*E) Reader) Reader {
	return OrNull(func(s *Scanner) error {
		if s.Space() != '[' {
			return s.Fail("want a list")
		}
		*to = []E{}
		return s.Array(func() error {
			var e E
			if err := element(&e)(s); err != nil {
				return err
			}
			*to = append(*to, e)
			return nil
		})
	}, func() { *to = nil })
}

// Pointer returns a reader of a value that may be null. fresh makes what the reader of a new one fills.
func Pointer[T any](to **T, fresh func() T, read func(*T) Reader) Reader {
	return OrNull(func(s *Scanner) error {
		v := fresh()
		err := read(&v)(s)
		*to = &v
		return err
	}, func() { *to = nil })
}

// Objects returns a reader of a list of objects, each of which may be null.
func Objects[T any](to *[]*T, read func(*T) Reader) Reader {
	return List(to, func(one **T) Reader { return Pointer(one, Zero[T], read) })
}

// Zero is the usual value of Pointer's fresh.
func Zero[T any]() (zero T) { return zero }

// Texts returns a reader of an object whose values are texts. null is no object.
func Texts(to *map[string]*string) Reader {
	return func(s *Scanner) error {
		if s.Null() {
			*to = nil
			return nil
		}
		texts := map[string]*string{}
		*to = texts
		return Any(func(name string) Reader {
			return func(s *Scanner) error {
				var text *string
				err := TextOrNull(&text)(s)
				texts[name] = text
				return err
			}
		})(s)
	}
}

// clip bounds a name in an error.
func clip(name string) string { return name[:min(len(name), 100)] }
