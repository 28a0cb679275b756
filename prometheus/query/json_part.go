package query

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"sync"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"github.com/tsdbridge/tsdbridge/internal/decimal"
)

// jsonPart is the text of some items of an answer. Repeated texts are formatted once: a series most
// likely has the times of the series before, and a value is often equal to the one before it. The
// panels of a dashboard ask for the same times, so these are kept for the next answer.
type jsonPart struct {
	text  []byte
	times []timeText // of the steps met so far, ascending
	digit []byte     // what times are cut from
	begun bool       // times are those of this answer
}

// timeText is `[1435781451.781,"`, from digit[begin] to digit[end].
type timeText struct {
	time       int64 // milliseconds
	begin, end int
}

// reset begins the text of another answer.
func (p *jsonPart) reset() { p.text, p.begun = p.text[:0], false }

// write appends list[from:to] with a comma before each item, except the first item of the list.
func (p *jsonPart) write(list items, from, to int) {
	for i := from; i < to; i++ {
		if i > 0 {
			p.text = append(p.text, ',')
		}
		list.append(p, i)
	}
}

// maxKeptText bounds the memory that a part keeps for the next answer, in bytes.
const maxKeptText = 8 << 20

func (p *jsonPart) release(pool *sync.Pool) {
	if cap(p.text) <= maxKeptText {
		pool.Put(p)
	}
}

func (p *jsonPart) series(s *promql.Series) {
	p.metric(s.Metric)
	if len(s.Floats) == 0 {
		p.text = append(p.text, '}')
		return
	}
	if !p.begun {
		p.begin(s.Floats)
	}
	p.text = append(p.text, `,"values":[`...)
	b := p.text
	next := 0 // in times
	valueBegin, valueEnd, value := 0, 0, uint64(0)
	for i := range s.Floats {
		point := &s.Floats[i]
		if i > 0 {
			b = append(b, ',')
		}
		for next < len(p.times) && p.times[next].time < point.T {
			next++
		}
		if next == len(p.times) {
			p.addTime(point.T)
		}
		if t := &p.times[next]; t.time == point.T {
			b = append(b, p.digit[t.begin:t.end]...)
		} else {
			b = appendTimeText(b, point.T)
		}
		if bits := math.Float64bits(point.F); i > 0 && bits == value {
			b = append(b, b[valueBegin:valueEnd]...)
		} else {
			value, valueBegin = bits, len(b)
			b = append(appendValue(b, point.F), '"', ']')
			valueEnd = len(b)
		}
	}
	p.text = append(b, ']', '}')
}

// maxKeptTimes bounds the times that are kept for the next answer, in bytes of their texts.
const maxKeptTimes = 64 << 10

// begin prepares for the first series of an answer. Times of an earlier answer are used again from
// the first point on, if both have the same steps.
func (p *jsonPart) begin(points []promql.FPoint) {
	p.begun = true
	at, found := slices.BinarySearchFunc(p.times, points[0].T, func(t timeText, first int64) int { return cmp.Compare(t.time, first) })
	if found && len(p.digit) <= maxKeptTimes && len(points) > 1 && at+1 < len(p.times) && p.times[at+1].time == points[1].T {
		p.times = p.times[at:]
		return
	}
	p.times, p.digit = p.times[:0], p.digit[:0]
}

// appendHead appends the beginning of a series with points that are text.
func appendHead(b []byte, ls labels.Labels) []byte {
	p := jsonPart{text: b}
	p.metric(ls)
	return append(p.text, `,"values":[`...)
}

// appendPointValue appends the end of a point, after appendTimeText, and the comma after it.
func appendPointValue(b []byte, v float64) []byte {
	return append(appendValue(b, v), '"', ']', ',')
}

// addTime appends the text of a time that is later than all others.
func (p *jsonPart) addTime(t int64) {
	begin := len(p.digit)
	p.digit = appendTimeText(p.digit, t)
	p.times = append(p.times, timeText{t, begin, len(p.digit)})
}

func (p *jsonPart) sample(s *promql.Sample) {
	p.metric(s.Metric)
	p.text = append(p.text, `,"value":`...)
	p.text = appendTimeText(p.text, s.T)
	p.text = append(appendValue(p.text, s.F), '"', ']', '}')
}

func (p *jsonPart) metric(ls labels.Labels) {
	b := append(p.text, `{"metric":{`...)
	first := true
	ls.Range(func(l labels.Label) {
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(appendQuoted(b, l.Name), ':')
		b = appendQuoted(b, l.Value)
	})
	p.text = append(b, '}')
}

// appendTimeText appends the beginning of a point: its time in seconds, and the quote before its
// value.
func appendTimeText(b []byte, ms int64) []byte {
	b = append(b, '[')
	if ms < 0 {
		b, ms = append(b, '-'), -ms
	}
	b = strconv.AppendInt(b, ms/1000, 10)
	if rest := ms % 1000; rest != 0 {
		b = append(b, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
	}
	return append(b, ',', '"')
}

// appendValue appends a float as strconv does, with the fewest digits that restore it. Outside of
// [1e-6, 1e21) it uses an exponent.
func appendValue(b []byte, f float64) []byte {
	if text, ok := decimal.Append(b, f); ok {
		return text
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(b, f, format, -1, 64)
}

// appendQuoted appends a JSON string. It escapes quotes, backslashes and control characters and
// copies all other bytes.
func appendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			const hex = "0123456789abcdef"
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
		}
	}
	return append(append(b, s[start:]...), '"')
}
