package graph

import (
	"image/color"
	"math"
	"strings"

	"github.com/tsdbridge/tsdbridge/internal/canvas"
)

// A Series is a line of a picture. Times are in milliseconds and rise; a NaN is a gap.
type Series struct {
	Name   string
	Times  []int64
	Values []float64
	Right  bool // it belongs to the axis on the right
}

// PNG draws series from start to end (milliseconds) as an image.
func (o Options) PNG(start, end int64, series []Series) ([]byte, error) {
	p, err := newPicture(&o, start, end, series)
	if err != nil {
		return nil, err
	}
	p.draw(series)
	return p.canvas.Finish()
}

// PixelBytes is what a pixel takes while a picture is drawn.
const PixelBytes = canvas.RasterBytes

// picture is what is being drawn. Lengths are in pixels.
type picture struct {
	o         *Options
	canvas    *canvas.Raster
	font      *canvas.Font
	area      canvas.Box // inside of the axes
	from, to  float64    // seconds
	left      scale
	right     scale
	rightUsed bool
	rightText float64 // what the texts of the axis on the right take
}

// scale is the range of an axis of values.
type scale struct {
	low, high float64
	log       bool
}

// fontSize is that of all texts.
const fontSize = 10

func newPicture(o *Options, start, end int64, series []Series) (*picture, error) {
	p := &picture{o: o, canvas: canvas.NewRaster(o.Width, o.Height), from: float64(start) / 1000, to: float64(max(end, start+1)) / 1000}
	p.canvas.Background(o.Background)
	var err error
	p.font, err = canvas.NewFont(canvas.Typeface{Family: "sans-serif"}, fontSize, p.canvas.Hinted())
	p.left, _ = scaleOf(o.Left, series, false)
	p.right, p.rightUsed = scaleOf(o.Right, series, true)
	return p, err
}

// scaleOf returns the range of the values of an axis, a little wider than they are, or what the options
// say. used is false if no series belongs to the axis.
func scaleOf(o AxisOptions, series []Series, right bool) (s scale, used bool) {
	s = scale{math.Inf(1), math.Inf(-1), o.Log}
	for i := range series {
		if series[i].Right != right {
			continue
		}
		used = true
		for _, v := range series[i].Values {
			if !math.IsNaN(v) && !math.IsInf(v, 0) && (!o.Log || v > 0) {
				s.low, s.high = min(s.low, v), max(s.high, v)
			}
		}
	}
	if s.low > s.high {
		s.low, s.high = 0, 1
		if o.Log {
			s.low, s.high = 1, 10
		}
	}
	if s.low == s.high {
		if s.log {
			s.low, s.high = s.low/10, s.high*10
		} else {
			s.low, s.high = s.low-max(1, math.Abs(s.low)/10), s.high+max(1, math.Abs(s.high)/10)
		}
	} else if !s.log {
		margin := s.high/20 - s.low/20 // halves first: the difference may be too large for a number
		s.low, s.high = max(s.low-margin, -math.MaxFloat64/4), min(s.high+margin, math.MaxFloat64/4)
	}
	if !math.IsNaN(o.Min) {
		s.low = o.Min
	}
	if !math.IsNaN(o.Max) {
		s.high = o.Max
	}
	if s.log {
		s.low = max(s.low, math.SmallestNonzeroFloat64*1e10)
	}
	if s.high <= s.low {
		s.high = s.low + max(1, math.Abs(s.low)/10)
	}
	return s, used
}

// share returns where a value lies between the ends of a scale: 0 to 1 if it is inside.
func (s scale) share(v float64) float64 {
	if s.log {
		return (math.Log(v) - math.Log(s.low)) / (math.Log(s.high) - math.Log(s.low))
	}
	return (v - s.low) / (s.high - s.low)
}

func (p *picture) x(seconds float64) float64 {
	return p.area.Left + (p.area.Right-p.area.Left)*(seconds-p.from)/(p.to-p.from)
}

func (p *picture) y(s scale, v float64) float64 {
	share := min(max(s.share(v), -10), 10) // what is far outside is clipped
	return p.area.Bottom - (p.area.Bottom-p.area.Top)*share
}

const (
	gap        = 6  // between things, pixels
	lineHeight = 14 // of texts
	swatch     = 24 // the line before a name in the key
)

func (p *picture) draw(series []Series) {
	width, height := float64(p.o.Width), float64(p.o.Height)
	leftTicks := valueTicks(p.left.low, p.left.high, p.o.Height/60, p.o.Left)
	var rightTicks []tick
	if p.rightUsed {
		rightTicks = valueTicks(p.right.low, p.right.high, p.o.Height/60, p.o.Right)
	}
	p.area = canvas.Box{Left: p.widest(leftTicks) + 2*gap, Top: 2 * gap, Right: width - 2*gap - p.widest(rightTicks), Bottom: height - lineHeight - 2*gap}
	if p.o.Title != "" {
		p.write(p.o.Title, width/2, lineHeight/2+gap, canvas.CenterMiddle, 0)
		p.area.Top += lineHeight
	}
	if p.o.Left.Label != "" {
		p.area.Left += lineHeight
		p.write(p.o.Left.Label, lineHeight/2+gap/2, height/2, canvas.CenterMiddle, -math.Pi/2)
	}
	labelled := p.rightUsed && p.o.Right.Label != ""
	if labelled {
		p.area.Right -= lineHeight
	}
	p.rightText = width - p.area.Right - gap
	keyRows := p.keyOutside(series)
	if labelled {
		p.write(p.o.Right.Label, p.area.Right+p.rightText-lineHeight/2, height/2, canvas.CenterMiddle, -math.Pi/2)
	}
	p.grid(leftTicks, rightTicks)
	p.canvas.Within(p.area, func() {
		for i := range series {
			p.line(&series[i], palette(i))
		}
	})
	p.rectangle(p.area, 1)
	p.key(series, keyRows)
}

