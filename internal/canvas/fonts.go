package canvas

import (
	"image"
	"math"
	"strings"

	"codeberg.org/go-fonts/dejavu/dejavusans"
	"codeberg.org/go-fonts/dejavu/dejavusansbold"
	"codeberg.org/go-fonts/dejavu/dejavusansboldoblique"
	"codeberg.org/go-fonts/dejavu/dejavusansmono"
	"codeberg.org/go-fonts/dejavu/dejavusansmonobold"
	"codeberg.org/go-fonts/dejavu/dejavusansmonoboldoblique"
	"codeberg.org/go-fonts/dejavu/dejavusansmonooblique"
	"codeberg.org/go-fonts/dejavu/dejavusansoblique"
	"codeberg.org/go-fonts/dejavu/dejavuserif"
	"codeberg.org/go-fonts/dejavu/dejavuserifbold"
	"codeberg.org/go-fonts/dejavu/dejavuserifbolditalic"
	"codeberg.org/go-fonts/dejavu/dejavuserifitalic"
	"github.com/golang/freetype/truetype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// A Typeface is the shape of letters. The binary holds three families of DejaVu, which are also what
// graphite-web draws with on most Linux systems.
type Typeface struct {
	Family       string // of CSS
	Bold, Italic bool
}

// Family returns the family that is nearest to a name, as a system with DejaVu alone would choose it.
func Family(name string) string {
	name = strings.ToLower(name)
	for _, word := range []string{"mono", "courier", "console", "consolas", "fixed", "terminal", "code"} {
		if strings.Contains(name, word) {
			return "monospace"
		}
	}
	if strings.Contains(name, "sans") {
		return "sans-serif"
	}
	for _, word := range []string{"serif", "times", "roman", "georgia", "garamond", "palatino", "cambria", "bookman"} {
		if strings.Contains(name, word) {
			return "serif"
		}
	}
	return "sans-serif"
}

// file returns the TrueType file of a typeface.
func (t Typeface) file() []byte {
	choose := func(plain, bold, italic, both []byte) []byte {
		switch {
		case t.Bold && t.Italic:
			return both
		case t.Bold:
			return bold
		case t.Italic:
			return italic
		}
		return plain
	}
	switch t.Family {
	case "monospace":
		return choose(dejavusansmono.TTF, dejavusansmonobold.TTF, dejavusansmonooblique.TTF, dejavusansmonoboldoblique.TTF)
	case "serif":
		return choose(dejavuserif.TTF, dejavuserifbold.TTF, dejavuserifitalic.TTF, dejavuserifbolditalic.TTF)
	}
	return choose(dejavusans.TTF, dejavusansbold.TTF, dejavusansoblique.TTF, dejavusansboldoblique.TTF)
}

// A Font is a typeface in a size. It is for one picture.
type Font struct {
	face                    Typeface
	size                    float64 // pixels
	file                    *sfnt.Font
	buffer                  *sfnt.Buffer
	Ascent, descent, Height float64
	fitter                  *fitter // of a font that is hinted
}

// NewFont opens a font. hinted: its measures are whole pixels.
func NewFont(face Typeface, size float64, hinted bool) (*Font, error) {
	file, err := sfnt.Parse(face.file())
	if err != nil {
		return nil, err
	}
	f := &Font{face: face, size: size, file: file}
	if hinted {
		instructions, err := truetype.Parse(face.file())
		if err != nil {
			return nil, err
		}
		f.fitter = &fitter{file: instructions}
	}
	return f.Sized(size, hinted)
}

// Sized returns the font in another size.
func (f *Font) Sized(size float64, hinted bool) (*Font, error) {
	file := f.file
	f = &Font{face: f.face, size: size, file: file, buffer: new(sfnt.Buffer), fitter: f.fitter}
	// The measures of a unit of an em are those of any size; of a small one they would be rounded.
	unit := float64(file.UnitsPerEm())
	m, err := file.Metrics(f.buffer, fixed.Int26_6(file.UnitsPerEm())<<6, 0)
	if err != nil {
		return nil, err
	}
	scale := size / unit / 64
	f.Ascent, f.descent, f.Height = float64(m.Ascent)*scale, float64(m.Descent)*scale, float64(m.Height)*scale
	if hinted {
		f.Ascent, f.descent, f.Height = math.Ceil(f.Ascent), math.Ceil(f.descent), math.Round(f.Height)
		f.fitter = newFitter(f.fitter.file, f.ppem())
	}
	return f, nil
}

func (f *Font) ppem() fixed.Int26_6 { return fixed.Int26_6(math.Round(f.size * 64)) }

// advance returns the glyph of a letter and how far the next one is.
func (f *Font) advance(r rune, hinted bool) (sfnt.GlyphIndex, float64) {
	i, err := f.file.GlyphIndex(f.buffer, r)
	if err != nil {
		i = 0
	}
	width, err := f.file.GlyphAdvance(f.buffer, i, f.ppem(), 0)
	if err != nil {
		return i, 0
	}
	if hinted {
		return i, math.Round(float64(width) / 64)
	}
	return i, float64(width) / 64
}

// Width returns how long a line is.
func (f *Font) Width(text string, hinted bool) float64 {
	sum := 0.0
	for _, r := range text {
		if g := f.fitted(r, hinted); g.ok {
			sum += g.advance
			continue
		}
		_, w := f.advance(r, hinted)
		sum += w
	}
	return sum
}

// fitted returns the glyph of a letter of a font that is hinted; it may be not ok.
func (f *Font) fitted(r rune, hinted bool) fitted {
	if !hinted {
		return fitted{}
	}
	return f.fitter.glyph(r)
}

// outline returns the outlines of a line whose base begins at a point and goes in a direction, as far as
// they can be seen.
func (f *Font) outline(text string, at Point, angle float64, hinted bool, seen image.Rectangle) *Path {
	out := &Path{}
	along := 0.0
	for _, r := range text {
		index, width := f.advance(r, hinted)
		glyph := f.fitted(r, hinted)
		if glyph.ok {
			width = glyph.advance
		}
		origin := at.Plus(Point{along, 0}.Turned(angle))
		along += width
		reach := 3 * f.size
		if origin.X < float64(seen.Min.X)-reach || origin.Y < float64(seen.Min.Y)-reach || origin.X > float64(seen.Max.X)+reach || origin.Y > float64(seen.Max.Y)+reach {
			continue
		}
		if glyph.ok {
			glyph.addTo(out, func(x, y float64) Point { return origin.Plus(Point{x, y}.Turned(angle)) })
			continue
		}
		segments, err := f.file.LoadGlyph(f.buffer, index, f.ppem(), nil)
		if err != nil {
			continue // It has no outline; its place stays empty.
		}
		place := func(p fixed.Point26_6) Point {
			return origin.Plus(Point{float64(p.X) / 64, float64(p.Y) / 64}.Turned(angle))
		}
		var pen Point
		for _, s := range segments {
			switch s.Op {
			case sfnt.SegmentOpMoveTo:
				if !out.empty() {
					out.Close()
				}
				pen = place(s.Args[0])
				out.Move(pen)
			case sfnt.SegmentOpLineTo:
				pen = place(s.Args[0])
				out.Line(pen)
			case sfnt.SegmentOpQuadTo:
				to := place(s.Args[1])
				out.quad(pen, place(s.Args[0]), to)
				pen = to
			case sfnt.SegmentOpCubeTo:
				pen = place(s.Args[2])
				out.cube(place(s.Args[0]), place(s.Args[1]), pen)
			}
		}
	}
	if !out.empty() {
		out.Close()
	}
	return out
}
