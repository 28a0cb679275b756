package resultcache

import (
	"math"
	"slices"
	"sync/atomic"

	"github.com/prometheus/prometheus/promql"

	"github.com/tsdbridge/tsdbridge/internal/query"
)

// A segment is the texts of the points of some rows at consecutive steps. It does not change, so
// that several answers may share it.
type segment struct {
	first int64 // time of the first step
	steps int
	parts []part // by their first rows
}

// A part is some rows of a segment. A step without a point has an empty text.
type part struct {
	first  int      // row
	text   []byte   // of all rows
	begins []uint32 // of the rows in text
	ends   []uint16 // of the points of all rows, counted from where their row begins
}

const (
	// segmentSteps is how many steps a segment has at most. The oldest steps of an answer that are not
	// asked for any more stay in memory until they are a whole segment.
	segmentSteps = 64
	// usualText is about how long the text of a point is, in bytes.
	usualText = 32
	// pointsPerCore is how many points are worth a core of their own.
	pointsPerCore = 8 << 10
)

// points returns the texts of the points of a row from a step to before another one.
func (s *segment) points(row, from, to int) []byte {
	k := len(s.parts) - 1
	for s.parts[k].first > row {
		k--
	}
	p := &s.parts[k]
	row -= p.first
	ends, begin := p.ends[row*s.steps:(row+1)*s.steps], 0
	if from > 0 {
		begin = int(ends[from-1])
	}
	return p.text[int(p.begins[row])+begin : int(p.begins[row])+int(ends[to-1])]
}

// segmentBytes and partBytes are the memory of a segment and a part without their rows.
const (
	segmentBytes = 64
	partBytes    = 96
)

func (s *segment) bytes() int64 {
	n := int64(segmentBytes)
	for i := range s.parts {
		p := &s.parts[i]
		n += partBytes + int64(cap(p.text)) + 4*int64(cap(p.begins)) + 2*int64(cap(p.ends))
	}
	return n
}

// writeSegments writes the floats of series at the steps of a grid. It returns false if a row is too
// long for a segment.
func writeSegments(g grid, m []*promql.Series, f Format) ([]*segment, bool) {
	points := 0
	for _, s := range m {
		points += len(s.Floats)
	}
	shares := max(1, min(query.Shares(points, pointsPerCore), len(m)))
	all := newSegments(g, shares)
	times := newTimes(g, f)
	var tooLong atomic.Bool
	query.Split(len(m), shares, func(share, from, to int) {
		w := segmentWriter{grid: g, times: times, format: f, series: m[from:to], next: make([]int, to-from)}
		step := 0
		for _, s := range all {
			p, ok := w.write(step, s.steps)
			if !ok {
				tooLong.Store(true)
				return
			}
			p.first = from
			s.parts[share] = p
			step += s.steps
		}
	})
	return all, !tooLong.Load()
}

// newSegments returns the segments of a grid, without rows.
func newSegments(g grid, parts int) []*segment {
	var all []*segment
	for step := 0; step < g.steps(); step += segmentSteps {
		all = append(all, &segment{first: g.time(step), steps: min(segmentSteps, g.steps()-step), parts: make([]part, parts)})
	}
	return all
}

// times are the texts of the steps of a grid.
type times struct {
	text []byte
	ends []int
}

func newTimes(g grid, f Format) times {
	t := times{ends: make([]int, 0, g.steps()+1)}
	t.ends = append(t.ends, 0)
	for i := range g.steps() {
		t.text = f.Time(t.text, g.time(i))
		t.ends = append(t.ends, len(t.text))
	}
	return t
}

func (t *times) of(step int) []byte { return t.text[t.ends[step]:t.ends[step+1]] }

// segmentWriter writes the parts of some series, one segment after the other.
type segmentWriter struct {
	grid   grid
	times  times
	format Format
	series []*promql.Series
	next   []int // the first point of each series that is not written
	text   []byte
}

// write returns the part of a segment.
func (w *segmentWriter) write(step, steps int) (part, bool) {
	p := part{begins: make([]uint32, len(w.series)), ends: make([]uint16, len(w.series)*steps)}
	w.text = w.text[:0]
	for i := range w.series {
		p.begins[i] = uint32(len(w.text))
		if !w.row(i, step, p.ends[i*steps:(i+1)*steps]) {
			return part{}, false
		}
	}
	p.text = slices.Clone(w.text)
	return p, true
}

// row writes the points of a series at some steps.
func (w *segmentWriter) row(i, step int, ends []uint16) bool {
	floats, next := w.series[i].Floats, w.next[i]
	text, begin := w.text, len(w.text)
	valueBegin, valueEnd := 0, 0
	for k := range ends {
		if next < len(floats) && floats[next].T == w.grid.time(step+k) {
			text = append(text, w.times.of(step+k)...)
			if valueEnd > 0 && math.Float64bits(floats[next].F) == math.Float64bits(floats[next-1].F) {
				text = append(text, text[valueBegin:valueEnd]...)
			} else {
				valueBegin = len(text)
				text = w.format.Value(text, floats[next].F)
				valueEnd = len(text)
			}
			next++
		}
		if len(text)-begin > math.MaxUint16 {
			return false
		}
		ends[k] = uint16(len(text) - begin)
	}
	w.text, w.next[i] = text, next
	return true
}

// A piece is some steps of a segment, as a part of an answer.
type piece struct {
	*segment
	from, to int // steps
	// rows are the rows of the answer's series, -1 for none; nil: each has the row of its number.
	rows []int32
}

func (p *piece) points(series int) []byte {
	if p.rows != nil {
		series = int(p.rows[series])
	}
	if series < 0 {
		return nil
	}
	return p.segment.points(series, p.from, p.to)
}

// between returns the steps of a piece that a grid has, and false if there are none.
func (p piece) between(g grid) (piece, bool) {
	if before := g.first - p.first; before > 0 {
		p.from = max(p.from, int(before/g.step))
	}
	if g.last < p.first {
		return p, false
	}
	p.to = min(p.to, int((g.last-p.first)/g.step)+1)
	return p, p.from < p.to
}

// join returns a piece followed by the next one, as a segment of their own. n is the number of
// series. It returns false if a row is too long.
func (p *piece) join(next *piece, n int, step int64) (piece, bool) {
	size := 0
	for i := range n {
		size += len(p.points(i)) + len(next.points(i))
	}
	steps := p.to - p.from + next.to - next.from
	one := part{text: make([]byte, 0, size), begins: make([]uint32, n), ends: make([]uint16, n*steps)}
	for i := range n {
		begin := len(one.text)
		one.begins[i] = uint32(begin)
		ends := one.ends[i*steps : i*steps : (i+1)*steps]
		for _, from := range []*piece{p, next} {
			ends = from.appendEnds(ends, i, len(one.text)-begin)
			one.text = append(one.text, from.points(i)...)
		}
		if len(one.text)-begin > math.MaxUint16 {
			return piece{}, false
		}
	}
	s := &segment{first: p.first + int64(p.from)*step, steps: steps, parts: []part{one}}
	return piece{segment: s, to: steps}, true
}

// appendEnds appends where the points of a series end, in a row in which they begin at a place.
func (p *piece) appendEnds(ends []uint16, series, begin int) []uint16 {
	if p.rows != nil {
		series = int(p.rows[series])
	}
	for step := p.from; step < p.to; step++ {
		end := begin
		if series >= 0 {
			end += len(p.segment.points(series, p.from, step+1))
		}
		ends = append(ends, uint16(end))
	}
	return ends
}
