package draw

import (
	"context"
	"image/color"
	"math"
	"strconv"

	"github.com/tsdbridge/tsdbridge/internal/canvas"
)

// A Slice is a part of a pie.
type Slice struct {
	Name  string
	Value float64
}

// A slice is one while it is drawn.
type slice struct {
	Slice
	share  float64 // of the whole
	middle float64 // the direction of its middle, radians
	color  color.NRGBA
}

// DrawPie draws slices of a circle, clockwise from above.
func DrawPie(ctx context.Context, o *Options, parts []Slice) ([]byte, error) {
	d, err := begin(ctx, o, partBytes*int64(len(parts)+50))
	if err != nil {
		return nil, err
	}
	slices, err := o.slices(parts)
	if err != nil {
		return nil, err
	}
	if len(slices) == 0 {
		return d.noData()
	}
	d.title()
	if o.HideLegend == nil || !*o.HideLegend {
		names := make([]name, len(slices))
		for i, s := range slices {
			names[i] = name{text: s.Name, color: s.color}
		}
		d.drawLegend(names, false, false)
	}
	d.s.Group("slices")
	width, height := max(d.area.Right-d.area.Left, 0), max(d.area.Bottom-d.area.Top, 0)
	center := canvas.Point{X: d.area.Left + width/2, Y: d.area.Top + height/2}
	radius := 0.95 * min(width, height) / 2
	if err := d.slices(slices, center, radius); err != nil {
		return nil, err
	}
	if err := d.sliceLabels(slices, center, radius); err != nil {
		return nil, err
	}
	return d.s.Finish()
}

// slices finds the share and the colour of each part. There are none if they amount to nothing.
func (o *Options) slices(parts []Slice) ([]slice, error) {
	total := 0.0
	for _, p := range parts {
		total += p.Value
	}
	if len(parts) == 0 || total == 0 {
		return nil, nil
	}
	out := make([]slice, len(parts))
	for i, p := range parts {
		share := p.Value / total
		if !finite(p.Value) || !finite(share) {
			return nil, invalid("%.100s=%g: a slice of a pie must be a finite number", p.Name, p.Value)
		}
		if share < 0 {
			return nil, invalid("slices of a pie must all be above 0, or all below")
		}
		c, err := parseColor(o.Colors[i%len(o.Colors)])
		if err != nil {
			return nil, invalid("colorList: %v", err)
		}
		out[i] = slice{Slice: p, share: share, color: c}
	}
	return out, nil
}

func (d *drawing) slices(slices []slice, center canvas.Point, radius float64) error {
	from := -math.Pi / 2
	for i := range slices {
		if err := d.work(lookAfter); err != nil {
			return err
		}
		s := &slices[i]
		to := from + 2*math.Pi*s.share
		p := &canvas.Path{}
		p.Move(center)
		p.Arc(center, radius, from, to)
		p.Close()
		c := s.color
		if d.o.AreaAlpha != 0 {
			c = withAlpha(c, d.o.AreaAlpha)
		}
		d.s.Fill(p, c)
		s.middle = math.Mod((from+to)/2+2*math.Pi, 2*math.Pi)
		from = to
	}
	return nil
}

func (d *drawing) sliceLabels(slices []slice, center canvas.Point, radius float64) error {
	if d.o.ValueLabels == "none" {
		return nil
	}
	d.s.Group("labels")
	for _, s := range slices {
		label, compared := "%"+strconv.FormatFloat(100*s.share, 'f', 2, 64), 100*s.share
		if d.o.ValueLabels == "number" {
			label, compared = numberLabel(s.Value), s.Value
		}
		if compared < d.o.LeastLabel {
			continue
		}
		if err := d.work(lookAfter); err != nil {
			return err
		}
		angle, at := s.middle, center.Plus(canvas.Point{X: radius / 2, Y: 0}.Turned(s.middle))
		switch {
		case d.o.PieLabels != "rotated":
			angle = 0
		case angle > math.Pi/2 && angle <= 3*math.Pi/2:
			angle -= math.Pi // so that it can be read
		}
		d.text.Write(d.s, label, at, canvas.CenterMiddle, angle, d.o.LabelColor)
	}
	return nil
}

// numberLabel writes small numbers with two digits and others without any.
func numberLabel(v float64) string {
	if v < 10 && v != math.Trunc(v) {
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(math.Trunc(v), 'f', -1, 64)
}
