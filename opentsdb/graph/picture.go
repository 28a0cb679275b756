package graph

import (
	"image/color"
	"io"
	"math"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// A Series is a line of a picture. Times are in milliseconds and rise; a NaN is a gap.
type Series struct {
	Name   string
	Times  []int64
	Values []float64
	Right  bool // it belongs to the axis on the right
}

// PNG draws series from start to end (milliseconds) as an image.
func (o Options) PNG(w io.Writer, start, end int64, series []Series) error {
	p := newPicture(&o, start, end, series)
	p.draw(series)
	_, err := vgimg.PngCanvas{Canvas: p.image}.WriteTo(w)
	return err
}

// picture is what is being drawn. Lengths are in points, of which a pixel has one.
type picture struct {
	o         *Options
	image     *vgimg.Canvas
	canvas    draw.Canvas
	text      draw.TextStyle
	area      vg.Rectangle // inside of the axes
	from, to  float64      // seconds
	left      scale
	right     scale
	rightUsed bool
	beside    vg.Length // what the texts of the axis on the right take
}

// scale is the range of an axis of values.
type scale struct {
	low, high float64
	log       bool
}

const pixelsPerInch = 72 // so that a point is a pixel

func newPicture(o *Options, start, end int64, series []Series) *picture {
	image := vgimg.NewWith(vgimg.UseWH(vg.Length(o.Width), vg.Length(o.Height)), vgimg.UseDPI(pixelsPerInch), vgimg.UseBackgroundColor(o.Background))
	fonts := font.NewCache(liberation.Collection())
	p := &picture{o: o, image: image, canvas: draw.New(image), from: float64(start) / 1000, to: float64(max(end, start+1)) / 1000}
	p.text = draw.TextStyle{
		Color: o.Foreground, Font: font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, 11), XAlign: draw.XCenter, YAlign: draw.YCenter,
		Handler: text.Plain{Fonts: fonts},
	}
	p.left, _ = scaleOf(o.Left, series, false)
	p.right, p.rightUsed = scaleOf(o.Right, series, true)
	return p
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

func (p *picture) x(seconds float64) vg.Length {
	return p.area.Min.X + p.area.Size().X*vg.Length((seconds-p.from)/(p.to-p.from))
}

func (p *picture) y(s scale, v float64) vg.Length {
	share := min(max(s.share(v), -10), 10) // what is far outside is clipped
	return p.area.Min.Y + p.area.Size().Y*vg.Length(share)
}

const (
	gap        = 6  // between things, points
	lineHeight = 14 // of texts
	swatch     = 24 // the line beside a name in the key
)

func (p *picture) draw(series []Series) {
	width, height := vg.Length(p.o.Width), vg.Length(p.o.Height)
	leftTicks := valueTicks(p.left.low, p.left.high, p.o.Height/60, p.o.Left)
	var rightTicks []tick
	if p.rightUsed {
		rightTicks = valueTicks(p.right.low, p.right.high, p.o.Height/60, p.o.Right)
	}
	p.area.Min = vg.Point{X: p.widest(leftTicks) + 2*gap, Y: lineHeight + 2*gap}
	p.area.Max = vg.Point{X: width - 2*gap - p.widest(rightTicks), Y: height - 2*gap}
	if p.o.Title != "" {
		p.write(p.o.Title, width/2, height-lineHeight/2-gap, 0)
		p.area.Max.Y -= lineHeight
	}
	if p.o.Left.Label != "" {
		p.area.Min.X += lineHeight
		p.write(p.o.Left.Label, lineHeight/2+gap/2, height/2, math.Pi/2)
	}
	labelled := p.rightUsed && p.o.Right.Label != ""
	if labelled {
		p.area.Max.X -= lineHeight
	}
	p.beside = width - p.area.Max.X - gap
	keyRows := p.keyOutside(series)
	if labelled {
		p.write(p.o.Right.Label, p.area.Max.X+p.beside-lineHeight/2, height/2, math.Pi/2)
	}
	p.grid(leftTicks, rightTicks)
	for i := range series {
		p.line(&series[i], palette(i))
	}
	p.frame()
	p.key(series, keyRows)
}

// widest returns the width of the widest text.
func (p *picture) widest(ticks []tick) (w vg.Length) {
	for _, t := range ticks {
		w = max(w, p.text.Width(t.text))
	}
	return w
}

func (p *picture) write(s string, x, y vg.Length, rotation float64) {
	style := p.text
	style.Rotation = rotation
	p.canvas.FillText(style, vg.Point{X: x, Y: y}, printable(s))
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

func (p *picture) grid(left, right []tick) {
	faint := draw.LineStyle{Color: mixed(p.o.Foreground, p.o.Background), Width: 0.5}
	style := p.text
	for _, t := range timeTicks(p.from, p.to, p.o.Width/110, p.o) {
		x := p.x(t.at)
		p.canvas.StrokeLine2(faint, x, p.area.Min.Y, x, p.area.Max.Y)
		p.canvas.FillText(style, vg.Point{X: x, Y: p.area.Min.Y - gap - lineHeight/2}, t.text)
	}
	style.XAlign = draw.XRight
	for _, t := range left {
		y := p.y(p.left, t.at)
		p.canvas.StrokeLine2(faint, p.area.Min.X, y, p.area.Max.X, y)
		p.canvas.FillText(style, vg.Point{X: p.area.Min.X - gap/2, Y: y}, t.text)
	}
	style.XAlign = draw.XLeft
	for _, t := range right {
		p.canvas.FillText(style, vg.Point{X: p.area.Max.X + gap/2, Y: p.y(p.right, t.at)}, t.text)
	}
}

// mixed is a fifth of one colour in another.
func mixed(a, b color.Color) color.Color {
	r1, g1, b1, _ := a.RGBA()
	r2, g2, b2, _ := b.RGBA()
	mix := func(x, y uint32) uint8 { return uint8((x + 4*y) / 5 >> 8) } //nolint:gosec // below 256
	return color.RGBA{mix(r1, r2), mix(g1, g2), mix(b1, b2), 255}
}

func (p *picture) frame() {
	style := draw.LineStyle{Color: p.o.Foreground, Width: 1}
	a := p.area
	p.canvas.StrokeLines(style, []vg.Point{a.Min, {X: a.Max.X, Y: a.Min.Y}, a.Max, {X: a.Min.X, Y: a.Max.Y}, a.Min})
}

// line draws a series inside of the axes.
func (p *picture) line(s *Series, c color.Color) {
	inside := draw.Canvas{Canvas: p.canvas.Canvas, Rectangle: p.area}
	axis := p.left
	if s.Right {
		axis = p.right
	}
	style := draw.LineStyle{Color: c, Width: 1}
	glyph := draw.GlyphStyle{Color: c, Radius: 1.5, Shape: draw.CircleGlyph{}}
	if p.o.Style == "circles" {
		glyph.Radius, glyph.Shape = 3, draw.RingGlyph{}
	}
	var run []vg.Point
	flush := func() {
		if p.o.Style == "" || p.o.Style == "linespoint" {
			if len(run) > 1 {
				inside.StrokeLines(style, inside.ClipLinesXY(run)...)
			} else if len(run) == 1 && p.o.Style == "" {
				inside.DrawGlyph(glyph, run[0])
			}
		}
		if p.o.Style != "" {
			for _, at := range run {
				inside.DrawGlyph(glyph, at)
			}
		}
		run = run[:0]
	}
	for i, v := range s.Values {
		if math.IsNaN(v) || math.IsInf(v, 0) || axis.log && v <= 0 {
			flush()
			continue
		}
		run = append(run, vg.Point{X: p.x(float64(s.Times[i]) / 1000), Y: p.y(axis, v)})
	}
	flush()
}

// palette returns the colour of a line: those of gnuplot in its order.
func palette(i int) color.Color {
	colors := []color.RGBA{
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
