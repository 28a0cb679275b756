package graph

import (
	"errors"
	"fmt"
	"image/color"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Options say how a picture looks. DefaultOptions are a TSD's.
type Options struct {
	Width, Height int // pixels
	Title         string
	Left, Right   AxisOptions
	TimeFormat    string // of strftime; empty: by the span
	Key           string // words such as "out right top"
	NoKey         bool
	Style         string // linespoint, points, circles, dots; empty: lines
	Background    color.NRGBA
	Foreground    color.NRGBA
	Zone          *time.Location
}

// AxisOptions are those of one value axis.
type AxisOptions struct {
	Label    string
	Format   string  // of printf; empty: short
	Min, Max float64 // NaN: those of the values
	Log      bool
}

// Sizes of a picture, in pixels.
const (
	leastSide = 100
	mostSide  = 4096
)

// DefaultOptions are those of a request without any.
func DefaultOptions() Options {
	axis := AxisOptions{Min: math.NaN(), Max: math.NaN()}
	return Options{Width: 1024, Height: 768, Left: axis, Right: axis, Background: color.NRGBA{255, 255, 255, 255}, Foreground: color.NRGBA{0, 0, 0, 255}, Zone: time.UTC}
}

// mostText bounds the texts that a picture shows, in bytes.
const mostText = 200

// ParseOptions reads the parameters of /q that say how a picture looks. Errors name the parameter.
func ParseOptions(v url.Values) (Options, error) {
	o := DefaultOptions()
	last := func(name string) string {
		if values := v[name]; len(values) > 0 {
			return strings.TrimSpace(values[len(values)-1])
		}
		return ""
	}
	o.Title, o.Left.Label, o.Right.Label = last("title"), last("ylabel"), last("y2label")
	o.Left.Format, o.Right.Format, o.TimeFormat = last("yformat"), last("y2format"), last("xformat")
	o.Left.Log, o.Right.Log, o.NoKey = v.Has("ylog"), v.Has("y2log"), v.Has("nokey")
	o.Key = last("key")
	for name, text := range map[string]string{
		"title": o.Title, "ylabel": o.Left.Label, "y2label": o.Right.Label, "yformat": o.Left.Format, "y2format": o.Right.Format, "xformat": o.TimeFormat, "key": o.Key,
	} {
		if len(text) > mostText {
			return o, fmt.Errorf("'%s' has more than %d bytes", name, mostText)
		}
	}
	if o.Style = last("style"); o.Style != "" && !slices.Contains([]string{"linespoint", "points", "circles", "dots"}, o.Style) {
		return o, errors.New("'style' was invalid. Must satisfy the pattern (linespoint|points|circles|dots)")
	}
	return o, errors.Join(
		size(&o, last("wxh")), interval(&o.Left, "yrange", last("yrange")), interval(&o.Right, "y2range", last("y2range")),
		colour(&o.Background, "bgcolor", last("bgcolor")), colour(&o.Foreground, "fgcolor", last("fgcolor")),
	)
}

func size(o *Options, text string) error {
	if text == "" {
		return nil
	}
	w, h, _ := strings.Cut(text, "x")
	width, err := strconv.ParseUint(w, 10, 16)
	height, err2 := strconv.ParseUint(h, 10, 16)
	if err != nil || err2 != nil {
		return fmt.Errorf("'wxh' was invalid. Must satisfy the pattern ^\\d+x\\d+$: %.40q", text)
	}
	if min(width, height) < leastSide || max(width, height) > mostSide {
		return fmt.Errorf("Invalid wxh parameter: %s, sides are %d to %d", text, leastSide, mostSide)
	}
	o.Width, o.Height = int(width), int(height)
	return nil
}

// interval reads [min:max]; either may be missing.
func interval(a *AxisOptions, name, text string) error {
	if text == "" {
		return nil
	}
	inner, ok := strings.CutPrefix(text, "[")
	inner, ok2 := strings.CutSuffix(inner, "]")
	low, high, ok3 := strings.Cut(inner, ":")
	if !ok || !ok2 || !ok3 {
		return fmt.Errorf("'%s' was invalid. Must be in the format [min:max].", name)
	}
	for side, text := range map[*float64]string{&a.Min: low, &a.Max: high} {
		if text = strings.Trim(text, ` "`); text == "" {
			continue
		}
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			return fmt.Errorf("'%s' was invalid. Must be in the format [min:max].", name)
		}
		*side = f
	}
	if a.Min >= a.Max {
		return fmt.Errorf("'%s' was invalid. The minimum is not below the maximum.", name)
	}
	return nil
}

func colour(c *color.NRGBA, name, text string) error {
	if text == "" || text == "transparent" {
		return nil
	}
	if !hex().MatchString(text) {
		return fmt.Errorf("'%s' was invalid. Must be a hex value e.g. 'xFFFFFF'", name)
	}
	v, err := strconv.ParseUint(text[1:], 16, 32)
	if err != nil {
		return fmt.Errorf("'%s': %w", name, err)
	}
	*c = color.NRGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255} //nolint:gosec // the bytes of the number
	return nil
}

func hex() *regexp.Regexp { return regexp.MustCompile("^[xX][a-fA-F0-9]{6}$") }
