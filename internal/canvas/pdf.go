package canvas

import (
	"bytes"
	"image"
	"image/color"
	"time"

	"codeberg.org/go-pdf/fpdf"
)

// A PDF is a surface that is a page, a point of 1/72 inch for each pixel. Letters are outlines, as in
// graphite-web's files.
type PDF struct {
	page     *fpdf.Fpdf
	seen     image.Rectangle
	clipped  bool
	excluded bool
}

// NewPDF returns an empty picture of so many pixels.
func NewPDF(width, height int) *PDF {
	page := fpdf.NewCustom(&fpdf.InitType{UnitStr: "pt", Size: fpdf.SizeType{Wd: float64(width), Ht: float64(height)}})
	page.SetMargins(0, 0, 0)
	page.SetAutoPageBreak(false, 0)
	page.SetCatalogSort(true)
	page.SetCreationDate(time.Unix(0, 0).UTC()) // Equal pictures are equal files.
	page.SetModificationDate(time.Unix(0, 0).UTC())
	page.AddPage()
	page.SetLineJoinStyle("miter")
	page.SetLineCapStyle("butt")
	return &PDF{page: page, seen: image.Rect(0, 0, width, height)}
}

// Hinted implements Surface.
func (p *PDF) Hinted() bool { return false }

// Group implements Surface.
func (p *PDF) Group(string) {}

// Background implements Surface.
func (p *PDF) Background(c color.NRGBA) {
	all := &Path{}
	all.Rectangle(0, 0, float64(p.seen.Dx()), float64(p.seen.Dy()))
	p.Fill(all, c)
}

// Fill implements Surface.
func (p *PDF) Fill(outline *Path, c color.NRGBA) {
	if outline.empty() || c.A == 0 {
		return
	}
	p.page.SetFillColor(int(c.R), int(c.G), int(c.B))
	p.page.SetAlpha(float64(c.A)/255, "Normal")
	p.steps(outline)
	p.page.DrawPath("F")
}

// Stroke implements Surface.
func (p *PDF) Stroke(way *Path, pen Pen, c color.NRGBA) {
	if len(way.points) < 2 || c.A == 0 || pen.Width == 0 {
		return
	}
	p.page.SetDrawColor(int(c.R), int(c.G), int(c.B))
	p.page.SetAlpha(float64(c.A)/255, "Normal")
	p.page.SetLineWidth(pen.Width)
	var dashes []float64
	if pen.Dash > 0 {
		dashes = []float64{pen.Dash}
	}
	p.page.SetDashPattern(dashes, dashOffset)
	p.steps(way)
	p.page.DrawPath("D")
}

func (p *PDF) text(f *Font, text string, at Point, angle float64, c color.NRGBA) {
	p.Fill(f.outline(text, at, angle, false, p.seen), c)
}

// steps makes a path the current one of the page.
func (p *PDF) steps(way *Path) {
	next := 0
	for _, v := range way.verbs {
		switch v {
		case moveTo:
			p.page.MoveTo(way.points[next].X, way.points[next].Y)
			next++
		case lineTo:
			p.page.LineTo(way.points[next].X, way.points[next].Y)
			next++
		case cubeTo:
			a, b, to := way.points[next], way.points[next+1], way.points[next+2]
			p.page.CurveBezierCubicTo(a.X, a.Y, b.X, b.Y, to.X, to.Y)
			next += 3
		case closePath:
			p.page.ClosePath()
		}
	}
}

// Clip implements Surface.
func (p *PDF) Clip(b Box) {
	p.page.ClipRect(b.Left, b.Top, b.Right-b.Left, b.Bottom-b.Top, false)
	p.clipped = true
}

// Exclude implements Surface.
func (p *PDF) Exclude(what *Path) {
	if what.empty() {
		return
	}
	if !p.excluded {
		p.page.RawWriteStr("q\n")
		p.excluded = true
	}
	rest := &Path{}
	rest.Rectangle(-10, -10, float64(p.seen.Dx()+20), float64(p.seen.Dy()+20))
	p.steps(rest)
	p.steps(what)
	p.page.RawWriteStr("W* n\n")
}

// Include implements Surface.
func (p *PDF) Include() {
	if p.excluded {
		p.page.RawWriteStr("Q\n")
		p.excluded = false
	}
}

// Finish implements Surface.
func (p *PDF) Finish() ([]byte, error) {
	p.Include()
	if p.clipped {
		p.page.ClipEnd()
	}
	var out bytes.Buffer
	err := p.page.Output(&out)
	return out.Bytes(), err
}
