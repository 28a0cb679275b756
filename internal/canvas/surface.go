package canvas

import "image/color"

// A Surface is what is drawn on: the pixels of an image, or the text of a document. What is drawn later
// covers what was drawn before.
type Surface interface {
	// Background fills everything; nothing was drawn before.
	Background(c color.NRGBA)
	// Fill fills the inside of a path.
	Fill(p *Path, c color.NRGBA)
	// Stroke draws the lines of a path.
	Stroke(p *Path, pen Pen, c color.NRGBA)
	// text writes a line; the line's base begins at a point and goes in a direction (radians,
	// clockwise).
	text(f *Font, text string, at Point, angle float64, c color.NRGBA)
	// Clip makes all that follows stay within a box.
	Clip(b Box)
	// Exclude makes all that follows stay out of a path, until include.
	Exclude(p *Path)
	Include()
	// Group names what follows, where the format has names.
	Group(name string)
	// Hinted reports whether the widths of letters are whole pixels.
	Hinted() bool
	// Finish returns the picture.
	Finish() ([]byte, error)
}
