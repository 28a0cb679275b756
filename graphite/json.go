package graphite

import (
	"cmp"
	"io"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/tsdbridge/tsdbridge/graphite/python"
)

const jsonType = "application/json"

// jsonChunk is how much of a body is gathered before it is written.
const jsonChunk = 64 << 10

// A jsonWriter writes JSON as Python's json.dumps does: its blanks, its numbers, its escapes.
type jsonWriter struct {
	w      io.Writer // nil: all stays in buf
	gone   bool      // w has failed: nothing more is written
	buf    []byte
	pretty bool // two blanks for each level
	raw    bool // characters beyond ASCII stand for themselves

	depth  int
	filled bool // the array or object has a member
	keyed  bool // a key waits for its value
}

func newJSONWriter(w io.Writer) *jsonWriter {
	return &jsonWriter{w: w, buf: make([]byte, 0, jsonChunk+4096)}
}

func (j *jsonWriter) flush() {
	if j.w != nil && len(j.buf) > 0 {
		if !j.gone {
			_, err := j.w.Write(j.buf)
			j.gone = err != nil // It is the client's, who went away.
		}
		j.buf = j.buf[:0]
	}
}

// next goes to where a member begins.
func (j *jsonWriter) next() {
	j.spill()
	if j.keyed || j.depth == 0 {
		j.keyed = false
		return
	}
	if j.filled {
		j.buf = append(j.buf, ',')
	}
	switch {
	case j.pretty:
		j.line(j.depth)
	case j.filled:
		j.buf = append(j.buf, ' ')
	}
	j.filled = true
}

func (j *jsonWriter) line(depth int) {
	j.buf = append(j.buf, '\n')
	for range depth {
		j.buf = append(j.buf, "  "...)
	}
}

// open begins an array or object, shut ends it.
func (j *jsonWriter) open(bracket byte) {
	j.next()
	j.buf = append(j.buf, bracket)
	j.depth++
	j.filled = false
}

func (j *jsonWriter) shut(bracket byte) {
	j.depth--
	if j.filled && j.pretty {
		j.line(j.depth)
	}
	j.buf = append(j.buf, bracket)
	j.filled = true
}

func (j *jsonWriter) key(name string) {
	j.next()
	j.buf = append(appendString(j.buf, name, j.raw), ": "...)
	j.keyed = true
}

func (j *jsonWriter) string(s string) {
	j.next()
	j.buf = appendString(j.buf, s, j.raw)
}

func (j *jsonWriter) int(n int64) {
	j.next()
	j.buf = strconv.AppendInt(j.buf, n, 10)
}

func (j *jsonWriter) float(v float64) {
	j.next()
	j.buf = appendJSONFloat(j.buf, v)
}

// appendJSONFloat appends NaN as null and infinities as what every reader takes for one.
func appendJSONFloat(buf []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		return append(buf, "null"...)
	case math.IsInf(v, 1):
		return append(buf, "1e9999"...)
	case math.IsInf(v, -1):
		return append(buf, "-1e9999"...)
	}
	return python.AppendFloat(buf, v)
}

// word writes null, true or false.
func (j *jsonWriter) word(s string) {
	j.next()
	j.buf = append(j.buf, s...)
}

// text writes text that is not JSON.
func (j *jsonWriter) text(s string) { j.buf = append(j.buf, s...) }

// bytes writes what is no JSON and has been made as a whole.
func (j *jsonWriter) bytes(body []byte) {
	for part := range slices.Chunk(body, jsonChunk) {
		j.buf = append(j.buf, part...)
		j.spill()
	}
}

// Write implements io.Writer, for what has been encoded. The client's errors are no one's.
func (j *jsonWriter) Write(part []byte) (int, error) {
	j.bytes(part)
	return len(part), nil
}

// spill writes what has been gathered if it is much.
func (j *jsonWriter) spill() {
	if len(j.buf) >= jsonChunk {
		j.flush()
	}
}

// object is an object of a value, in the order of its members.
type object []member

type member struct {
	key   string
	value any
}

// sorted returns the object in the order of its keys.
func (o object) sorted() object {
	out := slices.Clone(o)
	slices.SortFunc(out, func(a, b member) int { return cmp.Compare(a.key, b.key) })
	return out
}

// sortKeys returns a value whose objects are all sorted.
func sortKeys(v any) any {
	switch v := v.(type) {
	case object:
		out := v.sorted()
		for i := range out {
			out[i].value = sortKeys(out[i].value)
		}
		return out
	case []object:
		out := make([]object, len(v))
		for i, o := range v {
			out[i], _ = sortKeys(o).(object)
		}
		return out
	}
	return v
}

// value writes nil, bool, int, int64, float64, string, []string, []object, []any or object.
func (j *jsonWriter) value(v any) {
	switch v := v.(type) {
	case nil:
		j.word("null")
	case bool:
		j.word(strconv.FormatBool(v))
	case int:
		j.int(int64(v))
	case int64:
		j.int(v)
	case float64:
		j.float(v)
	case string:
		j.string(v)
	case []string:
		array(j, v, j.string)
	case []any:
		array(j, v, j.value)
	case []object:
		array(j, v, func(o object) { j.value(o) })
	case object:
		j.open('{')
		for _, m := range v {
			j.key(m.key)
			j.value(m.value)
		}
		j.shut('}')
	}
}

func array[T any](j *jsonWriter, list []T, write func(T)) {
	j.open('[')
	for _, v := range list {
		if j.gone {
			break
		}
		write(v)
	}
	j.shut(']')
}

// appendString returns a text as json.dumps writes it; raw is ensure_ascii=False.
func appendString(buf []byte, s string, raw bool) []byte {
	buf = append(buf, '"')
	plain := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		buf = append(buf, s[plain:i]...)
		size := 1
		if c < utf8.RuneSelf {
			buf = appendEscape(buf, c)
		} else {
			var r rune
			r, size = utf8.DecodeRuneInString(s[i:])
			if raw {
				buf = utf8.AppendRune(buf, r)
			} else {
				buf = appendRune(buf, r)
			}
		}
		i += size
		plain = i
	}
	return append(append(buf, s[plain:]...), '"')
}

func appendEscape(buf []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(buf, '\\', c)
	case '\n':
		return append(buf, `\n`...)
	case '\r':
		return append(buf, `\r`...)
	case '\t':
		return append(buf, `\t`...)
	case '\f':
		return append(buf, `\f`...)
	case '\b':
		return append(buf, `\b`...)
	}
	return appendUnit(buf, uint16(c))
}

// appendRune writes a character in UTF-16, as JSON has it.
func appendRune(buf []byte, r rune) []byte {
	if r < 0x10000 {
		return appendUnit(buf, uint16(r))
	}
	r -= 0x10000
	return appendUnit(appendUnit(buf, uint16(0xd800|r>>10)), uint16(0xdc00|r&0x3ff))
}

func appendUnit(buf []byte, u uint16) []byte {
	const digits = "0123456789abcdef"
	return append(buf, '\\', 'u', digits[u>>12], digits[u>>8&15], digits[u>>4&15], digits[u&15])
}
