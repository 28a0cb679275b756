package draw

import (
	"context"
	"image/color"
	"math"
	"strings"

	"github.com/tsdbridge/tsdbridge/internal/canvas"
	"github.com/tsdbridge/tsdbridge/internal/query"
)

// A drawing is a picture while it is drawn.
type drawing struct {
	ctx     context.Context //nolint:containedctx // a drawing lives as long as one call of Draw
	turn    *query.Turn     // of the request, to compute
	visited int             // values since the last look at the request
	o       *Options
	s       canvas.Surface
	text    *canvas.Font // of labels and legend
	heading *canvas.Font // of titles
	area    canvas.Box   // what is left for the lines
}

// begin takes the memory of a picture, of which its parts take some, and fills its background.
func begin(ctx context.Context, o *Options, bytes int64) (*drawing, error) {
	if o.Format == "png" {
		bytes += canvas.RasterBytes * int64(o.Width) * int64(o.Height)
	}
	if err := query.AccountOf(ctx).Take(bytes); err != nil {
		return nil, err
	}
	d := &drawing{ctx: ctx, turn: query.TurnOf(ctx), o: o, s: newSurface(o)}
	size := o.FontSize
	var err error
	if d.text, err = canvas.NewFont(canvas.Typeface{Family: canvas.Family(o.FontName), Bold: o.FontBold, Italic: o.FontItalic}, size, d.s.Hinted()); err != nil {
		return nil, err
	}
	if d.heading, err = d.text.Sized(size+math.Floor(math.Log(size)), d.s.Hinted()); err != nil {
		return nil, err
	}
	w, h := float64(o.Width), float64(o.Height)
	d.area = canvas.Box{Left: o.Margin + 10, Top: o.Margin, Right: w - o.Margin, Bottom: h - o.Margin}
	if o.GraphOnly {
		d.area = canvas.Box{Left: 0, Top: 0, Right: w, Bottom: h}
	}
	d.s.Background(o.Background)
	return d, nil
}

// lookAfter is how many values are visited between two looks at the request: less than a millisecond.
const lookAfter = 4096

// work is called before so many values are visited. Others may have their turn before it returns; it
// returns the error of a request that has ended.
func (d *drawing) work(values int) error {
	if d.visited += values; d.visited < lookAfter {
		return nil
	}
	d.visited = 0
	return d.turn.Yield(d.ctx)
}

func newSurface(o *Options) canvas.Surface {
	switch o.Format {
	case "svg":
		return canvas.NewSVG(o.Width, o.Height)
	case "pdf":
		return canvas.NewPDF(o.Width, o.Height)
	}
	return canvas.NewRaster(o.Width, o.Height)
}

func (d *drawing) rectangle(b canvas.Box, c color.NRGBA) {
	p := &canvas.Path{}
	p.Rectangle(b.Left, b.Top, b.Right-b.Left, b.Bottom-b.Top)
	d.s.Fill(p, c)
}

// segment draws a straight line.
func (d *drawing) segment(from, to canvas.Point, width float64, c color.NRGBA) {
	p := &canvas.Path{}
	p.Line(from)
	p.Line(to)
	d.s.Stroke(p, canvas.Pen{Width: width}, c)
}

// title writes the title above everything else.
func (d *drawing) title() {
	if d.o.Title == "" {
		return
	}
	d.s.Group("title")
	y := d.area.Top
	for text := range strings.SplitSeq(d.o.Title, "\n") {
		if y < float64(d.o.Height) {
			d.heading.Write(d.s, text, canvas.Point{X: float64(d.o.Width) / 2, Y: y}, canvas.CenterTop, 0, d.o.Foreground)
		}
		y += d.heading.Height
	}
	if d.area.Top = y; !d.o.OnRight {
		d.area.Top += d.o.Margin
	}
}

// sideTitle writes the title of an axis of values.
func (d *drawing) sideTitle(text, group string, right bool) {
	if text == "" {
		return
	}
	d.s.Group(group)
	height, middle := d.heading.Height, float64(d.o.Height)/2
	x, step, angle := d.area.Left+height, height, -math.Pi/2
	if right {
		x, step, angle = d.area.Right-height, -height, math.Pi/2
	}
	for line := range strings.SplitSeq(text, "\n") {
		if x > 0 && x < float64(d.o.Width) {
			d.heading.Write(d.s, line, canvas.Point{X: x, Y: middle}, canvas.CenterBase, angle, d.o.Foreground)
		}
		x += step
	}
	if right {
		d.area.Right = x - d.o.Margin - height
	} else {
		d.area.Left = x + d.o.Margin + height
	}
}

// noData is the picture of nothing.
func (d *drawing) noData() ([]byte, error) {
	w, h := float64(d.o.Width), float64(d.o.Height)
	f, err := d.text.Sized(max(math.Log(w*h), leastFont), d.s.Hinted())
	if err != nil {
		return nil, err
	}
	red, _ := named("red")
	f.Write(d.s, "No Data", canvas.Point{X: w / 2, Y: h / 2}, canvas.CenterTop, 0, red)
	return d.s.Finish()
}
