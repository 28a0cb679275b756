package draw

import "math"

// A pen says how a line is drawn. Lines end bluntly and their corners are pointed, as in graphite-web.
type pen struct {
	width float64
	dash  float64 // how long dashes and gaps are; 0: a full line
}

// miterLimit is how many times the width of a line a corner may be long; longer ones are cut.
const miterLimit = 10

// mostDashes bounds the dashes and gaps of a line; one that would have more is full.
const mostDashes = 100_000

// dashOffset is where in the first dash a line begins, in pixels.
const dashOffset = 1

// stroke calls edge with the edges of the outline of the lines of a path, in no order. All parts of the
// outline turn the same way, so that where they overlap is inside. Curves are not stroked.
func (p *path) stroke(pen pen, edge func(from, to point)) {
	if pen.dash > 0 && p.length()/pen.dash <= mostDashes {
		p = p.dashed(pen.dash)
	}
	half := pen.width / 2
	var at, along point // along: the direction in which the pen came, a unit long
	joined := false     // the pen came from somewhere
	end := func() {
		if joined {
			side := point{-along.y, along.x}.times(half)
			edge(at.minus(side), at.plus(side))
		}
	}
	begin := func(from point) {
		end()
		at, joined = from, false
	}
	segment := func(to point) {
		way := to.minus(at)
		length := math.Sqrt(way.dot(way))
		if length == 0 {
			return
		}
		way = way.times(1 / length)
		side := point{-way.y, way.x}.times(half)
		if joined {
			corner(at, along, way, half, edge)
		} else {
			edge(at.plus(side), at.minus(side))
		}
		edge(at.minus(side), to.minus(side))
		edge(to.plus(side), at.plus(side))
		at, along, joined = to, way, true
	}
	p.eachLine(begin, segment)
	end()
}

// eachLine calls begin where a part of a path begins, and segment with the end of each of its lines. Curves are
// passed over.
func (p *path) eachLine(begin, segment func(point)) {
	var first point
	next := 0
	for _, v := range p.verbs {
		switch v {
		case moveTo:
			first = p.points[next]
			begin(first)
			next++
		case lineTo:
			segment(p.points[next])
			next++
		case closePath:
			segment(first)
		case cubeTo:
			next += 3
		}
	}
}

// length returns how long the lines of a path are together.
func (p *path) length() (sum float64) {
	next := 0
	for _, v := range p.verbs {
		switch v {
		case lineTo:
			sum += p.points[next].minus(p.points[next-1]).length()
			next++
		case moveTo:
			next++
		case cubeTo:
			next += 3
		case closePath:
		}
	}
	return sum
}

// corner joins the outlines of two lines: over the place itself on the inner side of the turn, and on the outer
// side by a tip, which is cut where it would be long.
func corner(at, in, out point, half float64, edge func(from, to point)) {
	before, after := point{in.y, -in.x}.times(half), point{out.y, -out.x}.times(half) // to the left
	turn, cos := in.cross(out), in.dot(out)
	if math.Abs(turn) < 1e-9 && cos > 0 {
		edge(at.plus(before), at.plus(after))
		edge(at.minus(after), at.minus(before))
		return
	}
	var tip *point
	if 1+cos > 2.0/(miterLimit*miterLimit) {
		tip = &point{}
		*tip = before.plus(after).times(1 / (1 + cos))
	}
	join := func(from, to point, outer bool, sign float64) {
		from, to = at.plus(from), at.plus(to)
		over := at
		switch {
		case outer && tip == nil:
			edge(from, to)
			return
		case outer:
			over = at.plus(tip.times(sign))
		}
		edge(from, over)
		edge(over, to)
	}
	join(before, after, turn > 0, 1)
	join(after.times(-1), before.times(-1), turn <= 0, -1)
}

// dashed cuts lines into dashes with gaps that are as long. Like graphite-web it begins dashOffset into the
// first dash.
func (p *path) dashed(length float64) *path {
	out := &path{}
	var at point
	left, drawn := 0.0, true
	begin := func(from point) {
		at = from
		left, drawn = length-dashOffset, true
		if left <= 0 {
			left, drawn = 2*length-dashOffset, false
		}
		out.move(at)
	}
	segment := func(to point) {
		way := to.minus(at)
		all := way.length()
		done := 0.0
		for all-done > left {
			done += left
			to := at.plus(way.times(done / all))
			if drawn {
				out.line(to)
			} else {
				out.move(to)
			}
			left, drawn = length, !drawn
		}
		left -= all - done
		if drawn {
			out.line(to)
		}
		at = to
	}
	p.eachLine(begin, segment)
	return out
}
