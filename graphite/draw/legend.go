package draw

import (
	"image/color"
	"math"
	"unicode/utf8"
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
	d.s.group("legend")
	longest := ""
	for _, n := range names {
		if utf8.RuneCountInString(n.text) >= utf8.RuneCountInString(longest) {
			longest = n.text
		}
	}
	hinted := d.s.hinted()
	box := d.text.height - 1
	l := legend{d: d, box: box, lineHeight: d.text.height + 1, column: d.text.width(longest, hinted) + 2*(box+legendPadding)}
	twoColumns := d.text.width(longest+" "+longest, hinted)+2*(box+legendPadding)+50 < float64(d.o.Width)
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
	x := l.d.area.xmin
	for i, n := range names {
		if n.right {
			l.swatch(x+l.column+legendPadding, y, n)
			l.name(point{x + l.column, y}, rightTop, n)
		} else {
			l.swatch(x, y, n)
			l.name(point{x + l.box + legendPadding, y}, leftTop, n)
		}
		x += l.column
		if (i+1)%columns == 0 {
			x = l.d.area.xmin
			y += l.lineHeight
		}
	}
}

func (l *legend) onBothSides(names []name) {
	area := &l.d.area
	columns := max(int(math.Floor(math.Max(1, math.Floor((float64(l.d.o.Width)-area.xmin)/l.column))/2)), 1)
	onRight := 0
	for _, n := range names {
		if n.right {
			onRight++
		}
	}
	yLeft := l.top(math.Max(1, float64(max(len(names)-onRight, onRight))/float64(columns)))
	yRight := yLeft
	xLeft, xRight := area.xmin, area.xmax-area.xmin
	left, right := 0, 0
	for _, n := range names {
		if n.right {
			l.swatch(xRight-legendPadding, yRight, n)
			l.name(point{xRight - l.box, yRight}, rightTop, n)
			xRight -= l.column
			if right++; right%columns == 0 {
				xRight = area.xmax - area.xmin
				yRight += l.lineHeight
			}
			continue
		}
		l.swatch(xLeft, yLeft, n)
		l.name(point{xLeft + l.box + legendPadding, yLeft}, leftTop, n)
		xLeft += l.column
		if left++; left%columns == 0 {
			xLeft = area.xmin
			yLeft += l.lineHeight
		}
	}
}

// top takes the place of so many lines, and returns where the first one is.
func (l *legend) top(lines float64) float64 {
	l.d.area.ymax -= lines*l.lineHeight + legendPadding
	return l.d.area.ymax + 2*legendPadding
}

// visible reports whether a line of the legend is on the picture.
func (l *legend) visible(y float64) bool { return y < float64(l.d.o.Height) && y > -l.lineHeight }

func (l *legend) swatch(x, y float64, n name) {
	if !l.visible(y) {
		return
	}
	l.d.rectangle(box{x, y, x + l.box, y + l.box}, n.color)
	frame := &path{}
	frame.rectangle(x+0.5, y+0.5, l.box-0.5, l.box-0.5)
	gray, _ := named("darkgrey")
	l.d.s.stroke(frame, pen{width: 1}, gray)
}

func (l *legend) name(at point, where anchor, n name) {
	if l.visible(at.y) {
		l.d.write(l.d.text, n.text, at, where, 0, l.d.o.Foreground)
	}
}
