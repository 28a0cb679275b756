package draw

import "image/color"

// A surface is what is drawn on: the pixels of an image, or the text of a document. What is drawn later
// covers what was drawn before.
type surface interface {
	// background fills everything; nothing was drawn before.
	background(c color.NRGBA)
	// fill fills the inside of a path.
	fill(p *path, c color.NRGBA)
	// stroke draws the lines of a path.
	stroke(p *path, pen pen, c color.NRGBA)
	// text writes a line; the line's base begins at a point and goes in a direction (radians,
	// clockwise).
	text(f *font, text string, at point, angle float64, c color.NRGBA)
	// clip makes all that follows stay within a box.
	clip(b box)
	// exclude makes all that follows stay out of a path, until include.
	exclude(p *path)
	include()
	// group names what follows, where the format has names.
	group(name string)
	// hinted reports whether the widths of letters are whole pixels.
	hinted() bool
	// finish returns the picture.
	finish() ([]byte, error)
}
