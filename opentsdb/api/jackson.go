package api

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tsdbridge/tsdbridge/opentsdb/jackson"
)

// An object is a JSON object as Jackson reads it for a TSD. Of two fields of one name the last counts.
type object map[string]json.RawMessage

// parseObject reads an object; null is none.
func parseObject(body []byte) (o object, err error) {
	if err := parse(body, &o, "an object"); err != nil {
		return nil, err
	}
	if o == nil {
		return nil, errors.New("want an object, got null")
	}
	return o, nil
}

// parse reads the first value of a body.
func parse(body []byte, to any, want string) error {
	standard, err := jackson.Standard(body)
	if err != nil {
		return err
	}
	return misread(json.Unmarshal(standard, to), want)
}

// misread returns why JSON could not be read, without words about Go.
func misread(err error, want string) error {
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("want %s, got a JSON %s", want, kind.Value)
	}
	return err
}

// text returns a field as text; given is false when it is missing or null.
func (o object) text(name string) (text string, given bool, err error) {
	if raw := o[name]; len(raw) > 0 && (raw[0] == '{' || raw[0] == '[') {
		return "", false, fmt.Errorf("field %q: want text, a number or a boolean", name)
	}
	var sent *string
	if err := o.read(name, jackson.TextOrNull(&sent)); err != nil || sent == nil {
		return "", false, err
	}
	return *sent, true, nil
}

// integer returns a field as a number of 32 bits, without its fraction; 0 if it is missing or empty.
func (o object) integer(name string) (n int, err error) {
	err = o.read(name, jackson.Int(&n))
	return n, err
}

// read reads a field, if it is there.
func (o object) read(name string, read jackson.Reader) error {
	raw, sent := o[name]
	if !sent {
		return nil
	}
	if err := jackson.Read(raw, read); err != nil {
		return fmt.Errorf("field %q: %w", name, err)
	}
	return nil
}
