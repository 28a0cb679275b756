package canvas

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"strings"
)

// An SVG is a surface that is a text of elements. What belongs together is a group with a class of
// graphite-web's SVGs: title, legend, axes, grid, lines.
type SVG struct {
	width, height int
	out           []byte
	grouped       bool
	clips         int    // how many there are
	clipped       bool   // a group is open that the area clips
	excluded      int    // how many groups are open that leave out something
	Script        []byte // what graphite-web calls the metadata of the picture; nil: none
}

// NewSVG returns an empty picture of so many pixels.
func NewSVG(width, height int) *SVG {
	s := &SVG{width: width, height: height}
	s.out = fmt.Appendf(s.out, `<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="%dpx" height="%dpx" viewBox="0 0 %d %d" version="1.1" xml:space="preserve">
<g class="graphite">
`, width, height, width, height)
	return s
}

// Hinted implements Surface.
func (s *SVG) Hinted() bool { return false }

// Group ends the last group and begins another.
func (s *SVG) Group(name string) {
	s.endGroup()
	s.out = append(append(append(s.out, `<g class="`...), name...), "\">\n"...)
	s.grouped = true
}

func (s *SVG) endGroup() {
	s.Include()
	for _, open := range []*bool{&s.clipped, &s.grouped} {
		if *open {
			s.out = append(s.out, "</g>\n"...)
			*open = false
		}
	}
}

// Background implements Surface.
func (s *SVG) Background(c color.NRGBA) {
	p := &Path{}
	p.Rectangle(0, 0, float64(s.width), float64(s.height))
	s.Fill(p, c)
}

// Fill implements Surface.
func (s *SVG) Fill(p *Path, c color.NRGBA) {
	if p.empty() || c.A == 0 {
		return
	}
	s.shape(p)
	s.paint("fill", c)
	s.out = append(s.out, "/>\n"...)
}

// Stroke implements Surface.
func (s *SVG) Stroke(p *Path, pen Pen, c color.NRGBA) {
	if len(p.points) < 2 || c.A == 0 || pen.Width == 0 {
		return
	}
	s.shape(p)
	s.out = append(s.out, ` fill="none"`...)
	s.paint("stroke", c)
	s.attribute("stroke-width", pen.Width)
	s.attribute("stroke-miterlimit", miterLimit)
	if pen.Dash > 0 {
		s.attribute("stroke-dasharray", pen.Dash)
		s.attribute("stroke-dashoffset", dashOffset)
	}
	s.out = append(s.out, "/>\n"...)
}

func (s *SVG) shape(p *Path) {
	s.out = append(s.out, `<path d="`...)
	s.steps(p)
	s.out = append(s.out, '"')
}

func (s *SVG) paint(kind string, c color.NRGBA) {
	s.out = fmt.Appendf(s.out, ` %s="#%02x%02x%02x"`, kind, c.R, c.G, c.B)
	if c.A != 255 {
		s.attribute(kind+"-opacity", float64(c.A)/255)
	}
}

func (s *SVG) attribute(name string, v float64) {
	s.out = append(append(append(s.out, ' '), name...), `="`...)
	s.out = append(appendNumber(s.out, v), '"')
}

// steps writes a path in the language of SVG.
func (s *SVG) steps(p *Path) {
	next := 0
	put := func(letter byte, points int) {
		s.out = append(s.out, letter)
		for i, at := range p.points[next : next+points] {
			if i > 0 {
				s.out = append(s.out, ' ')
			}
			s.out = append(appendNumber(s.out, at.X), ' ')
			s.out = appendNumber(s.out, at.Y)
		}
		next += points
	}
	for _, v := range p.verbs {
		switch v {
		case moveTo:
			put('M', 1)
		case lineTo:
			put('L', 1)
		case cubeTo:
			put('C', 3)
		case closePath:
			s.out = append(s.out, 'Z')
		}
	}
}

