package draw

import (
	"math"
	"slices"
)

// A point is a place on a picture, in pixels from its left upper corner.
type point struct{ x, y float64 }

func (p point) plus(q point) point    { return point{p.x + q.x, p.y + q.y} }
func (p point) minus(q point) point   { return point{p.x - q.x, p.y - q.y} }
func (p point) times(f float64) point { return point{p.x * f, p.y * f} }
func (p point) dot(q point) float64   { return p.x*q.x + p.y*q.y }
func (p point) cross(q point) float64 { return p.x*q.y - p.y*q.x }
func (p point) length() float64       { return math.Hypot(p.x, p.y) }
func (p point) turned(angle float64) point { // clockwise, in radians
	sin, cos := math.Sincos(angle)
	return point{p.x*cos - p.y*sin, p.x*sin + p.y*cos}
}

// A verb is a step of a path. It takes one point, three for a curve and none for an end.
type verb byte

const (
	moveTo verb = iota
	lineTo
	cubeTo // a cubic Bézier curve: two control points and the end
	closePath
)

// A path is an outline of one or more parts.
type path struct {
	verbs  []verb
	points []point
}

// grow makes place for so many points.
func (p *path) grow(n int) { p.verbs, p.points = slices.Grow(p.verbs, n), slices.Grow(p.points, n) }

func (p *path) reset()      { p.verbs, p.points = p.verbs[:0], p.points[:0] }
func (p *path) empty() bool { return len(p.verbs) == 0 }

func (p *path) move(at point) {
	p.verbs, p.points = append(p.verbs, moveTo), append(p.points, at)
}

// line goes to a point; it begins the path where there is none.
func (p *path) line(to point) {
	if p.empty() {
		p.move(to)
		return
	}
	p.verbs, p.points = append(p.verbs, lineTo), append(p.points, to)
}

func (p *path) cube(a, b, to point) {
	p.verbs, p.points = append(p.verbs, cubeTo), append(p.points, a, b, to)
}

// quad is a quadratic Bézier curve.
func (p *path) quad(from, control, to point) {
	p.cube(from.plus(control.minus(from).times(2.0/3)), to.plus(control.minus(to).times(2.0/3)), to)
}

func (p *path) close() { p.verbs = append(p.verbs, closePath) }

func (p *path) polygon(points ...point) {
	p.move(points[0])
	for _, at := range points[1:] {
		p.line(at)
	}
	p.close()
}

func (p *path) rectangle(x, y, w, h float64) {
	p.polygon(point{x, y}, point{x + w, y}, point{x + w, y + h}, point{x, y + h})
}

// arc adds a part of a circle, clockwise from one angle to another (radians, 0 points right), by a
// line from where the path is.
func (p *path) arc(center point, radius, from, to float64) {
	pieces := max(int(math.Ceil((to-from)/(math.Pi/2))), 1)
	step := (to - from) / float64(pieces)
	k := 4.0 / 3 * math.Tan(step/4)
	on := func(angle float64) (at, along point) {
		sin, cos := math.Sincos(angle)
		return point{center.x + radius*cos, center.y + radius*sin}, point{-radius * sin, radius * cos}
	}
	at, along := on(from)
	p.line(at)
	for i := range pieces {
		next, onwards := on(from + step*float64(i+1))
		p.cube(at.plus(along.times(k)), next.minus(onwards.times(k)), next)
		at, along = next, onwards
	}
}

// A box is a rectangle between two corners.
type box struct{ xmin, ymin, xmax, ymax float64 }

// bounds returns a rectangle around all points.
func (p *path) bounds() box {
	b := box{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	for _, at := range p.points {
		b.xmin, b.xmax = min(b.xmin, at.x), max(b.xmax, at.x)
		b.ymin, b.ymax = min(b.ymin, at.y), max(b.ymax, at.y)
	}
	return b
}