// widest returns the width of the widest text.
func (p *picture) widest(ticks []tick) (w float64) {
	for _, t := range ticks {
		w = max(w, p.width(t.text))
	}
	return w
}

func (p *picture) width(text string) float64 { return p.font.Width(text, p.canvas.Hinted()) }

func (p *picture) write(text string, x, y float64, where canvas.Anchor, angle float64) {
	p.font.Write(p.canvas, printable(text), canvas.Point{X: x, Y: y}, where, angle, p.o.Foreground)
}

// printable leaves out what has no place in a line.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, s)
}

// segment draws a straight line.
func (p *picture) segment(x, y, toX, toY, width float64, c color.NRGBA) {
	way := &canvas.Path{}
	way.Line(canvas.Point{X: x, Y: y})
	way.Line(canvas.Point{X: toX, Y: toY})
	p.canvas.Stroke(way, canvas.Pen{Width: width}, c)
}

// rectangle draws the border of a box.
func (p *picture) rectangle(b canvas.Box, width float64) {
	way := &canvas.Path{}
	way.Rectangle(b.Left, b.Top, b.Right-b.Left, b.Bottom-b.Top)
	p.canvas.Stroke(way, canvas.Pen{Width: width}, p.o.Foreground)
}

func (p *picture) grid(left, right []tick) {
	faint, a := mixed(p.o.Foreground, p.o.Background), p.area
	for _, t := range timeTicks(p.from, p.to, p.o.Width/110, p.o) {
		x := p.x(t.at)
		p.segment(x, a.Top, x, a.Bottom, 0.5, faint)
		p.write(t.text, x, a.Bottom+gap+lineHeight/2, canvas.CenterMiddle, 0)
	}
	for _, t := range left {
		y := p.y(p.left, t.at)
		p.segment(a.Left, y, a.Right, y, 0.5, faint)
		p.write(t.text, a.Left-gap/2, y, canvas.RightMiddle, 0)
	}
	for _, t := range right {
		p.write(t.text, a.Right+gap/2, p.y(p.right, t.at), canvas.LeftMiddle, 0)
	}
}

// mixed is a fifth of one colour in another.
func mixed(a, b color.NRGBA) color.NRGBA {
	mix := func(x, y uint8) uint8 { return uint8((int(x) + 4*int(y)) / 5) } //nolint:gosec // below 256
	return color.NRGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 255}
}

// line draws a series.
func (p *picture) line(s *Series, c color.NRGBA) {
	axis := p.left
	if s.Right {
		axis = p.right
	}
	var run []canvas.Point
	for i, v := range s.Values {
		if math.IsNaN(v) || math.IsInf(v, 0) || axis.log && v <= 0 {
			p.run(run, c)
			run = run[:0]
			continue
		}
		run = append(run, canvas.Point{X: p.x(float64(s.Times[i]) / 1000), Y: p.y(axis, v)})
	}
	p.run(run, c)
}

// run draws points without a gap: a line through them, or marks, as the style says. A point alone is
// always marked.
func (p *picture) run(points []canvas.Point, c color.NRGBA) {
	if p.o.Style == "" || p.o.Style == "linespoint" {
		way := &canvas.Path{}
		for _, at := range points {
			way.Line(at)
		}
		p.canvas.Stroke(way, canvas.Pen{Width: 1}, c)
	}
	if p.o.Style == "" && len(points) > 1 {
		return
	}
	for _, at := range points {
		p.mark(at, c)
	}
}

// mark draws a point: a disc, or a ring for circles.
func (p *picture) mark(at canvas.Point, c color.NRGBA) {
	way, corners := &canvas.Path{}, 12
	if p.o.Style != "circles" {
		way.Arc(at, 1.5, 0, 2*math.Pi)
		p.canvas.Fill(way, c)
		return
	}
	for i := range corners {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / float64(corners))
		way.Line(canvas.Point{X: at.X + 3*cos, Y: at.Y + 3*sin})
	}
	way.Close()
	p.canvas.Stroke(way, canvas.Pen{Width: 0.5}, c)
}

// palette returns the colour of a line: those of gnuplot in its order.
func palette(i int) color.NRGBA {
	colors := []color.NRGBA{
		{255, 0, 0, 255},
		{0, 192, 0, 255},
		{0, 128, 255, 255},
		{192, 0, 255, 255},
		{0, 200, 200, 255},
		{192, 64, 0, 255},
		{200, 200, 0, 255},
		{65, 105, 225, 255},
		{255, 192, 32, 255},
		{0, 128, 64, 255},
		{128, 96, 160, 255},
		{48, 96, 128, 255},
	}
	return colors[i%len(colors)]
}
