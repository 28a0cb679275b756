// Package conf reads opentsdb.conf, a TSD's configuration file: properties in the format of Java. It knows
// no key.
package conf

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A Property is a key of a file with its value. Line is where it begins, from 1 on.
type Property struct {
	Key, Value string
	Line       int
}

// Parse reads properties in the order of the file. Of a key that is there twice the last value is true, as
// in Java; both are returned. An error names the line.
func Parse(text string) ([]Property, error) {
	var all []Property
	rest, line := text, 0
	for rest != "" {
		var logical string
		begin := line + 1
		logical, rest, line = logicalLine(rest, line)
		if logical == "" {
			continue
		}
		key, value := split(logical)
		p := Property{Line: begin}
		var err error
		if p.Key, err = unescape(key); err == nil {
			p.Value, err = unescape(value)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", begin, err)
		}
		all = append(all, p)
	}
	return all, nil
}

// blanks are what stands around keys.
const blanks = " \t\f"

// logicalLine returns the next line without what stands before its key. A backslash at its end joins the next
// one. Comments and empty lines are empty. line counts the lines that were read.
func logicalLine(text string, line int) (logical, rest string, _ int) {
	var b strings.Builder
	for first := true; ; first = false {
		physical := text
		if i := strings.IndexAny(text, "\r\n"); i >= 0 {
			physical, rest = text[:i], text[i+1:]
			if text[i] == '\r' && strings.HasPrefix(rest, "\n") {
				rest = rest[1:]
			}
		} else {
			rest = ""
		}
		line++
		physical = strings.TrimLeft(physical, blanks)
		if first && (physical == "" || physical[0] == '#' || physical[0] == '!') {
			return "", rest, line
		}
		if !continues(physical) {
			b.WriteString(physical)
			return b.String(), rest, line
		}
		b.WriteString(physical[:len(physical)-1])
		if text = rest; text == "" {
			return b.String(), "", line
		}
	}
}

// continues reports whether a line ends in an odd number of backslashes.
func continues(line string) bool {
	return (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1
}

// split cuts a line at the first "=", ":" or blank that is not escaped.
func split(line string) (key, value string) {
	end := len(line)
	for i := 0; i < len(line); i++ {
		if line[i] == '\\' {
			i++
		} else if strings.IndexByte(blanks+"=:", line[i]) >= 0 {
			end = i
			break
		}
	}
	value = strings.TrimLeft(line[end:], blanks)
	if value != "" && (value[0] == '=' || value[0] == ':') {
		value = strings.TrimLeft(value[1:], blanks)
	}
	return line[:end], value
}

func unescape(s string) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch s[i] {
		case 't':
			b.WriteByte('\t')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 'f':
			b.WriteByte('\f')
		case 'u':
			r, n, err := unicodeAt(s[i+1:])
			if err != nil {
				return "", err
			}
			b.WriteRune(r)
			i += n
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), nil
}

// unicodeAt reads the digits after \u, and those of the second half of a pair. n is how many bytes it read.
func unicodeAt(s string) (r rune, n int, err error) {
	first, err := fourDigits(s)
	if err != nil {
		return 0, 0, err
	}
	if utf16.IsSurrogate(first) {
		if rest, ok := strings.CutPrefix(s[4:], `\u`); ok {
			if second, err := fourDigits(rest); err == nil && utf16.DecodeRune(first, second) != utf8.RuneError {
				return utf16.DecodeRune(first, second), 10, nil
			}
		}
		return utf8.RuneError, 4, nil
	}
	return first, 4, nil
}

func fourDigits(s string) (rune, error) {
	if len(s) < 4 {
		return 0, fmt.Errorf(`malformed \u%s: want four hexadecimal digits`, s)
	}
	v, err := strconv.ParseUint(s[:4], 16, 32)
	if err != nil {
		return 0, fmt.Errorf(`malformed \u%s: want four hexadecimal digits`, s[:4])
	}
	return rune(v), nil
}
