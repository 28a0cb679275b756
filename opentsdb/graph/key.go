package graph

import (
	"fmt"
	"strings"

	"github.com/tsdbridge/tsdbridge/internal/canvas"
)

// mostNamed bounds the names of the key.
const mostNamed = 40

// keyOutside gives place to a key outside of the axes, and returns how many names fit; it is a TSD's key
// "out".
func (p *picture) keyOutside(series []Series) (rows int) {
	if p.o.NoKey || len(series) == 0 {
		return 0
	}
	rows = min(len(series), mostNamed, max(int((p.area.Bottom-p.area.Top)/lineHeight)-1, 1))
	if !p.keyHas("out") {
		return rows
	}
	w := min(p.keyWidth(series[:rows]), (p.area.Right-p.area.Left)/2)
	if p.keyHas("left") {
		p.area.Left += w
	} else {
		p.area.Right -= w
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

func (p *picture) keyWidth(series []Series) (w float64) {
	for i := range series {
		w = max(w, p.width(printable(shortName(series[i].Name))))
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
	w, h := p.keyWidth(series[:rows]), float64(rows)*lineHeight
	left, top := p.area.Right-w, p.area.Top+gap
	switch {
	case p.keyHas("out") && p.keyHas("left"):
		left = p.area.Left - w
	case p.keyHas("out"):
		left = p.area.Right + p.rightText
	case p.keyHas("left"):
		left = p.area.Left + gap
	case p.keyHas("center"):
		left = (p.area.Left+p.area.Right)/2 - w/2
	}
	if p.keyHas("bottom") {
		top = p.area.Bottom - h - gap
	}
	if p.keyHas("box") {
		p.rectangle(canvas.Box{Left: left, Top: top, Right: left + w, Bottom: top + h}, 0.5)
	}
	for i := range rows {
		y := top + float64(i)*lineHeight + lineHeight/2
		p.segment(left+gap, y, left+gap+swatch, y, 2, palette(i))
		name := shortName(series[i].Name)
		if i == rows-1 && rows < len(series) {
			name = fmt.Sprintf("and %d more", len(series)-rows+1)
		}
		p.write(name, left+2*gap+swatch, y, canvas.LeftMiddle, 0)
	}
}
