package draw

import (
	"image/color"
	"math"
	"unicode/utf8"

	"github.com/tsdbridge/tsdbridge/internal/canvas"
)

// A name is a line of the legend.
type name struct {
	text  string
	color color.NRGBA
	right bool // its series belongs to the second axis
}

// A legend is a list of names in columns below the picture. With two axes, the names of the right one are
// on the right.
type legend struct {
	d                       *drawing
	box, lineHeight, column float64 // pixels
}

const legendPadding = 5

// drawLegend writes names and takes their place from the area.
func (d *drawing) drawLegend(names []name, unique, twoAxes bool) {
	if unique {
		names = once(names)
	}
	if len(names) == 0 {
		return
	}
	d.s.Group("legend")
	longest := ""
	for _, n := range names {
		if utf8.RuneCountInString(n.text) >= utf8.RuneCountInString(longest) {
			longest = n.text
		}
	}
	hinted := d.s.Hinted()
	box := d.text.Height - 1
	l := legend{d: d, box: box, lineHeight: d.text.Height + 1, column: d.text.Width(longest, hinted) + 2*(box+legendPadding)}
	twoColumns := d.text.Width(longest+" "+longest, hinted)+2*(box+legendPadding)+50 < float64(d.o.Width)
	if twoAxes && twoColumns {
		l.onBothSides(names)
	} else {
		l.fromTheLeft(names)
	}
}

// once leaves out names that were there before.
func once(names []name) (out []name) {
	seen := map[string]bool{}
	for _, n := range names {
		if !seen[n.text] {
			seen[n.text] = true
			out = append(out, n)
		}
	}
	return out
}

func (l *legend) fromTheLeft(names []name) {
	columns := max(int(float64(l.d.o.Width)/l.column), 1)
	y := l.top(math.Ceil(float64(len(names)) / float64(columns)))
	x := l.d.area.Left
	for i, n := range names {
		if n.right {
			l.swatch(x+l.column+legendPadding, y, n)
			l.name(canvas.Point{X: x + l.column, Y: y}, canvas.RightTop, n)
		} else {
			l.swatch(x, y, n)
			l.name(canvas.Point{X: x + l.box + legendPadding, Y: y}, canvas.LeftTop, n)
		}
		x += l.column
		if (i+1)%columns == 0 {
			x = l.d.area.Left
			y += l.lineHeight
		}
	}
}

func (l *legend) onBothSides(names []name) {
	area := &l.d.area
	columns := max(int(math.Floor(math.Max(1, math.Floor((float64(l.d.o.Width)-area.Left)/l.column))/2)), 1)
	onRight := 0
	for _, n := range names {
		if n.right {
			onRight++
		}
	}
	yLeft := l.top(math.Max(1, float64(max(len(names)-onRight, onRight))/float64(columns)))
	yRight := yLeft
	xLeft, xRight := area.Left, area.Right-area.Left
	left, right := 0, 0
	for _, n := range names {
		if n.right {
			l.swatch(xRight-legendPadding, yRight, n)
			l.name(canvas.Point{X: xRight - l.box, Y: yRight}, canvas.RightTop, n)
			xRight -= l.column
			if right++; right%columns == 0 {
				xRight = area.Right - area.Left
				yRight += l.lineHeight
			}
			continue
		}
		l.swatch(xLeft, yLeft, n)
		l.name(canvas.Point{X: xLeft + l.box + legendPadding, Y: yLeft}, canvas.LeftTop, n)
		xLeft += l.column
		if left++; left%columns == 0 {
			xLeft = area.Left
			yLeft += l.lineHeight
		}
	}
}

// top takes the place of so many lines, and returns where the first one is.
func (l *legend) top(lines float64) float64 {
	l.d.area.Bottom -= lines*l.lineHeight + legendPadding
	return l.d.area.Bottom + 2*legendPadding
}

// visible reports whether a line of the legend is on the picture.
func (l *legend) visible(y float64) bool { return y < float64(l.d.o.Height) && y > -l.lineHeight }

func (l *legend) swatch(x, y float64, n name) {
	if !l.visible(y) {
		return
	}
	l.d.rectangle(canvas.Box{Left: x, Top: y, Right: x + l.box, Bottom: y + l.box}, n.color)
	frame := &canvas.Path{}
	frame.Rectangle(x+0.5, y+0.5, l.box-0.5, l.box-0.5)
	gray, _ := named("darkgrey")
	l.d.s.Stroke(frame, canvas.Pen{Width: 1}, gray)
}

func (l *legend) name(at canvas.Point, where canvas.Anchor, n name) {
	if l.visible(at.Y) {
		l.d.text.Write(l.d.s, n.text, at, where, 0, l.d.o.Foreground)
	}
}
