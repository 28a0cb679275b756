// Package pyjson writes JSON as Python's json.dumps does.
package pyjson

import (
	"cmp"
	"io"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/tsdbridge/tsdbridge/graphite/python"
)

// ContentType is that of JSON.
const ContentType = "application/json"

// Chunk is how much of a body is gathered before it is written.
const Chunk = 64 << 10

// A Writer writes JSON as Python's json.dumps does: its blanks, its numbers, its escapes.
type Writer struct {
	w      io.Writer // nil: all stays in buf
	Gone   bool      // w has failed: nothing more is written
	Buf    []byte
	Pretty bool // two blanks for each level
	Raw    bool // characters beyond ASCII stand for themselves

	depth  int
	Filled bool // the array or object has a member
	keyed  bool // a key waits for its value
}

// New returns a writer to w.
func New(w io.Writer) *Writer {
	return &Writer{w: w, Buf: make([]byte, 0, Chunk+4096)}
}

// Flush writes what has been gathered.
func (j *Writer) Flush() {
	if j.w != nil && len(j.Buf) > 0 {
		if !j.Gone {
			_, err := j.w.Write(j.Buf)
			j.Gone = err != nil // It is the client's, who went away.
		}
		j.Buf = j.Buf[:0]
	}
}

// Next goes to where a member begins.
func (j *Writer) Next() {
	j.Spill()
	if j.keyed || j.depth == 0 {
		j.keyed = false
		return
	}
	if j.Filled {
		j.Buf = append(j.Buf, ',')
	}
	switch {
	case j.Pretty:
		j.line(j.depth)
	case j.Filled:
		j.Buf = append(j.Buf, ' ')
	}
	j.Filled = true
}

func (j *Writer) line(depth int) {
	j.Buf = append(j.Buf, '\n')
	for range depth {
		j.Buf = append(j.Buf, "  "...)
	}
}

// Open begins an array or object.
func (j *Writer) Open(bracket byte) {
	j.Next()
	j.Buf = append(j.Buf, bracket)
	j.depth++
	j.Filled = false
}

// Shut ends an array or object.
func (j *Writer) Shut(bracket byte) {
	j.depth--
	if j.Filled && j.Pretty {
		j.line(j.depth)
	}
	j.Buf = append(j.Buf, bracket)
	j.Filled = true
}

// Key writes the key of a member, whose value is to follow.
func (j *Writer) Key(name string) {
	j.Next()
	j.Buf = append(appendString(j.Buf, name, j.Raw), ": "...)
	j.keyed = true
}

func (j *Writer) String(s string) {
	j.Next()
	j.Buf = appendString(j.Buf, s, j.Raw)
}

// Int writes an integer.
func (j *Writer) Int(n int64) {
	j.Next()
	j.Buf = strconv.AppendInt(j.Buf, n, 10)
}

// Float writes a number; see AppendFloat.
func (j *Writer) Float(v float64) {
	j.Next()
	j.Buf = AppendFloat(j.Buf, v)
}

// AppendFloat appends NaN as null and infinities as what every reader takes for one.
func AppendFloat(buf []byte, v float64) []byte {
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

// Word writes null, true or false.
func (j *Writer) Word(s string) {
	j.Next()
	j.Buf = append(j.Buf, s...)
}

// Text writes text that is not JSON.
func (j *Writer) Text(s string) { j.Buf = append(j.Buf, s...) }

// Bytes writes what is no JSON and has been made as a whole.
func (j *Writer) Bytes(body []byte) {
	for part := range slices.Chunk(body, Chunk) {
		j.Buf = append(j.Buf, part...)
		j.Spill()
	}
}

// Write implements io.Writer, for what has been encoded. The client's errors are no one's.
func (j *Writer) Write(part []byte) (int, error) {
	j.Bytes(part)
	return len(part), nil
}

// Spill writes what has been gathered if it is much.
func (j *Writer) Spill() {
	if len(j.Buf) >= Chunk {
		j.Flush()
	}
}

// Object is an object of a value, in the order of its members.
type Object []Member

// Member is a member of an Object.
type Member struct {
	Key   string
	Value any
}

// Sorted returns the object in the order of its keys.
func (o Object) Sorted() Object {
	out := slices.Clone(o)
	slices.SortFunc(out, func(a, b Member) int { return cmp.Compare(a.Key, b.Key) })
	return out
}

// SortKeys returns a value whose objects are all sorted.
func SortKeys(v any) any {
	switch v := v.(type) {
	case Object:
		out := v.Sorted()
		for i := range out {
			out[i].Value = SortKeys(out[i].Value)
		}
		return out
	case []Object:
		out := make([]Object, len(v))
		for i, o := range v {
			out[i], _ = SortKeys(o).(Object)
		}
		return out
	}
	return v
}

// Value writes nil, bool, int, int64, float64, string, []string, []object, []any or object.
func (j *Writer) Value(v any) {
	switch v := v.(type) {
	case nil:
		j.Word("null")
	case bool:
		j.Word(strconv.FormatBool(v))
	case int:
		j.Int(int64(v))
	case int64:
		j.Int(v)
	case float64:
		j.Float(v)
	case string:
		j.String(v)
	case []string:
		Array(j, v, j.String)
	case []any:
		Array(j, v, j.Value)
	case []Object:
		Array(j, v, func(o Object) { j.Value(o) })
	case Object:
		j.Open('{')
		for _, m := range v {
			j.Key(m.Key)
			j.Value(m.Value)
		}
		j.Shut('}')
	}
}

// Array writes an array with what write writes for each item.
func Array[T any](j *Writer, list []T, write func(T)) {
	j.Open('[')
	for _, v := range list {
		if j.Gone {
			break
		}
		write(v)
	}
	j.Shut(']')
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
