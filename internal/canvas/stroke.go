package canvas

import "math"

// A Pen says how a line is drawn. Lines end bluntly and their corners are pointed, as in graphite-web.
type Pen struct {
	Width float64
	Dash  float64 // how long dashes and gaps are; 0: a full line
}

// miterLimit is how many times the width of a line a corner may be long; longer ones are cut.
const miterLimit = 10

// MostDashes bounds the dashes and gaps of a line; one that would have more is full.
const MostDashes = 100_000

// dashOffset is where in the first dash a line begins, in pixels.
const dashOffset = 1

// stroke calls edge with the edges of the outline of the lines of a path, in no order. All parts of the
// outline turn the same way, so that where they overlap is inside. Curves are not stroked.
func (p *Path) stroke(pen Pen, edge func(from, to Point)) {
	if pen.Dash > 0 && p.length()/pen.Dash <= MostDashes {
		p = p.dashed(pen.Dash)
	}
	half := pen.Width / 2
	var at, along Point // along: the direction in which the pen came, a unit long
	joined := false     // the pen came from somewhere
	end := func() {
		if joined {
			side := Point{-along.Y, along.X}.times(half)
			edge(at.minus(side), at.Plus(side))
		}
	}
	begin := func(from Point) {
		end()
		at, joined = from, false
	}
	segment := func(to Point) {
		way := to.minus(at)
		length := math.Sqrt(way.dot(way))
		if length == 0 {
			return
		}
		way = way.times(1 / length)
		side := Point{-way.Y, way.X}.times(half)
		if joined {
			corner(at, along, way, half, edge)
		} else {
			edge(at.Plus(side), at.minus(side))
		}
		edge(at.minus(side), to.minus(side))
		edge(to.Plus(side), at.Plus(side))
		at, along, joined = to, way, true
	}
	p.eachLine(begin, segment)
	end()
}

// eachLine calls begin where a part of a path begins, and segment with the end of each of its lines. Curves are
// passed over.
func (p *Path) eachLine(begin, segment func(Point)) {
	var first Point
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
func (p *Path) length() (sum float64) {
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
func corner(at, in, out Point, half float64, edge func(from, to Point)) {
	before, after := Point{in.Y, -in.X}.times(half), Point{out.Y, -out.X}.times(half) // to the left
	turn, cos := in.cross(out), in.dot(out)
	if math.Abs(turn) < 1e-9 && cos > 0 {
		edge(at.Plus(before), at.Plus(after))
		edge(at.minus(after), at.minus(before))
		return
	}
	var tip *Point
	if 1+cos > 2.0/(miterLimit*miterLimit) {
		tip = &Point{}
		*tip = before.Plus(after).times(1 / (1 + cos))
	}
	join := func(from, to Point, outer bool, sign float64) {
		from, to = at.Plus(from), at.Plus(to)
		over := at
		switch {
		case outer && tip == nil:
			edge(from, to)
			return
		case outer:
			over = at.Plus(tip.times(sign))
		}
		edge(from, over)
		edge(over, to)
	}
	join(before, after, turn > 0, 1)
	join(after.times(-1), before.times(-1), turn <= 0, -1)
}

// dashed cuts lines into dashes with gaps that are as long. Like graphite-web it begins dashOffset into the
// first dash.
func (p *Path) dashed(length float64) *Path {
	out := &Path{}
	var at Point
	left, drawn := 0.0, true
	begin := func(from Point) {
		at = from
		left, drawn = length-dashOffset, true
		if left <= 0 {
			left, drawn = 2*length-dashOffset, false
		}
		out.Move(at)
	}
	segment := func(to Point) {
		way := to.minus(at)
		all := way.length()
		done := 0.0
		for all-done > left {
			done += left
			to := at.Plus(way.times(done / all))
			if drawn {
				out.Line(to)
			} else {
				out.Move(to)
			}
			left, drawn = length, !drawn
		}
		left -= all - done
		if drawn {
			out.Line(to)
		}
		at = to
	}
	p.eachLine(begin, segment)
	return out
}
