package canvas

import (
	"fmt"
	"math"

	"github.com/golang/freetype/truetype"
	imagefont "golang.org/x/image/font"
	"golang.org/x/image/math/fixed"
)

// A fitter moves the points of glyphs onto pixels, by the instructions in the font. graphite-web has its PNGs drawn
// like that (cairo's ANTIALIAS_NONE for fonts), and the widths of texts depend on it.
type fitter struct {
	file   *truetype.Font
	size   fixed.Int26_6
	buffer *truetype.GlyphBuf
	glyphs map[rune]fitted
}

// fitted is a glyph. Its points are those of TrueType, y goes up.
type fitted struct {
	ok      bool // the instructions could be followed
	advance float64
	points  []truetype.Point
	ends    []int // of contours among points
}

func newFitter(file *truetype.Font, size fixed.Int26_6) *fitter {
	return &fitter{file: file, size: size, buffer: new(truetype.GlyphBuf), glyphs: map[rune]fitted{}}
}

// glyph returns the glyph of a letter. It is not ok for the few whose instructions the interpreter cannot follow.
func (f *fitter) glyph(r rune) fitted {
	g, ok := f.glyphs[r]
	if !ok {
		g = f.load(f.file.Index(r))
		f.glyphs[r] = g
	}
	return g
}

func (f *fitter) load(i truetype.Index) fitted {
	if err := f.follow(i); err != nil {
		f.buffer = new(truetype.GlyphBuf) // It may be left in any state.
		return fitted{}
	}
	return fitted{
		ok: true, advance: math.Round(float64(f.buffer.AdvanceWidth) / 64),
		points: append([]truetype.Point(nil), f.buffer.Points...), ends: append([]int(nil), f.buffer.Ends...),
	}
}

// follow carries out the instructions of a glyph. The interpreter panics on some where FreeType goes on; the fonts are
// those in the binary, so which ones is known.
func (f *fitter) follow(i truetype.Index) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("glyph %d: %v", i, p)
		}
	}()
	return f.buffer.Load(f.file, f.size, i, imagefont.HintingFull)
}

// addTo adds the outline of the glyph. place says where a point of it is in the picture.
func (g fitted) addTo(out *Path, place func(x, y float64) Point) {
	start := 0
	for _, end := range g.ends {
		if contour := g.points[start:end]; len(contour) > 0 {
			addContour(out, contour, place)
		}
		start = end
	}
}

const onCurve = 1 // flag of a point of TrueType

// addContour adds a closed line of quadratic curves. Between two control points there is a point of the curve half way.
func addContour(out *Path, contour []truetype.Point, place func(x, y float64) Point) {
	n := len(contour)
	at := func(i int) Point { return place(float64(contour[i%n].X)/64, -float64(contour[i%n].Y)/64) }
	on := func(i int) bool { return contour[i%n].Flags&onCurve != 0 }
	first := 0
	for first < n && !on(first) {
		first++
	}
	pen := at(first)
	if first == n { // there are control points alone
		pen = middle(at(n-1), pen)
		first = n - 1
	}
	start, control, curved := pen, pen, false
	to := func(p Point) {
		if curved {
			out.quad(pen, control, p)
		} else {
			out.Line(p)
		}
		pen = p
	}
	if !out.empty() {
		out.Close()
	}
	out.Move(pen)
	for i := first + 1; i < first+n || i == first+n && !on(i); i++ {
		switch p := at(i); {
		case on(i):
			to(p)
			curved = false
		case curved:
			to(middle(control, p))
			control = p
		default:
			control, curved = p, true
		}
	}
	to(start)
}

func middle(a, b Point) Point { return Point{(a.X + b.X) / 2, (a.Y + b.Y) / 2} }
