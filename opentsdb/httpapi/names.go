package httpapi

import (
	"errors"
	"strings"
	"unicode"
)

// CheckName is OpenTSDB's Tags.validateString: it returns why a name cannot be put, with a TSD's text. The characters of
// special are allowed too.
func CheckName(what, name, special string) error {
	if name == "" {
		return errors.New("Invalid " + what + ": empty string")
	}
	for _, c := range name {
		if !allowed(c) && !strings.ContainsRune(special, c) {
			return errors.New("Invalid " + what + ` ("` + name + `"): illegal character: ` + string(c))
		}
	}
	return nil
}

// allowed reports whether a name may have a character. A TSD allows all letters, and stores those
// above U+00FF as "?".
func allowed(c rune) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '-' <= c && c <= '9', c == '_': // - . / and digits
		return true
	}
	return c >= 0x80 && c <= 0xff && unicode.IsLetter(c)
}
