package canvas

import (
	"image"
	"image/draw"
	"math"
	"math/rand/v2"
	"testing"

	"golang.org/x/image/vector"
)

// covers returns how much of each pixel is covered, row by row.
func (c *coverage) covers() []byte {
	out := make([]byte, c.width*c.height)
	c.rows(func(x, y int, cover []byte) { copy(out[y*c.width+x:], cover) })
	return out
}

// TestCoverage compares random outlines with what golang.org/x/image/vector makes of them. They go far out of
// the box, around places more than once and both ways.
func TestCoverage(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var c coverage
	for n := range 3000 {
		w, h := 513+random.IntN(300), 1+random.IntN(60) // of smaller boxes the library knows areas less well
		reach := []float64{1, 1, 1.5, 3}[n%4]
		place := func() Point {
			at := Point{(random.Float64()-0.5)*reach*float64(w) + float64(w)/2, (random.Float64()-0.5)*reach*float64(h) + float64(h)/2}
			if n%5 == 0 { // corners of pixels
				at = Point{math.Round(at.X), math.Round(at.Y)}
			}
			return at
		}
		p, want := &Path{}, vector.NewRasterizer(w, h)
		f := func(at Point) (x, y float32) { return float32(at.X), float32(at.Y) }
		for range 1 + random.IntN(3) {
			first := place()
			p.Move(first)
			want.MoveTo(f(first))
			for range 2 + random.IntN(6) {
				at := place()
				p.Line(at)
				want.LineTo(f(at))
			}
			p.Close()
			want.ClosePath()
		}
		c.begin(w, h)
		c.path(p, Point{})
		got, mask := c.covers(), image.NewAlpha(image.Rect(0, 0, w, h))
		want.DrawOp = draw.Src
		want.Draw(mask, mask.Rect, image.Opaque, image.Point{})
		for i, v := range got {
			if diff := math.Abs(float64(v) - float64(mask.Pix[i])); diff > 1 {
				t.Fatalf("outline %d, %d×%d: pixel %d,%d is %d, want %d\n%v", n, w, h, i%w, i/w, v, mask.Pix[i], p)
			}
		}
		for i, v := range c.cells {
			if v != 0 {
				t.Fatalf("outline %d: cell %d is %g afterwards", n, i, v)
			}
		}
	}
}

// TestCurves draws a circle of curves.
func TestCurves(t *testing.T) {
	p := &Path{}
	p.Arc(Point{50, 50}, 40, 0, 2*math.Pi)
	var c coverage
	c.begin(100, 100)
	c.path(p, Point{})
	sum := 0
	for i, v := range c.covers() {
		sum += int(v)
		distance := Point{float64(i%100) + 0.5, float64(i/100) + 0.5}.minus(Point{50, 50}).length()
		if distance < 39 && v != 255 || distance > 41 && v != 0 {
			t.Fatalf("pixel %d,%d is %d", i%100, i/100, v)
		}
	}
	if area := float64(sum) / 255; math.Abs(area-math.Pi*40*40) > 3 {
		t.Errorf("area %g, want %g", area, math.Pi*40*40)
	}
}

// TestStrokeCovers looks at random lines: near one all is covered, and far from all nothing but tips.
func TestStrokeCovers(t *testing.T) {
	const size = 80
	random := rand.New(rand.NewPCG(5, 6))
	var c coverage
	for n := range 500 {
		p, width := &Path{}, 1+10*random.Float64()
		p.Move(Point{size * random.Float64(), size * random.Float64()})
		for range 1 + random.IntN(5) {
			p.Line(Point{size * random.Float64(), size * random.Float64()})
		}
		c.begin(size, size)
		p.stroke(Pen{Width: width}, c.edge)
		for i, v := range c.covers() {
			at := Point{float64(i%size) + 0.5, float64(i/size) + 0.5}
			within, off := false, math.Inf(1)
			for j, to := range p.points[1:] {
				from := p.points[j]
				way := to.minus(from)
				along := at.minus(from).dot(way) / way.length()
				aside := math.Abs(at.minus(from).cross(way)) / way.length()
				within = within || along > 1 && along < way.length()-1 && aside < width/2-0.75
				off = min(off, max(aside-width/2, -along, along-way.length()))
			}
			if within && v < 254 || off > miterLimit*width/2+1 && v > 0 {
				t.Fatalf("line %d of width %g: pixel %d,%d is %d\n%v", n, width, i%size, i/size, v, p.points)
			}
		}
	}
}

// BenchmarkStroke draws a line of 400 points through a box of 800×400.
func BenchmarkStroke(b *testing.B) {
	p := &Path{}
	for i := range 400 {
		p.Line(Point{2 * float64(i), 200 + 30*math.Sin(float64(i)/9) + 5*float64(i%3)})
	}
	var c coverage
	for b.Loop() {
		c.begin(800, 400)
		p.stroke(Pen{Width: 1.2}, c.edge)
		c.rows(func(int, int, []byte) {})
	}
}
