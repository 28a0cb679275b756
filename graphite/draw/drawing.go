package draw

import (
	"context"
	"image/color"
	"math"
	"strings"

	"github.com/tsdbridge/tsdbridge/internal/query"
)

// A drawing is a picture while it is drawn.
type drawing struct {
	ctx     context.Context //nolint:containedctx // a drawing lives as long as one call of Draw
	turn    *query.Turn     // of the request, to compute
	visited int             // values since the last look at the request
	o       *Options
	s       surface
	text    *font // of labels and legend
	heading *font // of titles
	area    box   // what is left for the lines
}

// begin takes the memory of a picture, of which its parts take some, and fills its background.
func begin(ctx context.Context, o *Options, bytes int64) (*drawing, error) {
	if o.Format == "png" {
		bytes += rasterBytes * int64(o.Width) * int64(o.Height)
	}
	if err := query.AccountOf(ctx).Take(bytes); err != nil {
		return nil, err
	}
	d := &drawing{ctx: ctx, turn: query.TurnOf(ctx), o: o, s: newSurface(o)}
	size := o.FontSize
	var err error
	if d.text, err = newFont(typeface{family(o.FontName), o.FontBold, o.FontItalic}, size, d.s.hinted()); err != nil {
		return nil, err
	}
	if d.heading, err = d.text.sized(size+math.Floor(math.Log(size)), d.s.hinted()); err != nil {
		return nil, err
	}
	w, h := float64(o.Width), float64(o.Height)
	d.area = box{o.Margin + 10, o.Margin, w - o.Margin, h - o.Margin}
	if o.GraphOnly {
		d.area = box{0, 0, w, h}
	}
	d.s.background(o.Background)
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

func newSurface(o *Options) surface {
	switch o.Format {
	case "svg":
		return newSVG(o.Width, o.Height)
	case "pdf":
		return newPDF(o.Width, o.Height)
	}
	return newRaster(o.Width, o.Height)
}

func (d *drawing) rectangle(b box, c color.NRGBA) {
	p := &path{}
	p.rectangle(b.xmin, b.ymin, b.xmax-b.xmin, b.ymax-b.ymin)
	d.s.fill(p, c)
}

// segment draws a straight line.
func (d *drawing) segment(from, to point, width float64, c color.NRGBA) {
	p := &path{}
	p.line(from)
	p.line(to)
	d.s.stroke(p, pen{width: width}, c)
}

// anchor says which part of a line of text is where it is written.
type anchor int

const (
	leftTop anchor = iota
	rightTop
	centerTop
	leftMiddle
	rightMiddle
	centerMiddle
	centerBase
)

// write writes a line of text, turned clockwise by an angle in radians.
func (d *drawing) write(f *font, text string, at point, where anchor, angle float64, c color.NRGBA) {
	across, down := 0.0, 0.0
	switch where {
	case centerTop, centerMiddle, centerBase:
		across = f.width(text, d.s.hinted()) / 2
	case rightTop, rightMiddle:
		across = f.width(text, d.s.hinted())
	}
	switch where {
	case leftTop, rightTop, centerTop:
		down = f.ascent
	case leftMiddle, rightMiddle, centerMiddle:
		down = f.height/2 - f.descent
	}
	d.s.text(f, text, at.plus(point{-across, down}.turned(angle)), angle, c)
}

// title writes the title above everything else.
func (d *drawing) title() {
	if d.o.Title == "" {
		return
	}
	d.s.group("title")
	y := d.area.ymin
	for text := range strings.SplitSeq(d.o.Title, "\n") {
		if y < float64(d.o.Height) {
			d.write(d.heading, text, point{float64(d.o.Width) / 2, y}, centerTop, 0, d.o.Foreground)
		}
		y += d.heading.height
	}
	if d.area.ymin = y; !d.o.OnRight {
		d.area.ymin += d.o.Margin
	}
}

// sideTitle writes the title of an axis of values.
func (d *drawing) sideTitle(text, group string, right bool) {
	if text == "" {
		return
	}
	d.s.group(group)
	height, middle := d.heading.height, float64(d.o.Height)/2
	x, step, angle := d.area.xmin+height, height, -math.Pi/2
	if right {
		x, step, angle = d.area.xmax-height, -height, math.Pi/2
	}
	for line := range strings.SplitSeq(text, "\n") {
		if x > 0 && x < float64(d.o.Width) {
			d.write(d.heading, line, point{x, middle}, centerBase, angle, d.o.Foreground)
		}
		x += step
	}
	if right {
		d.area.xmax = x - d.o.Margin - height
	} else {
		d.area.xmin = x + d.o.Margin + height
	}
}

// noData is the picture of nothing.
func (d *drawing) noData() ([]byte, error) {
	w, h := float64(d.o.Width), float64(d.o.Height)
	f, err := d.text.sized(max(math.Log(w*h), leastFont), d.s.hinted())
	if err != nil {
		return nil, err
	}
	red, _ := named("red")
	d.write(f, "No Data", point{w / 2, h / 2}, centerTop, 0, red)
	return d.s.finish()
}
