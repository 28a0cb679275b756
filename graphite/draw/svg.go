package draw

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"strings"
)

// An svg is a surface that is a text of elements. What belongs together is a group with a class of
// graphite-web's SVGs: title, legend, axes, grid, lines.
type svg struct {
	width, height int
	out           []byte
	grouped       bool
	clips         int    // how many there are
	clipped       bool   // a group is open that the area clips
	excluded      int    // how many groups are open that leave out something
	script        []byte // what graphite-web calls the metadata of the picture; nil: none
}

func newSVG(width, height int) *svg {
	s := &svg{width: width, height: height}
	s.out = fmt.Appendf(s.out, `<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="%dpx" height="%dpx" viewBox="0 0 %d %d" version="1.1" xml:space="preserve">
<g class="graphite">
`, width, height, width, height)
	return s
}

func (s *svg) hinted() bool { return false }

// group ends the last group and begins another.
func (s *svg) group(name string) {
	s.endGroup()
	s.out = append(append(append(s.out, `<g class="`...), name...), "\">\n"...)
	s.grouped = true
}

func (s *svg) endGroup() {
	s.include()
	for _, open := range []*bool{&s.clipped, &s.grouped} {
		if *open {
			s.out = append(s.out, "</g>\n"...)
			*open = false
		}
	}
}

func (s *svg) background(c color.NRGBA) {
	p := &path{}
	p.rectangle(0, 0, float64(s.width), float64(s.height))
	s.fill(p, c)
}

func (s *svg) fill(p *path, c color.NRGBA) {
	if p.empty() || c.A == 0 {
		return
	}
	s.shape(p)
	s.paint("fill", c)
	s.out = append(s.out, "/>\n"...)
}

func (s *svg) stroke(p *path, pen pen, c color.NRGBA) {
	if len(p.points) < 2 || c.A == 0 || pen.width == 0 {
		return
	}
	s.shape(p)
	s.out = append(s.out, ` fill="none"`...)
	s.paint("stroke", c)
	s.attribute("stroke-width", pen.width)
	s.attribute("stroke-miterlimit", miterLimit)
	if pen.dash > 0 {
		s.attribute("stroke-dasharray", pen.dash)
		s.attribute("stroke-dashoffset", dashOffset)
	}
	s.out = append(s.out, "/>\n"...)
}

func (s *svg) shape(p *path) {
	s.out = append(s.out, `<path d="`...)
	s.steps(p)
	s.out = append(s.out, '"')
}

func (s *svg) paint(kind string, c color.NRGBA) {
	s.out = fmt.Appendf(s.out, ` %s="#%02x%02x%02x"`, kind, c.R, c.G, c.B)
	if c.A != 255 {
		s.attribute(kind+"-opacity", float64(c.A)/255)
	}
}

func (s *svg) attribute(name string, v float64) {
	s.out = append(append(append(s.out, ' '), name...), `="`...)
	s.out = append(appendNumber(s.out, v), '"')
}

// steps writes a path in the language of SVG.
func (s *svg) steps(p *path) {
	next := 0
	put := func(letter byte, points int) {
		s.out = append(s.out, letter)
		for i, at := range p.points[next : next+points] {
			if i > 0 {
				s.out = append(s.out, ' ')
			}
			s.out = append(appendNumber(s.out, at.x), ' ')
			s.out = appendNumber(s.out, at.y)
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
	return appendFloat(out, math.Round(min(max(v, -1e6), 1e6)*100)/100+0)
}

func (s *svg) text(f *font, text string, at point, angle float64, c color.NRGBA) {
	if strings.TrimSpace(text) == "" || c.A == 0 {
		return
	}
	s.out = append(s.out, "<text"...)
	s.attribute("x", at.x)
	s.attribute("y", at.y)
	s.out = append(append(append(s.out, ` font-family="`...), f.face.stack()...), '"')
	s.attribute("font-size", f.size)
	if f.face.bold {
		s.out = append(s.out, ` font-weight="bold"`...)
	}
	if f.face.italic {
		s.out = append(s.out, ` font-style="italic"`...)
	}
	s.attribute("textLength", f.width(text, false)) // where another font is shown
	if angle != 0 {
		s.out = append(s.out, ` transform="rotate(`...)
		for _, v := range []float64{angle * 180 / math.Pi, at.x, at.y} {
			s.out = append(appendNumber(s.out, v), ' ')
		}
		s.out = append(s.out[:len(s.out)-1], `)"`...)
	}
	s.paint("fill", c)
	s.out = append(append(append(s.out, '>'), escaped(text)...), "</text>\n"...)
}

// stack returns the fonts to show a text with: ours, and those that are like it.
func (t typeface) stack() string {
	switch t.family {
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

func (s *svg) clip(b box) {
	p := &path{}
	p.rectangle(b.xmin, b.ymin, b.xmax-b.xmin, b.ymax-b.ymin)
	s.clipTo(p, "nonzero")
	s.clipped = true
}

func (s *svg) exclude(p *path) {
	if p.empty() {
		return
	}
	rest := &path{}
	rest.rectangle(-10, -10, float64(s.width+20), float64(s.height+20))
	rest.verbs, rest.points = append(rest.verbs, p.verbs...), append(rest.points, p.points...)
	s.clipTo(rest, "evenodd")
	s.excluded++
}

func (s *svg) clipTo(p *path, rule string) {
	s.out = fmt.Appendf(s.out, "<clipPath id=\"clip%d\"><path d=\"", s.clips)
	s.steps(p)
	s.out = fmt.Appendf(s.out, "\" clip-rule=\"%s\"/></clipPath>\n<g clip-path=\"url(#clip%d)\">\n", rule, s.clips)
	s.clips++
}

func (s *svg) include() {
	s.out = append(s.out, bytes.Repeat([]byte("</g>\n"), s.excluded)...)
	s.excluded = 0
}

func (s *svg) finish() ([]byte, error) {
	s.endGroup()
	s.out = append(s.out, "</g>\n"...)
	if s.script != nil {
		s.out = append(append(append(s.out, "<script>\n<![CDATA[\nmetadata = "...), s.script...), "\n]]>\n</script>\n"...)
	}
	return append(s.out, "</svg>\n"...), nil
}
