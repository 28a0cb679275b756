package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// An object is a JSON object as Jackson reads it for a TSD: text may be a number or a boolean, numbers
// may be text, null is as if it was missing, and what follows the object is ignored. Of two fields of
// one name the last counts.
type object map[string]json.RawMessage

// parseObject reads an object; null is none.
func parseObject(body []byte) (o object, err error) {
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(&o); err != nil {
		return nil, misread(err, "an object")
	}
	if o == nil {
		return nil, errors.New("want an object, got null")
	}
	return o, nil
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
	raw := o[name]
	if len(raw) == 0 || string(raw) == "null" {
		return "", false, nil
	}
	switch raw[0] {
	case '"':
		err = json.Unmarshal(raw, &text)
		return text, err == nil, err
	case '{', '[':
		return "", false, fmt.Errorf("field %q: want text, a number or a boolean", name)
	}
	return string(raw), true, nil
}

// integer returns a field as a number of 32 bits, without its fraction; 0 if it is missing or empty.
func (o object) integer(name string) (int, error) {
	text, _, err := o.text(name)
	if text = strings.TrimSpace(text); err != nil || text == "" {
		return 0, err
	}
	if n, err := strconv.ParseInt(text, 10, 32); err == nil {
		return int(n), nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || o[name][0] == '"' || math.Abs(f) > math.MaxInt32 {
		return 0, fmt.Errorf("field %q: %q is no number of 32 bits", name, text)
	}
	return int(f), nil
}
