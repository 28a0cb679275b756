package picture

import (
	"encoding/binary"
	"image"
	"image/color"
	"image/draw"
	"math"

	"golang.org/x/image/vector"
)

// A raster is a surface of pixels. Each path becomes a mask of how much of each pixel is inside, which
// takes time for the box around the path and not for how often it crosses itself.
type raster struct {
	image  *image.RGBA
	within image.Rectangle
	opaque bool         // nothing behind the picture can be seen
	free   *image.Alpha // what is not excluded; nil: everything
	filler vector.Rasterizer
	mask   []byte
}

// rasterBytes is what a pixel takes: its colour, its masks, the sums that they are made of and the file.
const rasterBytes = 4 + 2 + 4 + 4

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
	if where, mask := r.covered(p); mask != nil {
		r.paint(where, mask, c)
	}
}

func (r *raster) stroke(p *path, pen pen, c color.NRGBA) {
	if pen.width > 0 {
		r.fill(p.stroked(pen), c)
	}
}

func (r *raster) text(f *font, text string, at point, angle float64, c color.NRGBA) {
	r.fill(f.outline(text, at, angle, true, r.image.Bounds()), c)
}

// covered returns how much of each pixel is inside of a path: 255 is all. The mask has the size of the
// box; it is nil if nothing is visible.
func (r *raster) covered(p *path) (image.Rectangle, []byte) {
	if len(p.points) == 0 {
		return image.Rectangle{}, nil
	}
	b := p.bounds()
	where := image.Rect(rounded(math.Floor(b.xmin)), rounded(math.Floor(b.ymin)), rounded(math.Ceil(b.xmax)), rounded(math.Ceil(b.ymax))).Intersect(r.within)
	if where.Empty() {
		return where, nil
	}
	w, h := where.Dx(), where.Dy()
	r.filler.Reset(w, h)
	r.trace(p, where)
	if cap(r.mask) < w*h {
		r.mask = make([]byte, w*h)
	}
	mask := &image.Alpha{Pix: r.mask[:w*h], Stride: w, Rect: image.Rect(0, 0, w, h)}
	r.filler.DrawOp = draw.Src
	r.filler.Draw(mask, mask.Rect, image.Opaque, image.Point{})
	return where, mask.Pix
}

// trace gives the path to the rasterizer. It walks along lines pixel by pixel, so what is far outside is
// brought near.
func (r *raster) trace(p *path, where image.Rectangle) {
	near := func(at point) (x, y float32) {
		w, h := float64(where.Dx()), float64(where.Dy())
		return float32(min(max(at.x-float64(where.Min.X), -w-2), 2*w+2)), float32(min(max(at.y-float64(where.Min.Y), -h-2), 2*h+2))
	}
	next := 0
	for _, v := range p.verbs {
		switch v {
		case moveTo:
			r.filler.ClosePath()
			r.filler.MoveTo(near(p.points[next]))
			next++
		case lineTo:
			r.filler.LineTo(near(p.points[next]))
			next++
		case cubeTo:
			ax, ay := near(p.points[next])
			bx, by := near(p.points[next+1])
			x, y := near(p.points[next+2])
			r.filler.CubeTo(ax, ay, bx, by, x, y)
			next += 3
		case closePath:
			r.filler.ClosePath()
		}
	}
	r.filler.ClosePath()
}

// paint lays a colour over the pixels of a mask.
func (r *raster) paint(where image.Rectangle, mask []byte, c color.NRGBA) {
	if c.A == 0 {
		return
	}
	width := where.Dx()
	for y := where.Min.Y; y < where.Max.Y; y++ {
		row := mask[(y-where.Min.Y)*width:][:width]
		out := r.image.Pix[r.image.PixOffset(where.Min.X, y):][:4*width]
		var free []byte
		if r.free != nil {
			free = r.free.Pix[r.free.PixOffset(where.Min.X, y):][:width]
		}
		for x := 0; x < width; x++ {
			if row[x] == 0 {
				x += zeros(row[x:]) - 1
				continue
			}
			cover := uint32(row[x])
			if free != nil {
				cover = shared(cover, uint32(free[x]))
			}
			over(out[4*x:4*x+4:4*x+4], c, shared(cover, uint32(c.A)))
		}
	}
}

// zeros returns how many bytes from the first on are certainly 0, at least one.
func zeros(row []byte) int {
	n := 1
	for n+8 <= len(row) && binary.LittleEndian.Uint64(row[n:]) == 0 {
		n += 8
	}
	return n
}

// shared is a share of a share, both of 255.
func shared(a, b uint32) uint32 { return (a*b + 127) / 255 }

// over lays a colour over a pixel that is multiplied by its opacity.
func over(pixel []byte, c color.NRGBA, alpha uint32) {
	rest := 255 - alpha
	pixel[0] = byte((uint32(c.R)*alpha + uint32(pixel[0])*rest + 127) / 255)
	pixel[1] = byte((uint32(c.G)*alpha + uint32(pixel[1])*rest + 127) / 255)
	pixel[2] = byte((uint32(c.B)*alpha + uint32(pixel[2])*rest + 127) / 255)
	pixel[3] = byte((255*alpha + uint32(pixel[3])*rest + 127) / 255)
}

func (r *raster) exclude(p *path) {
	where, mask := r.covered(p)
	if mask == nil {
		return
	}
	if r.free == nil {
		r.free = image.NewAlpha(r.image.Bounds())
		for i := range r.free.Pix {
			r.free.Pix[i] = 255
		}
	}
	width := where.Dx()
	for y := where.Min.Y; y < where.Max.Y; y++ {
		free := r.free.Pix[r.free.PixOffset(where.Min.X, y):]
		for x, m := range mask[(y-where.Min.Y)*width:][:width] {
			if m != 0 {
				free[x] = byte(uint32(free[x]) * uint32(255-m) / 255)
			}
		}
	}
}

func (r *raster) include() { r.free = nil }

func (r *raster) finish() ([]byte, error) { return writePNG(r.image, r.opaque) }
