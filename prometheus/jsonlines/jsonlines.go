// Package jsonlines reads and writes series as lines of JSON, as VictoriaMetrics exports and imports
// them (/api/v1/export, /api/v1/import): {"metric":{"__name__":"up"},"values":[1],"timestamps":[1700000000000]}.
// It opens no file.
package jsonlines

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/prometheus/prometheus/model/labels"
)

// A Line is a series with some of its samples.
type Line struct {
	Labels labels.Labels
	Times  []int64 // milliseconds
	Values []float64
}

// Append appends a line. Infinities become numbers that are beyond all floats, since versions of
// VictoriaMetrics have other words for them. There must be no NaN: some refuse the whole line then.
func Append(dst []byte, ls labels.Labels, times []int64, values []float64) []byte {
	dst = append(dst, `{"metric":{`...)
	first := true
	ls.Range(func(l labels.Label) {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = appendString(dst, l.Name)
		dst = append(dst, ':')
		dst = appendString(dst, l.Value)
	})
	dst = append(dst, `},"values":[`...)
	for i, v := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendValue(dst, v)
	}
	dst = append(dst, `],"timestamps":[`...)
	for i, t := range times {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, t, 10)
	}
	return append(dst, "]}\n"...)
}

func appendString(dst []byte, s string) []byte {
	text, _ := json.Marshal(s) // a string can always be written
	return append(dst, text...)
}

func appendValue(dst []byte, v float64) []byte {
	switch {
	case math.IsInf(v, 1):
		return append(dst, "1e999"...)
	case math.IsInf(v, -1):
		return append(dst, "-1e999"...)
	}
	return strconv.AppendFloat(dst, v, 'g', -1, 64)
}

// value is a value of a line: a number, null, or the name of a number in a string.
type value float64

// UnmarshalJSON implements json.Unmarshaler.
func (v *value) UnmarshalJSON(text []byte) error {
	switch s := string(text); s {
	case "null":
		*v = value(math.NaN())
		return nil
	default:
		if len(s) > 1 && s[0] == '"' {
			s = s[1 : len(s)-1]
		}
		f, err := strconv.ParseFloat(s, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return fmt.Errorf("value %.40q is no number", s)
		}
		*v = value(f)
		return nil
	}
}

// quoteWords puts words such as +Inf and NaN, which VictoriaMetrics up to 1.79 writes as values, into quotes.
func quoteWords(text []byte) []byte {
	out := make([]byte, 0, len(text)+64)
	for i := 0; i < len(text); {
		n := 1
		switch text[i] {
		case '"':
			n = stringLength(text[i:])
		case '+', '-', 'I', 'N':
			for i+n < len(text) && (text[i+n] >= 'A' && text[i+n] <= 'Z' || text[i+n] >= 'a' && text[i+n] <= 'z') {
				n++
			}
			if n > 1 {
				out = append(append(append(out, '"'), text[i:i+n]...), '"')
				i += n
				continue
			}
		}
		out = append(out, text[i:i+n]...)
		i += n
	}
	return out
}

// stringLength returns the length of a string of JSON with its quotes.
func stringLength(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// Parse reads a line. Its labels may be any.
func Parse(text []byte) (*Line, error) {
	var l struct {
		Metric     map[string]string `json:"metric"`
		Values     []value           `json:"values"`
		Timestamps []int64           `json:"timestamps"`
	}
	if !utf8.Valid(text) {
		return nil, errors.New("it is not UTF-8")
	}
	if bytes.Contains(text, []byte("Inf")) || bytes.Contains(text, []byte("NaN")) {
		text = quoteWords(text)
	}
	if err := json.Unmarshal(text, &l); err != nil {
		return nil, err
	}
	if l.Metric == nil || l.Values == nil || l.Timestamps == nil {
		return nil, errors.New("it has no metric, values and timestamps")
	}
	if bytes.Contains(text, []byte("null")) && slices.Contains(l.Timestamps, 0) && !allTimes(text) {
		return nil, errors.New("a timestamp is null")
	}
	if len(l.Values) != len(l.Timestamps) {
		return nil, fmt.Errorf("%d values, and %d timestamps", len(l.Values), len(l.Timestamps))
	}
	for name, v := range l.Metric {
		if len(name)+len(v) >= 1<<24 {
			return nil, errors.New("a label is too long")
		}
	}
	line := &Line{Labels: labels.FromMap(l.Metric), Times: l.Timestamps, Values: make([]float64, len(l.Values))}
	for i, v := range l.Values {
		line.Values[i] = float64(v)
	}
	return line, nil
}

// allTimes reports whether no timestamp of a line is null. Without pointers null is 0.
func allTimes(text []byte) bool {
	var l struct {
		Timestamps []*int64 `json:"timestamps"`
	}
	return json.Unmarshal(text, &l) == nil && !slices.Contains(l.Timestamps, nil)
}