// appendNumber writes hundredths at most.
func appendNumber(out []byte, v float64) []byte {
	return AppendFloat(out, math.Round(min(max(v, -1e6), 1e6)*100)/100+0)
}

func (s *SVG) text(f *Font, text string, at Point, angle float64, c color.NRGBA) {
	if strings.TrimSpace(text) == "" || c.A == 0 {
		return
	}
	s.out = append(s.out, "<text"...)
	s.attribute("x", at.X)
	s.attribute("y", at.Y)
	s.out = append(append(append(s.out, ` font-family="`...), f.face.stack()...), '"')
	s.attribute("font-size", f.size)
	if f.face.Bold {
		s.out = append(s.out, ` font-weight="bold"`...)
	}
	if f.face.Italic {
		s.out = append(s.out, ` font-style="italic"`...)
	}
	s.attribute("textLength", f.Width(text, false)) // where another font is shown
	if angle != 0 {
		s.out = append(s.out, ` transform="rotate(`...)
		for _, v := range []float64{angle * 180 / math.Pi, at.X, at.Y} {
			s.out = append(appendNumber(s.out, v), ' ')
		}
		s.out = append(s.out[:len(s.out)-1], `)"`...)
	}
	s.paint("fill", c)
	s.out = append(append(append(s.out, '>'), escaped(text)...), "</text>\n"...)
}

// stack returns the fonts to show a text with: ours, and those that are like it.
func (t Typeface) stack() string {
	switch t.Family {
	case "monospace":
		return "DejaVu Sans Mono, Menlo, Consolas, monospace"
	case "serif":
		return "DejaVu Serif, Georgia, serif"
	}
	return "DejaVu Sans, Verdana, sans-serif"
}

// escaped returns a text as XML has it. Characters that XML cannot have are replaced.
func escaped(text string) string {
	var out strings.Builder
	for _, r := range text {
		switch {
		case r == '&':
			out.WriteString("&amp;")
		case r == '<':
			out.WriteString("&lt;")
		case r == '>':
			out.WriteString("&gt;")
		case r == '\t', r == '\n', r == '\r':
			out.WriteByte(' ')
		case r < ' ', r >= 0x7f && r < 0xa0, r == 0xfffe, r == 0xffff:
			out.WriteRune('\ufffd')
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

// Clip implements Surface.
func (s *SVG) Clip(b Box) {
	p := &Path{}
	p.Rectangle(b.Left, b.Top, b.Right-b.Left, b.Bottom-b.Top)
	s.clipTo(p, "nonzero")
	s.clipped = true
}

// Exclude implements Surface.
func (s *SVG) Exclude(p *Path) {
	if p.empty() {
		return
	}
	rest := &Path{}
	rest.Rectangle(-10, -10, float64(s.width+20), float64(s.height+20))
	rest.Add(p)
	s.clipTo(rest, "evenodd")
	s.excluded++
}

func (s *SVG) clipTo(p *Path, rule string) {
	s.out = fmt.Appendf(s.out, "<clipPath id=\"clip%d\"><path d=\"", s.clips)
	s.steps(p)
	s.out = fmt.Appendf(s.out, "\" clip-rule=\"%s\"/></clipPath>\n<g clip-path=\"url(#clip%d)\">\n", rule, s.clips)
	s.clips++
}

// Include implements Surface.
func (s *SVG) Include() {
	s.out = append(s.out, bytes.Repeat([]byte("</g>\n"), s.excluded)...)
	s.excluded = 0
}

// Finish implements Surface.
func (s *SVG) Finish() ([]byte, error) {
	s.endGroup()
	s.out = append(s.out, "</g>\n"...)
	if s.Script != nil {
		s.out = append(append(append(s.out, "<script>\n<![CDATA[\nmetadata = "...), s.Script...), "\n]]>\n</script>\n"...)
	}
	return append(s.out, "</svg>\n"...), nil
}
