package jackson

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Members are those of a JSON object as Jackson reads it for a TSD. Of two of one name the last counts.
type Members map[string]json.RawMessage

// ParseMembers reads an object; null is none.
func ParseMembers(body []byte) (o Members, err error) {
	if err := Unmarshal(body, &o, "an object"); err != nil {
		return nil, err
	}
	if o == nil {
		return nil, errors.New("want an object, got null")
	}
	return o, nil
}

// Unmarshal reads the first value of a body.
func Unmarshal(body []byte, to any, want string) error {
	standard, err := Standard(body)
	if err != nil {
		return err
	}
	return Misread(json.Unmarshal(standard, to), want)
}

// Misread returns why JSON could not be read, without words about Go.
func Misread(err error, want string) error {
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("want %s, got a JSON %s", want, kind.Value)
	}
	return err
}

// Text returns a field as text; given is false when it is missing or null.
func (o Members) Text(name string) (text string, given bool, err error) {
	if raw := o[name]; len(raw) > 0 && (raw[0] == '{' || raw[0] == '[') {
		return "", false, fmt.Errorf("field %q: want text, a number or a boolean", name)
	}
	var sent *string
	if err := o.read(name, TextOrNull(&sent)); err != nil || sent == nil {
		return "", false, err
	}
	return *sent, true, nil
}

// Integer returns a field as a number of 32 bits, without its fraction; 0 if it is missing or empty.
func (o Members) Integer(name string) (n int, err error) {
	err = o.read(name, Int(&n))
	return n, err
}

// read reads a field, if it is there.
func (o Members) read(name string, read Reader) error {
	raw, sent := o[name]
	if !sent {
		return nil
	}
	if err := Read(raw, read); err != nil {
		return fmt.Errorf("field %q: %w", name, err)
	}
	return nil
}
