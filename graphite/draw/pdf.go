package draw

import (
	"bytes"
	"image"
	"image/color"
	"time"

	"codeberg.org/go-pdf/fpdf"
)

// A pdf is a surface that is a page, a point of 1/72 inch for each pixel. Letters are outlines, as in
// graphite-web's files.
type pdf struct {
	page     *fpdf.Fpdf
	seen     image.Rectangle
	clipped  bool
	excluded bool
}

func newPDF(width, height int) *pdf {
	page := fpdf.NewCustom(&fpdf.InitType{UnitStr: "pt", Size: fpdf.SizeType{Wd: float64(width), Ht: float64(height)}})
	page.SetMargins(0, 0, 0)
	page.SetAutoPageBreak(false, 0)
	page.SetCatalogSort(true)
	page.SetCreationDate(time.Unix(0, 0).UTC()) // Equal pictures are equal files.
	page.SetModificationDate(time.Unix(0, 0).UTC())
	page.AddPage()
	page.SetLineJoinStyle("miter")
	page.SetLineCapStyle("butt")
	return &pdf{page: page, seen: image.Rect(0, 0, width, height)}
}

func (p *pdf) hinted() bool { return false }
func (p *pdf) group(string) {}

func (p *pdf) background(c color.NRGBA) {
	all := &path{}
	all.rectangle(0, 0, float64(p.seen.Dx()), float64(p.seen.Dy()))
	p.fill(all, c)
}

func (p *pdf) fill(outline *path, c color.NRGBA) {
	if outline.empty() || c.A == 0 {
		return
	}
	p.page.SetFillColor(int(c.R), int(c.G), int(c.B))
	p.page.SetAlpha(float64(c.A)/255, "Normal")
	p.steps(outline)
	p.page.DrawPath("F")
}

func (p *pdf) stroke(way *path, pen pen, c color.NRGBA) {
	if len(way.points) < 2 || c.A == 0 || pen.width == 0 {
		return
	}
	p.page.SetDrawColor(int(c.R), int(c.G), int(c.B))
	p.page.SetAlpha(float64(c.A)/255, "Normal")
	p.page.SetLineWidth(pen.width)
	var dashes []float64
	if pen.dash > 0 {
		dashes = []float64{pen.dash}
	}
	p.page.SetDashPattern(dashes, dashOffset)
	p.steps(way)
	p.page.DrawPath("D")
}

func (p *pdf) text(f *font, text string, at point, angle float64, c color.NRGBA) {
	p.fill(f.outline(text, at, angle, false, p.seen), c)
}

// steps makes a path the current one of the page.
func (p *pdf) steps(way *path) {
	next := 0
	for _, v := range way.verbs {
		switch v {
		case moveTo:
			p.page.MoveTo(way.points[next].x, way.points[next].y)
			next++
		case lineTo:
			p.page.LineTo(way.points[next].x, way.points[next].y)
			next++
		case cubeTo:
			a, b, to := way.points[next], way.points[next+1], way.points[next+2]
			p.page.CurveBezierCubicTo(a.x, a.y, b.x, b.y, to.x, to.y)
			next += 3
		case closePath:
			p.page.ClosePath()
		}
	}
}

func (p *pdf) clip(b box) {
	p.page.ClipRect(b.xmin, b.ymin, b.xmax-b.xmin, b.ymax-b.ymin, false)
	p.clipped = true
}

func (p *pdf) exclude(what *path) {
	if what.empty() {
		return
	}
	if !p.excluded {
		p.page.RawWriteStr("q\n")
		p.excluded = true
	}
	rest := &path{}
	rest.rectangle(-10, -10, float64(p.seen.Dx()+20), float64(p.seen.Dy()+20))
	p.steps(rest)
	p.steps(what)
	p.page.RawWriteStr("W* n\n")
}

func (p *pdf) include() {
	if p.excluded {
		p.page.RawWriteStr("Q\n")
		p.excluded = false
	}
}

func (p *pdf) finish() ([]byte, error) {
	p.include()
	if p.clipped {
		p.page.ClipEnd()
	}
	var out bytes.Buffer
	err := p.page.Output(&out)
	return out.Bytes(), err
}
