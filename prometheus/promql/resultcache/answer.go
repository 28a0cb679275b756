package resultcache

import (
	"encoding/json"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// A Format writes series as they are sent: the text before the points of a series, and for each point
// the text of its time, followed by that of its value.
type Format struct {
	Labels func(dst []byte, ls labels.Labels) []byte
	Time   func(dst []byte, ms int64) []byte
	Value  func(dst []byte, v float64) []byte
}

// An Answer is the points of series at the steps of a grid, as they are sent: most of the time of a
// wide answer goes into writing its numbers. It is a matrix to the caller of an engine, and does not
// change.
type Answer struct {
	grid   grid
	list   *list
	pieces []piece // one after the other
	notes  notes
}

var _ parser.Value = (*Answer)(nil)

// Type implements parser.Value.
func (*Answer) Type() parser.ValueType { return parser.ValueTypeMatrix }

// String implements parser.Value.
func (a *Answer) String() string {
	var b []byte
	for i := range a.Len() {
		b = append(a.AppendPoints(append(b, a.Head(i)...), i), '\n')
	}
	return string(b)
}

// MarshalJSON refuses to marshal the answer: its points have a text, which only their sender knows.
func (*Answer) MarshalJSON() ([]byte, error) {
	return nil, &json.UnsupportedValueError{Str: "an answer that is kept"}
}

// Len returns the number of series. Some may have no points.
func (a *Answer) Len() int { return len(a.list.labels) }

// Head returns the text before the points of a series.
func (a *Answer) Head(i int) []byte { return a.list.head(i) }

// AppendPoints appends the texts of the points of a series.
func (a *Answer) AppendPoints(dst []byte, i int) []byte {
	for k := range a.pieces {
		dst = append(dst, a.pieces[k].points(i)...)
	}
	return dst
}

// newAnswer writes a result. It returns nil for one that cannot be kept: an error, histograms, and
// what would take more than so many bytes. known is the answer that it continues; it may be nil.
func newAnswer(g grid, r *promql.Result, n notes, known *Answer, f Format, most int64) *Answer {
	m, ok := r.Value.(promql.Matrix)
	if r.Err != nil || !ok {
		return nil
	}
	points, some, names := 0, make([]*promql.Series, 0, len(m)), make([]labels.Labels, 0, len(m))
	for i := range m {
		if len(m[i].Histograms) > 0 {
			return nil
		}
		if len(m[i].Floats) > 0 {
			some, names = append(some, &m[i]), append(names, m[i].Metric)
			points += len(m[i].Floats)
		}
	}
	if int64(points)*usualText > most {
		return nil
	}
	segments, ok := writeSegments(g, some, f)
	if !ok {
		return nil
	}
	a := &Answer{grid: g, notes: n, pieces: make([]piece, 0, len(segments))}
	for _, s := range segments {
		a.pieces = append(a.pieces, piece{segment: s, to: s.steps})
	}
	if known != nil && known.list.has(names) {
		a.list = known.list
	} else {
		a.list = newList(names, f)
	}
	return a
}

// between returns the part of an answer at the steps of a grid that lies within the answer's.
func (a *Answer) between(g grid) *Answer {
	part := &Answer{grid: g, list: a.list, notes: a.notes.between(g), pieces: make([]piece, 0, len(a.pieces)+1)}
	for _, p := range a.pieces {
		if p, ok := p.between(g); ok {
			part.pieces = append(part.pieces, p)
		}
	}
	return part
}

// join returns an answer followed by another one, whose grid continues its grid. n are the notes of
// both.
func (a *Answer) join(next *Answer, n notes, f Format) *Answer {
	whole := &Answer{grid: grid{a.grid.first, next.grid.last, a.grid.step}, notes: n, list: a.list}
	if a.list == next.list {
		whole.pieces = append(append(whole.pieces, a.pieces...), next.pieces...)
	} else {
		u := a.list.join(next.list.labels, a.alive)
		if !a.list.has(u.labels) {
			whole.list = newList(u.labels, f)
			whole.pieces = renumbered(a.pieces, u.left)
		} else {
			whole.pieces = append(whole.pieces, a.pieces...)
		}
		whole.pieces = append(whole.pieces, renumbered(next.pieces, u.right)...)
	}
	whole.joinSmall()
	return whole
}

// alive reports whether a series has points.
func (a *Answer) alive(i int) bool {
	for k := range a.pieces {
		if len(a.pieces[k].points(i)) > 0 {
			return true
		}
	}
	return false
}

// renumbered returns pieces for another list of series. old are the numbers in the list before.
func renumbered(pieces []piece, old []int32) []piece {
	all := make([]piece, 0, len(pieces))
	for i, p := range pieces {
		switch {
		case p.rows == nil:
			p.rows = old
		case i > 0 && sharesRows(pieces[i-1], p):
			p.rows = all[i-1].rows
		default:
			p.rows = make([]int32, len(old))
			for k, before := range old {
				p.rows[k] = -1
				if before >= 0 {
					p.rows[k] = pieces[i].rows[before]
				}
			}
		}
		all = append(all, p)
	}
	return all
}

// sharesRows reports whether two pieces have the same rows in the same memory.
func sharesRows(a, b piece) bool {
	return len(a.rows) == len(b.rows) && len(a.rows) > 0 && &a.rows[0] == &b.rows[0]
}

// joinSmall joins the newest pieces while they are small, so that an answer that is continued step by
// step has few of them, and copies each step a few times in all.
func (a *Answer) joinSmall() {
	for n := len(a.pieces); n > 1; n-- {
		last, before := &a.pieces[n-1], &a.pieces[n-2]
		steps := last.to - last.from
		if before.to-before.from > 2*steps || before.to-before.from+steps > segmentSteps {
			return
		}
		one, ok := before.join(last, a.Len(), a.grid.step)
		if !ok {
			return
		}
		a.pieces = append(a.pieces[:n-2], one)
	}
}

const (
	answerBytes = 512 // of an answer without series
	pieceBytes  = 64
)

// Bytes estimates the memory of an answer.
func (a *Answer) Bytes() int64 {
	n := answerBytes + a.notes.bytes() + a.list.bytes()
	for i, p := range a.pieces {
		n += pieceBytes + p.bytes()
		if i == 0 || !sharesRows(a.pieces[i-1], p) {
			n += 4 * int64(cap(p.rows))
		}
	}
	return n
}
