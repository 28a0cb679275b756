package canvas

import (
	"image"
	"image/color"
	"image/draw"
	"math"
)

// A Raster is a surface of pixels. Of each path it finds how much of each pixel is inside, however often the
// path crosses itself.
type Raster struct {
	image  *image.RGBA
	within image.Rectangle
	opaque bool         // nothing behind the picture can be seen
	free   *image.Alpha // what is not excluded; nil: everything
	inside coverage
}

// RasterBytes is what a pixel takes: its colour, what is excluded, changes of coverage, and the file as it grows.
const RasterBytes = 4 + 1 + 5 + 8

// NewRaster returns an empty picture of so many pixels.
func NewRaster(width, height int) *Raster {
	all := image.Rect(0, 0, width, height)
	return &Raster{image: image.NewRGBA(all), within: all}
}

// Hinted implements Surface.
func (r *Raster) Hinted() bool { return true }

// Group implements Surface.
func (r *Raster) Group(string) {}

// Background implements Surface.
func (r *Raster) Background(c color.NRGBA) {
	draw.Draw(r.image, r.image.Rect, image.NewUniform(c), image.Point{}, draw.Src)
	r.opaque = c.A == 255
}

// Clip implements Surface.
func (r *Raster) Clip(b Box) {
	r.within = r.within.Intersect(image.Rect(rounded(b.Left), rounded(b.Top), rounded(b.Right), rounded(b.Bottom)))
}

// Within has draw draw within a box alone.
func (r *Raster) Within(b Box, draw func()) {
	before := r.within
	r.Clip(b)
	draw()
	r.within = before
}

// rounded is safe for every number: pictures are smaller than its bounds.
func rounded(v float64) int { return int(math.Round(min(max(v, -1e6), 1e6))) }

// Fill implements Surface.
func (r *Raster) Fill(p *Path, c color.NRGBA) {
	if r.cover(p) {
		r.paint(c)
	}
}

// Stroke implements Surface.
func (r *Raster) Stroke(p *Path, pen Pen, c color.NRGBA) {
	if pen.Width <= 0 || c.A == 0 || !r.begin(p, pen.Width*(miterLimit+1)/2) {
		return
	}
	corner := r.corner()
	p.stroke(pen, func(from, to Point) { r.inside.edge(from.minus(corner), to.minus(corner)) })
	r.paint(c)
}

func (r *Raster) text(f *Font, text string, at Point, angle float64, c color.NRGBA) {
	r.Fill(f.outline(text, at, angle, true, r.image.Bounds()), c)
}

// begin empties the coverage for what is around a path; it reports whether any of that is on the picture.
func (r *Raster) begin(p *Path, around float64) bool {
	if r.within.Empty() || len(p.points) == 0 {
		return false
	}
	b, w := p.bounds(), r.within
	if b.Right+around < float64(w.Min.X) || b.Left-around > float64(w.Max.X) || b.Bottom+around < float64(w.Min.Y) || b.Top-around > float64(w.Max.Y) {
		return false
	}
	r.inside.begin(w.Dx(), w.Dy())
	return true
}

func (r *Raster) corner() Point { return Point{float64(r.within.Min.X), float64(r.within.Min.Y)} }

// cover finds what is inside of a path.
func (r *Raster) cover(p *Path) bool {
	if !r.begin(p, 0) {
		return false
	}
	r.inside.path(p, r.corner())
	return true
}

// paint lays a colour over what is covered.
func (r *Raster) paint(c color.NRGBA) {
	r.inside.rows(func(x, y int, cover []byte) {
		x, y = x+r.within.Min.X, y+r.within.Min.Y
		if r.free != nil {
			for i, free := range r.free.Pix[r.free.PixOffset(x, y):][:len(cover)] {
				cover[i] = byte(shared(uint32(cover[i]), uint32(free)))
			}
		}
		out := r.image.Pix[r.image.PixOffset(x, y):][:4*len(cover)]
		for i, share := range cover {
			if share > 0 {
				over(out[4*i:4*i+4:4*i+4], c, shared(uint32(share), uint32(c.A)))
			}
		}
	})
}

// shared is a share of a share, both of 255.
func shared(a, b uint32) uint32 { return (a*b + 127) / 255 }

// over lays a colour over a pixel that is multiplied by its opacity.
func over(pixel []byte, c color.NRGBA, alpha uint32) {
	if alpha == 255 {
		pixel[0], pixel[1], pixel[2], pixel[3] = c.R, c.G, c.B, 255
		return
	}
	rest := 255 - alpha
	pixel[0] = byte((uint32(c.R)*alpha + uint32(pixel[0])*rest + 127) / 255)
	pixel[1] = byte((uint32(c.G)*alpha + uint32(pixel[1])*rest + 127) / 255)
	pixel[2] = byte((uint32(c.B)*alpha + uint32(pixel[2])*rest + 127) / 255)
	pixel[3] = byte((255*alpha + uint32(pixel[3])*rest + 127) / 255)
}

// Exclude implements Surface.
func (r *Raster) Exclude(p *Path) {
	if !r.cover(p) {
		return
	}
	if r.free == nil {
		r.free = image.NewAlpha(r.image.Bounds())
		for i := range r.free.Pix {
			r.free.Pix[i] = 255
		}
	}
	r.inside.rows(func(x, y int, cover []byte) {
		free := r.free.Pix[r.free.PixOffset(x+r.within.Min.X, y+r.within.Min.Y):][:len(cover)]
		for i, share := range cover {
			free[i] = byte(uint32(free[i]) * uint32(255-share) / 255)
		}
	})
}

// Include implements Surface.
func (r *Raster) Include() { r.free = nil }

// Finish implements Surface.
func (r *Raster) Finish() ([]byte, error) { return writePNG(r.image, r.opaque) }
