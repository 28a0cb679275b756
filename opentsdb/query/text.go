package query

import (
	"encoding/json"
	"fmt"
	"strings"
)

// text is a string in JSON, which may also be a number or a boolean.
type text string

// Text is text in requests that other rooms read.
type Text = text

// Flag is a boolean in requests that other rooms read.
type Flag = flag

// UnmarshalJSON implements json.Unmarshaler.
func (t *text) UnmarshalJSON(b []byte) error {
	switch {
	case len(b) > 0 && b[0] == '"':
		return json.Unmarshal(b, (*string)(t))
	case string(b) == "null":
		*t = ""
	case strings.ContainsRune("[{", rune(b[0])):
		return fmt.Errorf("Can not deserialize instance of java.lang.String out of %c", b[0])
	default:
		*t = text(b)
	}
	return nil
}

// flag is a boolean in JSON, which may also be text or a number.
type flag bool

// UnmarshalJSON implements json.Unmarshaler.
func (f *flag) UnmarshalJSON(b []byte) error {
	switch strings.Trim(string(b), `"`) {
	case "true", "True", "TRUE":
		*f = true
	case "false", "False", "FALSE", "null", "", "0":
		*f = false
	default:
		if b[0] >= '1' && b[0] <= '9' || b[0] == '-' {
			*f = true
			return nil
		}
		return fmt.Errorf("Can not deserialize value of type boolean from %s", b)
	}
	return nil
}
