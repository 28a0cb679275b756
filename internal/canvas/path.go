package canvas

import (
	"math"
	"slices"
)

// A Point is a place on a picture, in pixels from its left upper corner.
type Point struct{ X, Y float64 }

// Plus returns the sum of two places.
func (p Point) Plus(q Point) Point    { return Point{p.X + q.X, p.Y + q.Y} }
func (p Point) minus(q Point) Point   { return Point{p.X - q.X, p.Y - q.Y} }
func (p Point) times(f float64) Point { return Point{p.X * f, p.Y * f} }
func (p Point) dot(q Point) float64   { return p.X*q.X + p.Y*q.Y }
func (p Point) cross(q Point) float64 { return p.X*q.Y - p.Y*q.X }
func (p Point) length() float64       { return math.Hypot(p.X, p.Y) }

// Turned returns the place turned around the corner of the picture, clockwise by an angle in radians.
func (p Point) Turned(angle float64) Point {
	sin, cos := math.Sincos(angle)
	return Point{p.X*cos - p.Y*sin, p.X*sin + p.Y*cos}
}

// A verb is a step of a path. It takes one point, three for a curve and none for an end.
type verb byte

const (
	moveTo verb = iota
	lineTo
	cubeTo // a cubic Bézier curve: two control points and the end
	closePath
)

// A Path is an outline of one or more parts.
type Path struct {
	verbs  []verb
	points []Point
}

// Grow makes place for so many points.
func (p *Path) Grow(n int) { p.verbs, p.points = slices.Grow(p.verbs, n), slices.Grow(p.points, n) }

// Reset empties the path, which keeps its memory.
func (p *Path) Reset() { p.verbs, p.points = p.verbs[:0], p.points[:0] }

// Len returns how many points the path has.
func (p *Path) Len() int { return len(p.points) }

// Add adds the parts of another path.
func (p *Path) Add(other *Path) {
	p.verbs, p.points = append(p.verbs, other.verbs...), append(p.points, other.points...)
}

func (p *Path) empty() bool { return len(p.verbs) == 0 }

// Move begins a part at a point.
func (p *Path) Move(at Point) {
	p.verbs, p.points = append(p.verbs, moveTo), append(p.points, at)
}

// Line goes to a point; it begins the path where there is none.
func (p *Path) Line(to Point) {
	if p.empty() {
		p.Move(to)
		return
	}
	p.verbs, p.points = append(p.verbs, lineTo), append(p.points, to)
}

func (p *Path) cube(a, b, to Point) {
	p.verbs, p.points = append(p.verbs, cubeTo), append(p.points, a, b, to)
}

// quad is a quadratic Bézier curve.
func (p *Path) quad(from, control, to Point) {
	p.cube(from.Plus(control.minus(from).times(2.0/3)), to.Plus(control.minus(to).times(2.0/3)), to)
}

// Close goes back to where the part begins.
func (p *Path) Close() { p.verbs = append(p.verbs, closePath) }

func (p *Path) polygon(points ...Point) {
	p.Move(points[0])
	for _, at := range points[1:] {
		p.Line(at)
	}
	p.Close()
}

// Rectangle adds a rectangle with a corner at a place.
func (p *Path) Rectangle(x, y, w, h float64) {
	p.polygon(Point{x, y}, Point{x + w, y}, Point{x + w, y + h}, Point{x, y + h})
}

// Arc adds a part of a circle, clockwise from one angle to another (radians, 0 points right), by a
// line from where the path is.
func (p *Path) Arc(center Point, radius, from, to float64) {
	pieces := max(int(math.Ceil((to-from)/(math.Pi/2))), 1)
	step := (to - from) / float64(pieces)
	k := 4.0 / 3 * math.Tan(step/4)
	on := func(angle float64) (at, along Point) {
		sin, cos := math.Sincos(angle)
		return Point{center.X + radius*cos, center.Y + radius*sin}, Point{-radius * sin, radius * cos}
	}
	at, along := on(from)
	p.Line(at)
	for i := range pieces {
		next, onwards := on(from + step*float64(i+1))
		p.cube(at.Plus(along.times(k)), next.minus(onwards.times(k)), next)
		at, along = next, onwards
	}
}

// A Box is a rectangle between two corners.
type Box struct{ Left, Top, Right, Bottom float64 }

// bounds returns a rectangle around all points.
func (p *Path) bounds() Box {
	b := Box{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	for _, at := range p.points {
		b.Left, b.Right = min(b.Left, at.X), max(b.Right, at.X)
		b.Top, b.Bottom = min(b.Top, at.Y), max(b.Bottom, at.Y)
	}
	return b
}
