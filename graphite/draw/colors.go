package draw

import (
	"fmt"
	"image/color"
	"math"
	"strconv"
	"strings"
)

// named returns graphite-web's colour of a name. Some differ from those of HTML.
func named(name string) (color.NRGBA, bool) {
	rgb := func(r, g, b byte) (color.NRGBA, bool) { return color.NRGBA{r, g, b, 255}, true }
	switch name {
	case "black":
		return rgb(0, 0, 0)
	case "white":
		return rgb(255, 255, 255)
	case "blue":
		return rgb(100, 100, 255)
	case "green":
		return rgb(0, 200, 0)
	case "red":
		return rgb(200, 0, 50)
	case "yellow":
		return rgb(255, 255, 0)
	case "orange":
		return rgb(255, 165, 0)
	case "purple":
		return rgb(200, 100, 255)
	case "brown":
		return rgb(150, 100, 50)
	case "cyan":
		return rgb(0, 255, 255)
	case "aqua":
		return rgb(0, 150, 150)
	case "gray", "grey":
		return rgb(175, 175, 175)
	case "magenta":
		return rgb(255, 0, 255)
	case "pink":
		return rgb(255, 100, 100)
	case "gold":
		return rgb(200, 200, 0)
	case "rose":
		return rgb(200, 150, 200)
	case "darkblue":
		return rgb(0, 0, 255)
	case "darkgreen":
		return rgb(0, 255, 0)
	case "darkred":
		return rgb(255, 0, 0)
	case "darkgray", "darkgrey":
		return rgb(111, 111, 111)
	}
	return color.NRGBA{}, false
}

// parseColor reads a name or six or eight hexadecimal digits, the last two of which are the opacity. A #
// may stand before them, or what a URL makes of it.
func parseColor(text string) (color.NRGBA, error) {
	if c, ok := named(strings.ToLower(text)); ok {
		return c, nil
	}
	digits := strings.TrimPrefix(strings.TrimPrefix(text, "#"), "%23")
	c := color.NRGBA{A: 255}
	if len(digits) >= 6 {
		if rgb, err := strconv.ParseUint(digits[:6], 16, 32); err == nil {
			c.R, c.G, c.B = byte(rgb>>16), byte(rgb>>8&255), byte(rgb&255)
			if len(digits) != 8 {
				return c, nil
			}
			if alpha, err := strconv.ParseUint(digits[6:], 16, 8); err == nil {
				c.A = byte(alpha)
				return c, nil
			}
		}
	}
	return c, fmt.Errorf("%.40q is no colour: want a name such as blue, or RRGGBB or RRGGBBAA in hexadecimal digits", text)
}

// withAlpha returns an opaque colour with an opacity. A colour that has one of its own keeps it.
func withAlpha(c color.NRGBA, alpha float64) color.NRGBA {
	if c.A == 255 {
		c.A = byte(math.Round(255 * min(max(alpha, 0), 1)))
	}
	return c
}
