package canvas

import (
	"math"
	"math/bits"
)

// A coverage finds out how much of each pixel of a box is inside of an outline. It is given the edges of
// the outline in any order: where they go around a place more often one way than the other, that is inside.
//
// An edge changes the area that is inside to the right of it. Each cell holds by how much the area changes
// from the pixel before, so that sums from left to right are the areas. Only blocks of pixels that an edge
// goes through are summed up and cleared again: a thin line over a large box takes time for its own length.
type coverage struct {
	width, height int
	cells         []float32 // height rows of stride cells; all 0 but between begin and rows
	stride        int
	touched       []uint64 // bits of the blocks of a row that have changes; words of them for each row
	words         int
	top, bottom   int // rows with changes: from top to before bottom
	row           []byte
}

// blockBits is the logarithm of how many pixels a block has.
const blockBits = 4

// begin makes place for a box of so many pixels.
func (c *coverage) begin(width, height int) {
	c.width, c.height = width, height
	c.stride = width + 2 // an edge in the last pixel changes those after it
	c.words = (c.stride>>blockBits)>>6 + 1
	if len(c.cells) < c.stride*height {
		c.cells = make([]float32, c.stride*height)
	}
	if len(c.touched) < c.words*height {
		c.touched = make([]uint64, c.words*height)
	}
	if len(c.row) < width {
		c.row = make([]byte, width)
	}
	c.top, c.bottom = height, 0
}

// edge adds an edge between two points, in pixels from the corner of the box.
func (c *coverage) edge(from, to Point) {
	direction := float32(1)
	if from.Y > to.Y {
		from, to, direction = to, from, -1
	}
	if !(from.Y < to.Y && to.Y > 0 && from.Y < float64(c.height)) || math.IsNaN(from.X+to.X) {
		return // level, or not in the box
	}
	slope := (to.X - from.X) / (to.Y - from.Y)
	if from.Y < 0 {
		from = Point{from.X - from.Y*slope, 0}
	}
	if bottom := float64(c.height); to.Y > bottom {
		to = Point{to.X + (bottom-to.Y)*slope, bottom}
	}
	c.beside(from, to, direction)
}

// beside adds an edge that goes down within the rows of the box. What is left of the box counts for its
// first pixel, and what is right of it for none.
func (c *coverage) beside(from, to Point, direction float32) {
	right := float64(c.width)
	if min(from.X, to.X) >= 0 && max(from.X, to.X) <= right {
		c.down(from, to, direction)
		return
	}
	sides := [2]float64{0, right}
	if from.X > to.X {
		sides = [2]float64{right, 0}
	}
	at := from
	add := func(next Point) {
		if middle := (at.X + next.X) / 2; at.Y < next.Y && middle < right {
			c.down(Point{min(max(at.X, 0), right), at.Y}, Point{min(max(next.X, 0), right), next.Y}, direction)
		}
		at = next
	}
	for _, side := range sides {
		if (from.X < side) != (to.X < side) {
			y := from.Y + (side-from.X)*(to.Y-from.Y)/(to.X-from.X)
			add(Point{side, min(max(y, at.Y), to.Y)})
		}
	}
	add(to)
}

// down adds an edge that goes down within the box, row by row.
func (c *coverage) down(from, to Point, direction float32) {
	row, last := int(from.Y), int(math.Ceil(to.Y))
	c.top, c.bottom = min(c.top, row), max(c.bottom, last)
	slope := (to.X - from.X) / (to.Y - from.Y)
	x := float32(from.X)
	if row+1 >= last {
		c.cross(row, x, float32(to.X), float32(to.Y-from.Y)*direction)
		return
	}
	height := float64(row+1) - from.Y
	next := c.within(from.X + height*slope)
	c.cross(row, x, next, float32(height)*direction)
	x = next
	for row++; row < last-1; row++ {
		next := c.within(to.X - (to.Y-float64(row+1))*slope)
		first := int(x)
		if first != int(next) {
			c.cross(row, x, next, direction)
			x = next
			continue
		}
		share := direction * ((x+next)*0.5 - float32(first))
		cells := c.cells[row*c.stride+first:][:2]
		cells[0] += direction - share
		cells[1] += share
		c.mark(row, first)
		c.mark(row, first+1)
		x = next
	}
	c.cross(row, x, float32(to.X), float32(to.Y-float64(row))*direction)
}

// within returns a place in a row that rounding has not moved out of it.
func (c *coverage) within(x float64) float32 {
	if x < 0 {
		return 0
	}
	if right := float64(c.width); x > right {
		return float32(right)
	}
	return float32(x)
}

