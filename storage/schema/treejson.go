package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// The documents of tsdb-tree come in any order of their fields: that of rules differs between two
// starts of one TSD. They are read by exact field name, as Jackson does (encoding/json takes any
// case), and edited in place: what an edit does not know stays.

// A member is one field of a document as it is stored.
type member struct {
	name string
	raw  json.RawMessage
}

// parseMembers reads an object into its fields, in their order.
func parseMembers(b []byte) ([]member, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.Join(errors.New("no JSON object"), err)
	}
	var members []member
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		m := member{name: name.(string)}
		if err := d.Decode(&m.raw); err != nil {
			return nil, fmt.Errorf("field %q: %w", m.name, err)
		}
		members = append(members, m)
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("text after the object")
	}
	return members, nil
}

// fields finds the fields of a document by name; of two of one name the last counts. The first
// error stays.
type fields struct {
	members map[string]json.RawMessage
	err     error
}

func parseFields(b []byte) *fields { return fieldsOf(parseMembers(b)) }

// fieldsOf are those that parseMembers has returned.
func fieldsOf(members []member, err error) *fields {
	f := &fields{members: make(map[string]json.RawMessage, len(members)), err: err}
	for _, m := range members {
		f.members[m.name] = m.raw
	}
	return f
}

// scalar returns the text of a field: the content of a string, numbers and booleans as they are
// written, nothing for null and for what is missing. Jackson converts them in the same way.
func (f *fields) scalar(name string) string {
	raw := f.members[name]
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	switch raw[0] {
	case '"':
		var s string
		f.fail(name, json.Unmarshal(raw, &s))
		return s
	case '{', '[':
		f.fail(name, errors.New("want text, a number or a boolean"))
	}
	return string(raw)
}

func (f *fields) integer(name string, bits int) int64 {
	s := f.scalar(name)
	if s == "" {
		return 0
	}
	n, err := strconv.ParseInt(s, 10, bits)
	f.fail(name, err)
	return n
}

func (f *fields) boolean(name string) bool {
	switch s := f.scalar(name); s {
	case "true", "True", "TRUE":
		return true
	case "", "false", "False", "FALSE":
		return false
	default:
		return f.integer(name, 64) != 0
	}
}

func (f *fields) fail(name string, err error) {
	if err != nil && f.err == nil {
		f.err = fmt.Errorf("field %q: %w", name, err)
	}
}

// editMembers replaces in a document the fields of another and adds those that it lacks. Fields
// that only the first has keep their bytes and their place.
func editMembers(raw, wanted []byte) ([]byte, error) {
	old, err := parseMembers(raw)
	if err != nil {
		return nil, err
	}
	set, err := parseMembers(wanted)
	if err != nil {
		return nil, err
	}
	for _, m := range set {
		found := false
		for i := range old {
			if old[i].name == m.name {
				old[i].raw, found = m.raw, true
			}
		}
		if !found {
			old = append(old, m)
		}
	}
	return appendMembers(nil, old), nil
}

func appendMembers(dst []byte, members []member) []byte {
	dst = append(dst, '{')
	for i, m := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, m.name), ':')
		dst = append(dst, m.raw...)
	}
	return append(dst, '}')
}
