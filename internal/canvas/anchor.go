package canvas

import "image/color"

// Anchor says which part of a line of text is where it is written.
type Anchor int

// The parts of a line of text.
const (
	LeftTop Anchor = iota
	RightTop
	CenterTop
	LeftMiddle
	RightMiddle
	CenterMiddle
	CenterBase
)

// Write writes a line of text on a surface, turned clockwise by an angle in radians.
func (f *Font) Write(s Surface, text string, at Point, where Anchor, angle float64, c color.NRGBA) {
	across, down := 0.0, 0.0
	switch where {
	case CenterTop, CenterMiddle, CenterBase:
		across = f.Width(text, s.Hinted()) / 2
	case RightTop, RightMiddle:
		across = f.Width(text, s.Hinted())
	}
	switch where {
	case LeftTop, RightTop, CenterTop:
		down = f.Ascent
	case LeftMiddle, RightMiddle, CenterMiddle:
		down = f.Height/2 - f.descent
	}
	s.text(f, text, at.Plus(Point{-across, down}.Turned(angle)), angle, c)
}