// cross adds the part of an edge in a row, between two places of it.
func (c *coverage) cross(row int, x, next, height float32) {
	if x > next {
		x, next = next, x
	}
	first, last := int(x), int(next)
	cells := c.cells[row*c.stride:][:c.stride]
	for b := first >> blockBits; b <= (last+1)>>blockBits; b++ {
		c.mark(row, b<<blockBits)
	}
	if first == last {
		share := height * ((x+next)/2 - float32(first)) // what is left of the edge in its pixel
		cells[first] += height - share
		cells[first+1] += share
		return
	}
	// The edge takes an equal part of the height in each pixel that it crosses as a whole.
	each := height / (next - x)
	in := float32(first+1) - x
	entered := each * in
	area := entered * in / 2
	cells[first] += area
	carried := entered - area // what the pixels after it are still to be told
	for i := first + 1; i < last; i++ {
		cells[i] += carried + each/2
		carried = each / 2
	}
	out := next - float32(last)
	left := each * out
	area = left * (1 - out/2)
	cells[last] += carried + area
	cells[last+1] += left - area
}

// mark notes that the block of a pixel has changes.
func (c *coverage) mark(row, x int) {
	b := x >> blockBits
	c.touched[row*c.words+b>>6] |= 1 << (b & 63)
}

// rows calls visit with each stretch of pixels that the outline may cover: where it begins, and how much
// of each pixel is covered, 255 of all of it. The stretch is valid during the call. Then the coverage is empty.
func (c *coverage) rows(visit func(x, y int, cover []byte)) {
	for y := c.top; y < c.bottom; y++ {
		sum, done := float32(0), 0
		for w, word := range c.touched[y*c.words:][:c.words] {
			for word != 0 {
				b := w<<6 + bits.TrailingZeros64(word)
				word &= word - 1
				begin, end := b<<blockBits, min((b+1)<<blockBits, c.width)
				if level := coverOf(sum); level > 0 && min(begin, c.width) > done {
					visit(done, y, filled(c.row[:min(begin, c.width)-done], level))
				}
				if begin < c.width {
					sum = c.sum(y, begin, end, sum)
					visit(begin, y, c.row[:end-begin])
				}
				c.forget(y, begin, (b+1)<<blockBits)
				done = end
			}
			c.touched[y*c.words+w] = 0
		}
		if level := coverOf(sum); level > 0 && done < c.width {
			visit(done, y, filled(c.row[:c.width-done], level))
		}
	}
}

// sum makes the covers of a block from its changes and the sum of those before.
func (c *coverage) sum(y, begin, end int, sum float32) float32 {
	row := c.row[:end-begin]
	cells := c.cells[y*c.stride+begin:][:len(row)]
	level := coverOf(sum)
	for i, change := range cells {
		if change != 0 {
			sum += change
			level = coverOf(sum)
		}
		row[i] = level
	}
	return sum
}

// forget sets changes back to 0.
func (c *coverage) forget(y, begin, end int) {
	clear(c.cells[y*c.stride+begin : y*c.stride+min(end, c.stride)])
}

// coverOf is a share of a pixel in 255 parts, whichever way around the edges go.
func coverOf(share float32) byte {
	if share < 0 {
		share = -share
	}
	if share > 1 {
		return 255
	}
	return byte(share*255 + 0.5)
}

func filled(row []byte, level byte) []byte {
	for i := range row {
		row[i] = level
	}
	return row
}

// path adds the edges of a path; its parts are closed. corner is where the box is.
func (c *coverage) path(p *Path, corner Point) {
	var first, at Point
	to := func(next Point) {
		c.edge(at, next)
		at = next
	}
	next := 0
	for _, v := range p.verbs {
		switch v {
		case moveTo:
			to(first)
			first = p.points[next].minus(corner)
			at = first
			next++
		case lineTo:
			to(p.points[next].minus(corner))
			next++
		case cubeTo:
			a, b, end := p.points[next].minus(corner), p.points[next+1].minus(corner), p.points[next+2].minus(corner)
			flat(at, a, b, end, to)
			next += 3
		case closePath:
			to(first)
		}
	}
	to(first)
}

// flat cuts a cubic Bézier curve into lines that are nowhere further from it than a fraction of a pixel.
func flat(from, a, b, end Point, to func(Point)) {
	const (
		tolerance = 0.02 // pixels
		most      = 500
	)
	// The second differences bound how far a chord is from its curve (Wang, 1984).
	bend := max(from.minus(a.times(2)).Plus(b).length(), a.minus(b.times(2)).Plus(end).length())
	n := int(min(math.Ceil(math.Sqrt(0.75*bend/tolerance)), most))
	for i := 1; i < n; i++ {
		t := float64(i) / float64(n)
		s := 1 - t
		to(from.times(s * s * s).Plus(a.times(3 * s * s * t)).Plus(b.times(3 * s * t * t)).Plus(end.times(t * t * t)))
	}
	to(end)
}
