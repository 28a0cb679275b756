package draw

import (
	"image"
	"image/color"
	"image/draw"
	"math"
)

// A raster is a surface of pixels. Of each path it finds how much of each pixel is inside, however often the
// path crosses itself.
type raster struct {
	image  *image.RGBA
	within image.Rectangle
	opaque bool         // nothing behind the picture can be seen
	free   *image.Alpha // what is not excluded; nil: everything
	inside coverage
}

// rasterBytes is what a pixel takes: its colour, what is excluded, changes of coverage, and the file as it grows.
const rasterBytes = 4 + 1 + 5 + 8

func newRaster(width, height int) *raster {
	all := image.Rect(0, 0, width, height)
	return &raster{image: image.NewRGBA(all), within: all}
}

func (r *raster) hinted() bool { return true }
func (r *raster) group(string) {}

func (r *raster) background(c color.NRGBA) {
	draw.Draw(r.image, r.image.Rect, image.NewUniform(c), image.Point{}, draw.Src)
	r.opaque = c.A == 255
}

func (r *raster) clip(b box) {
	r.within = r.within.Intersect(image.Rect(rounded(b.xmin), rounded(b.ymin), rounded(b.xmax), rounded(b.ymax)))
}

// rounded is safe for every number: pictures are smaller than its bounds.
func rounded(v float64) int { return int(math.Round(min(max(v, -1e6), 1e6))) }

func (r *raster) fill(p *path, c color.NRGBA) {
	if r.cover(p) {
		r.paint(c)
	}
}

func (r *raster) stroke(p *path, pen pen, c color.NRGBA) {
	if pen.width <= 0 || c.A == 0 || !r.begin(p, pen.width*(miterLimit+1)/2) {
		return
	}
	corner := r.corner()
	p.stroke(pen, func(from, to point) { r.inside.edge(from.minus(corner), to.minus(corner)) })
	r.paint(c)
}

func (r *raster) text(f *font, text string, at point, angle float64, c color.NRGBA) {
	r.fill(f.outline(text, at, angle, true, r.image.Bounds()), c)
}

// begin empties the coverage for what is around a path; it reports whether any of that is on the picture.
func (r *raster) begin(p *path, around float64) bool {
	if r.within.Empty() || len(p.points) == 0 {
		return false
	}
	b, w := p.bounds(), r.within
	if b.xmax+around < float64(w.Min.X) || b.xmin-around > float64(w.Max.X) || b.ymax+around < float64(w.Min.Y) || b.ymin-around > float64(w.Max.Y) {
		return false
	}
	r.inside.begin(w.Dx(), w.Dy())
	return true
}

func (r *raster) corner() point { return point{float64(r.within.Min.X), float64(r.within.Min.Y)} }

// cover finds what is inside of a path.
func (r *raster) cover(p *path) bool {
	if !r.begin(p, 0) {
		return false
	}
	r.inside.path(p, r.corner())
	return true
}

// paint lays a colour over what is covered.
func (r *raster) paint(c color.NRGBA) {
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

func (r *raster) exclude(p *path) {
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

func (r *raster) include() { r.free = nil }

func (r *raster) finish() ([]byte, error) { return writePNG(r.image, r.opaque) }
