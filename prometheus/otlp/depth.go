package otlp

import (
	"errors"

	"github.com/tsdbridge/tsdbridge/prometheus/wire"
)

// Bounds of what the module decodes by recursion.
const (
	maxDepth      = 16  // of lists and maps in an attribute
	maxAttributes = 512 // of a resource, a scope, a data point or an exemplar
	maxExemplars  = 512 // of a data point
)

var (
	errDepth      = errors.New("attribute with values nested more than 16 deep")
	errAttributes = errors.New("more than 512 attributes")
	errExemplars  = errors.New("more than 512 exemplars")
	errNoValue    = errors.New("no value")
	errJSONDepth  = errors.New("JSON nested too deeply")
)

// An attributesCheck checks what the module decodes by recursion, and counts its messages.
type attributesCheck struct{ messages int }

// message checks the attributes of a message that are in a field.
func (c *attributesCheck) message(b []byte, field int32) error {
	n := 0
	f := wire.FieldsOf(b)
	for f.Next() {
		if f.Number != field || f.Type != wire.Bytes {
			f.Skip()
			continue
		}
		if n++; n > maxAttributes {
			return errAttributes
		}
		if err := c.keyValue(f.Bytes(), maxDepth); err != nil {
			return err
		}
	}
	return f.Err()
}

// Field numbers of an Exemplar.
const (
	exemplarDouble     = 3
	exemplarInt        = 6
	exemplarAttributes = 7
)

// exemplar checks an exemplar: it must have a value.
func (c *attributesCheck) exemplar(b []byte) error {
	c.messages++
	if err := c.message(b, exemplarAttributes); err != nil {
		return err
	}
	f := wire.FieldsOf(b)
	for f.Next() {
		if f.Number == exemplarDouble || f.Number == exemplarInt {
			return nil
		}
		f.Skip()
	}
	return errNoValue
}

func (c *attributesCheck) keyValue(b []byte, depth int) error {
	return c.nested(b, 2, depth, c.value)
}

// value checks an AnyValue.
func (c *attributesCheck) value(b []byte, depth int) error {
	if depth == 0 {
		return errDepth
	}
	const list, pairs = 5, 6
	if err := c.nested(b, list, depth-1, c.list); err != nil {
		return err
	}
	return c.nested(b, pairs, depth-1, c.pairs)
}

func (c *attributesCheck) list(b []byte, depth int) error { return c.nested(b, 1, depth, c.value) }

func (c *attributesCheck) pairs(b []byte, depth int) error { return c.nested(b, 1, depth, c.keyValue) }

// nested checks the messages in a field.
func (c *attributesCheck) nested(b []byte, field int32, depth int, check func([]byte, int) error) error {
	f := wire.FieldsOf(b)
	for f.Next() {
		if f.Number != field || f.Type != wire.Bytes {
			f.Skip()
			continue
		}
		c.messages++
		if err := check(f.Bytes(), depth); err != nil {
			return err
		}
	}
	return f.Err()
}

// maxJSONDepth is above that of a request with attributes of maxDepth.
const maxJSONDepth = 80

// checkJSON bounds the recursion of the module's JSON decoder, and returns how many objects and lists
// it meets.
func checkJSON(b []byte) (objects int, err error) {
	depth, quoted := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxJSONDepth {
				return 0, errJSONDepth
			}
			objects++
		case c == '}' || c == ']':
			depth--
		}
	}
	return objects, nil
}
