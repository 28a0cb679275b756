package draw

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

// A typeface is the shape of letters. The binary holds three families of DejaVu, which are also what
// graphite-web draws with on most Linux systems.
type typeface struct {
	family       string // of CSS
	bold, italic bool
}

// family returns the family that is nearest to a name, as a system with DejaVu alone would choose it.
func family(name string) string {
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
func (t typeface) file() []byte {
	choose := func(plain, bold, italic, both []byte) []byte {
		switch {
		case t.bold && t.italic:
			return both
		case t.bold:
			return bold
		case t.italic:
			return italic
		}
		return plain
	}
	switch t.family {
	case "monospace":
		return choose(dejavusansmono.TTF, dejavusansmonobold.TTF, dejavusansmonooblique.TTF, dejavusansmonoboldoblique.TTF)
	case "serif":
		return choose(dejavuserif.TTF, dejavuserifbold.TTF, dejavuserifitalic.TTF, dejavuserifbolditalic.TTF)
	}
	return choose(dejavusans.TTF, dejavusansbold.TTF, dejavusansoblique.TTF, dejavusansboldoblique.TTF)
}

// A font is a typeface in a size. It is for one picture.
type font struct {
	face                    typeface
	size                    float64 // pixels
	file                    *sfnt.Font
	buffer                  *sfnt.Buffer
	ascent, descent, height float64
	fitter                  *fitter // of a font that is hinted
}

// newFont opens a font. hinted: its measures are whole pixels.
func newFont(face typeface, size float64, hinted bool) (*font, error) {
	file, err := sfnt.Parse(face.file())
	if err != nil {
		return nil, err
	}
	f := &font{face: face, size: size, file: file}
	if hinted {
		instructions, err := truetype.Parse(face.file())
		if err != nil {
			return nil, err
		}
		f.fitter = &fitter{file: instructions}
	}
	return f.sized(size, hinted)
}

// sized returns the font in another size.
func (f *font) sized(size float64, hinted bool) (*font, error) {
	file := f.file
	f = &font{face: f.face, size: size, file: file, buffer: new(sfnt.Buffer), fitter: f.fitter}
	// The measures of a unit of an em are those of any size; of a small one they would be rounded.
	unit := float64(file.UnitsPerEm())
	m, err := file.Metrics(f.buffer, fixed.Int26_6(file.UnitsPerEm())<<6, 0)
	if err != nil {
		return nil, err
	}
	scale := size / unit / 64
	f.ascent, f.descent, f.height = float64(m.Ascent)*scale, float64(m.Descent)*scale, float64(m.Height)*scale
	if hinted {
		f.ascent, f.descent, f.height = math.Ceil(f.ascent), math.Ceil(f.descent), math.Round(f.height)
		f.fitter = newFitter(f.fitter.file, f.ppem())
	}
	return f, nil
}

func (f *font) ppem() fixed.Int26_6 { return fixed.Int26_6(math.Round(f.size * 64)) }

// advance returns the glyph of a letter and how far the next one is.
func (f *font) advance(r rune, hinted bool) (sfnt.GlyphIndex, float64) {
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

// width returns how long a line is.
func (f *font) width(text string, hinted bool) float64 {
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
func (f *font) fitted(r rune, hinted bool) fitted {
	if !hinted {
		return fitted{}
	}
	return f.fitter.glyph(r)
}

// outline returns the outlines of a line whose base begins at a point and goes in a direction, as far as
// they can be seen.
func (f *font) outline(text string, at point, angle float64, hinted bool, seen image.Rectangle) *path {
	out := &path{}
	along := 0.0
	for _, r := range text {
		index, width := f.advance(r, hinted)
		glyph := f.fitted(r, hinted)
		if glyph.ok {
			width = glyph.advance
		}
		origin := at.plus(point{along, 0}.turned(angle))
		along += width
		reach := 3 * f.size
		if origin.x < float64(seen.Min.X)-reach || origin.y < float64(seen.Min.Y)-reach || origin.x > float64(seen.Max.X)+reach || origin.y > float64(seen.Max.Y)+reach {
			continue
		}
		if glyph.ok {
			glyph.addTo(out, func(x, y float64) point { return origin.plus(point{x, y}.turned(angle)) })
			continue
		}
		segments, err := f.file.LoadGlyph(f.buffer, index, f.ppem(), nil)
		if err != nil {
			continue // It has no outline; its place stays empty.
		}
		place := func(p fixed.Point26_6) point {
			return origin.plus(point{float64(p.X) / 64, float64(p.Y) / 64}.turned(angle))
		}
		var pen point
		for _, s := range segments {
			switch s.Op {
			case sfnt.SegmentOpMoveTo:
				if !out.empty() {
					out.close()
				}
				pen = place(s.Args[0])
				out.move(pen)
			case sfnt.SegmentOpLineTo:
				pen = place(s.Args[0])
				out.line(pen)
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
		out.close()
	}
	return out
}
