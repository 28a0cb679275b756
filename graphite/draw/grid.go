package draw

import (
	"image/color"

	"github.com/tsdbridge/tsdbridge/internal/canvas"
)

// grid draws lines at the labels and between them. With two axes they are those of the left one.
func (g *graph) grid() {
	values := g.left.values
	minors := g.o.MinorY
	if float64(len(values)*minors) > 2*(g.area.Bottom-g.area.Top) {
		minors = 0 // They would be one area.
	}
	for i, v := range values {
		g.horizontal(v, 0.4, g.o.MajorLine)
		if i == len(values)-1 {
			break
		}
		distance := (values[i+1] - v) / float64(1+minors)
		for minor := range minors {
			if between := v + float64(minor+1)*distance; between < g.left.top*g.left.above() {
				g.horizontal(between, 0.3, g.o.MinorLine)
			}
		}
	}
	g.vertical(g.times.minor, 0.25, g.o.MinorLine)
	g.vertical(g.times.major, 0.33, g.o.MajorLine)
	for _, x := range []float64{g.area.Right, g.area.Left} {
		g.segment(canvas.Point{X: x, Y: g.area.Bottom}, canvas.Point{X: x, Y: g.area.Top}, 0.5, g.o.MajorLine)
	}
}

// above is how many times its end a logarithmic axis may have lines.
func (s *scale) above() float64 {
	if s.logBase != 0 {
		return s.logBase * s.logBase
	}
	return 1
}

func (g *graph) horizontal(v, width float64, c color.NRGBA) {
	if y, ok := g.y(g.left, v); ok {
		g.segment(canvas.Point{X: g.area.Left, Y: y}, canvas.Point{X: g.area.Right, Y: y}, width, c)
	}
}

func (g *graph) vertical(step timeStep, width float64, c color.NRGBA) {
	for at := range step.times(g.from, g.to, g.o.Zone) {
		if x := g.x(at.Unix()); x < g.area.Right {
			g.segment(canvas.Point{X: x, Y: g.area.Bottom}, canvas.Point{X: x, Y: g.area.Top}, width, c)
		}
	}
}
