package graph

import (
	"fmt"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// mostNamed bounds the names of the key.
const mostNamed = 40

// keyOutside makes room for a key outside of the axes, and returns how many names fit; it is a TSD's key
// "out".
func (p *picture) keyOutside(series []Series) (rows int) {
	if p.o.NoKey || len(series) == 0 {
		return 0
	}
	rows = min(len(series), mostNamed, max(int(p.area.Size().Y/lineHeight)-1, 1))
	if !p.keyHas("out") {
		return rows
	}
	w := p.keyWidth(series[:rows])
	if room := p.area.Size().X / 2; w > room {
		w = room
	}
	if p.keyHas("left") {
		p.area.Min.X += w
	} else {
		p.area.Max.X -= w
	}
	return rows
}

func (p *picture) keyHas(word string) bool {
	for w := range strings.FieldsSeq(p.o.Key) {
		if w == word {
			return true
		}
	}
	return false
}

func (p *picture) keyWidth(series []Series) (w vg.Length) {
	for i := range series {
		w = max(w, p.text.Width(printable(shortName(series[i].Name))))
	}
	return w + swatch + 3*gap
}

// shortName bounds a name of the key.
func shortName(s string) string {
	const most = 120 // bytes
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// key lists the names of the first rows series.
func (p *picture) key(series []Series, rows int) {
	if rows == 0 {
		return
	}
	w, h := p.keyWidth(series[:rows]), vg.Length(rows)*lineHeight
	left, top := p.area.Max.X-w, p.area.Max.Y-gap
	switch {
	case p.keyHas("out") && p.keyHas("left"):
		left = p.area.Min.X - w
	case p.keyHas("out"):
		left = p.area.Max.X + p.beside
	case p.keyHas("left"):
		left = p.area.Min.X + gap
	case p.keyHas("center"):
		left = center(p.area).X - w/2
	}
	if p.keyHas("bottom") {
		top = p.area.Min.Y + h + gap
	}
	if p.keyHas("box") {
		style := draw.LineStyle{Color: p.o.Foreground, Width: 0.5}
		p.canvas.StrokeLines(style, []vg.Point{{X: left, Y: top}, {X: left + w, Y: top}, {X: left + w, Y: top - h}, {X: left, Y: top - h}, {X: left, Y: top}})
	}
	style := p.text
	style.XAlign = draw.XLeft
	for i := range rows {
		y := top - vg.Length(i)*lineHeight - lineHeight/2
		p.canvas.StrokeLine2(draw.LineStyle{Color: palette(i), Width: 2}, left+gap, y, left+gap+swatch, y)
		name := shortName(series[i].Name)
		if i == rows-1 && rows < len(series) {
			name = fmt.Sprintf("and %d more", len(series)-rows+1)
		}
		p.canvas.FillText(style, vg.Point{X: left + 2*gap + swatch, Y: y}, printable(name))
	}
}

func center(r vg.Rectangle) vg.Point {
	return vg.Point{X: (r.Min.X + r.Max.X) / 2, Y: (r.Min.Y + r.Max.Y) / 2}
}
