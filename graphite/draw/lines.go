package draw

import (
	"image/color"
	"math"

	"github.com/tsdbridge/tsdbridge/internal/canvas"
)

// drawLines draws the areas and then the lines.
func (g *graph) drawLines() error {
	if err := g.areas(); err != nil {
		return err
	}
	g.s.Clip(g.area)
	var below *canvas.Path // an area that later ones are kept out of
	for _, l := range g.lines {
		if err := g.work(len(l.joined)); err != nil {
			return err
		}
		t := g.trace(l)
		c := l.shade()
		if l.style.Stacked {
			if below != nil {
				g.s.Exclude(below)
			}
			g.s.Fill(&t.area, c)
			below = &t.area
			continue
		}
		if below != nil {
			g.s.Include()
			below = nil
		}
		with := canvas.Pen{Width: g.o.LineWidth, Dash: l.style.Dash}
		if l.style.Width != nil {
			with.Width = *l.style.Width
		}
		g.s.Stroke(&t.line, with, c)
		g.way = t.line
	}
	return nil
}

// areas decides what is filled, and brings that to the front of the lines: it is drawn below them.
func (g *graph) areas() error {
	var filled, others []*line
	for _, l := range g.lines {
		if l.style.Stacked {
			filled = append(filled, l)
		} else {
			others = append(others, l)
		}
	}
	g.lines = append(filled, others...)
	switch {
	case g.o.AreaMode == "stacked" && !g.twoAxes:
		if err := stack(g.lines); err != nil {
			return err
		}
	case g.o.AreaMode == "first":
		g.lines[0].style.Stacked = true
	case g.o.AreaMode == "all":
		for _, l := range g.lines {
			l.style.Stacked = l.style.Stacked || !l.style.Infinite
		}
	}
	if g.o.AreaAlpha == 0 {
		return nil
	}
	for _, l := range g.lines {
		if l.style.Stacked {
			l.style.Alpha = g.o.AreaAlpha
			edge := *l
			edge.style = Style{Right: l.style.Right}
			g.lines = append(g.lines, &edge)
		}
	}
	return nil
}

// shade returns the colour with which a line is drawn.
func (l *line) shade() color.NRGBA {
	switch {
	case l.style.Invisible:
		return color.NRGBA{}
	case l.style.Alpha == 0:
		return l.color
	}
	return withAlpha(l.color, l.style.Alpha)
}

// A trace is the way of a line over the picture, and the area between it and 0 as far as that is filled.
type trace struct {
	g          *graph
	l          *line
	line, area canvas.Path
	zero       float64 // where 0 is, in pixels
	x, y       float64
	start      float64 // x where the part of the area begins
	missing    int     // how many slots before this one have no point
}

func (g *graph) trace(l *line) *trace {
	t := &trace{g: g, l: l, line: g.way, zero: g.area.Bottom}
	t.line.Reset()
	t.line.Grow(2*len(l.joined) + 1) // a staircase has two points for each value
	axis := g.left
	if l.Right && g.right != nil {
		axis = g.right
	}
	if y, ok := g.y(axis, 0); ok {
		t.zero = y
	}
	before := float64(l.Start-g.from) / float64(max(l.Step, 1))
	t.x = g.area.Left + l.xStep*before/float64(l.joinedN) + g.o.LineWidth/2
	t.y, t.start = g.area.Top, t.x
	for i, v := range l.joined {
		if t.x > 2*float64(g.o.Width) {
			break
		}
		if math.IsNaN(v) && g.o.NullAsZero {
			v = 0
		}
		y, ok := 0.0, !math.IsNaN(v)
		if ok {
			y, ok = g.y(axis, v)
		}
		switch {
		case !ok:
			t.gap()
		case l.style.Infinite && v > 0:
			t.upright()
		default:
			t.point(i, y)
		}
	}
	if l.style.Stacked {
		end := t.x
		if g.mode != "staircase" {
			end -= l.xStep
		}
		t.closeArea(end)
	}
	return t
}

// gap goes over a slot without a point. The last point is drawn on up to the gap.
func (t *trace) gap() {
	if t.missing == 0 {
		t.line.Line(canvas.Point{X: t.x, Y: t.y})
		if t.l.style.Stacked {
			t.closeArea(t.x)
		}
	}
	t.x += t.l.xStep
	t.missing++
}

// upright is a line from the lower to the upper end.
func (t *trace) upright() {
	t.line.Move(canvas.Point{X: t.x, Y: t.g.area.Bottom})
	t.line.Line(canvas.Point{X: t.x, Y: t.g.area.Top})
	t.x += t.l.xStep
	t.missing = max(t.missing, 1) // The next point begins anew.
}

func (t *trace) point(i int, y float64) {
	t.y = y
	at := canvas.Point{X: t.x, Y: y}
	if t.missing > 0 {
		t.start = t.x
	}
	begins := t.missing > 0
	if t.g.mode == "connected" {
		begins = float64(t.missing) > t.g.o.ConnectedLimit || t.missing == i
	}
	if begins {
		t.line.Move(at)
	} else {
		t.line.Line(at)
	}
	t.x += t.l.xStep
	if t.g.mode == "staircase" {
		t.line.Line(canvas.Point{X: t.x, Y: y})
	}
	t.missing = 0
}

// closeArea ends a part of the area.
func (t *trace) closeArea(x float64) {
	if t.line.Len() > 1 {
		t.area.Add(&t.line)
		t.area.Line(canvas.Point{X: x, Y: t.zero})
		t.area.Line(canvas.Point{X: t.start, Y: t.zero})
		t.area.Close()
	}
	t.line.Reset()
}
