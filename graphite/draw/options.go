package draw

import (
	"image/color"
	"math"
	"time"
)

// Options say what a picture looks like. Parse makes them of the parameters of a request; Params lists
// these.
type Options struct {
	Format        string // png, svg or pdf
	Width, Height int    // pixels
	Margin        float64
	Zone          *time.Location // of the time axis

	Background, Foreground, MajorLine, MinorLine color.NRGBA
	Colors                                       []string // of lines, in turn
	FontName                                     string
	FontSize                                     float64
	FontBold, FontItalic                         bool

	Title, VTitle, VTitleRight string
	HideLegend                 *bool // nil: if there are more than ten names
	UniqueLegend               bool
	HideNullFromLegend         bool
	HideAxes                   bool
	HideXAxis, HideYAxis       bool
	HideGrid                   bool
	GraphOnly                  bool

	LineMode       string  // slope, staircase or connected
	LineWidth      float64 // pixels
	ConnectedLimit float64 // how many points may be missing in a line that is connected
	AreaMode       string  // none, first, all or stacked
	AreaAlpha      float64 // opacity of areas, below which their lines are drawn opaquely; 0: as the lines
	NullAsZero     bool
	MinXStep       float64 // pixels between points

	OnRight     bool // the axis of values is on the right
	Y           limits
	Left, Right limits // where there are two axes
	LeftSide    sideStyle
	RightSide   sideStyle
	UnitSystem  string
	Divisors    []int
	MinorY      int
	LogBase     float64 // 0: linear
	XFormat     string  // of strftime; empty: by the span of time
	PieLabels   string  // horizontal or rotated
	ValueLabels string  // none, number or percent
	LeastLabel  float64 // slices below this number or percentage have no label
	LabelColor  color.NRGBA
}

// sideStyle is what all lines of one of two axes look like, as far as it is set.
type sideStyle struct {
	width, dash *float64
	color       string
}

// Bounds of what may be asked for.
const (
	mostSide   = 16384   // pixels of width and of height
	mostPixels = 8 << 20 // of the picture: a screen of 3840×2160 fits
	leastFont  = 1
	mostFont   = 500
	mostText   = 4096 // bytes of a title and a format
	mostParts  = 100  // numbers in yDivisors, and lines between two labels
	legendMost = 10   // names that a legend has unless it is asked for
)

func defaults(t Template, zone *time.Location) (*Options, error) {
	o := &Options{
		Format: "png", Width: 330, Height: 250, Margin: 10, Zone: zone, Colors: t.LineColors, FontName: t.FontName, FontSize: t.FontSize,
		FontBold: t.FontBold, FontItalic: t.FontItalic, LineMode: "slope", LineWidth: 1.2, ConnectedLimit: math.Inf(1), AreaMode: "none",
		MinXStep: 1, UnitSystem: "si", Divisors: []int{4, 5, 6}, MinorY: 1, PieLabels: "horizontal", ValueLabels: "percent", LeastLabel: 5,
		LabelColor: color.NRGBA{A: 255},
	}
	for to, word := range map[*color.NRGBA]string{&o.Background: t.Background, &o.Foreground: t.Foreground, &o.MajorLine: t.MajorLine, &o.MinorLine: t.MinorLine} {
		c, err := parseColor(word)
		if err != nil {
			return nil, err
		}
		*to = c
	}
	return o, nil
}
