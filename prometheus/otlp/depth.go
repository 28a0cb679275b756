package otlp

import (
	"errors"

	"github.com/tsdbridge/tsdbridge/prometheus/wire"
)

// Bounds of what the module decodes by recursion.
const (
	maxDepth      = 16  // of lists and maps in an attribute
	maxAttributes = 512 // of a resource, a scope, a data point or an exemplar
)

var (
	errDepth      = errors.New("attribute with values nested more than 16 deep")
	errAttributes = errors.New("more than 512 attributes")
	errJSONDepth  = errors.New("JSON nested too deeply")
)

// checkAttributes checks the attributes of a message that are in a field. Exemplars, in another
// field (0: none), have attributes too.
func checkAttributes(b []byte, field, exemplars int32) error {
	n := 0
	f := wire.FieldsOf(b)
	for f.Next() {
		var err error
		switch {
		case f.Number == field && f.Type == wire.Bytes:
			if n++; n > maxAttributes {
				return errAttributes
			}
			err = checkKeyValue(f.Bytes(), maxDepth)
		case f.Number == exemplars && f.Type == wire.Bytes:
			err = checkAttributes(f.Bytes(), exemplarAttributes, 0)
		default:
			f.Skip()
		}
		if err != nil {
			return err
		}
	}
	return f.Err()
}

const exemplarAttributes = 7

func checkKeyValue(b []byte, depth int) error { return checkNested(b, 2, depth, checkValue) }

// checkValue checks an AnyValue.
func checkValue(b []byte, depth int) error {
	if depth == 0 {
		return errDepth
	}
	const list, pairs = 5, 6
	if err := checkNested(b, list, depth-1, checkList); err != nil {
		return err
	}
	return checkNested(b, pairs, depth-1, checkPairs)
}

func checkList(b []byte, depth int) error { return checkNested(b, 1, depth, checkValue) }

func checkPairs(b []byte, depth int) error { return checkNested(b, 1, depth, checkKeyValue) }

// checkNested checks the messages in a field.
func checkNested(b []byte, field int32, depth int, check func([]byte, int) error) error {
	f := wire.FieldsOf(b)
	for f.Next() {
		if f.Number != field || f.Type != wire.Bytes {
			f.Skip()
			continue
		}
		if err := check(f.Bytes(), depth); err != nil {
			return err
		}
	}
	return f.Err()
}

// maxJSONDepth is above that of a request with attributes of maxDepth.
const maxJSONDepth = 80

// checkJSONDepth bounds the recursion of the module's JSON decoder.
func checkJSONDepth(b []byte) error {
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
				return errJSONDepth
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}
