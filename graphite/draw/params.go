package draw

import (
	"errors"
	"fmt"
	"image/color"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Param is a parameter of a request that says how a picture looks.
type Param struct {
	Name, Values, Doc string
	// Pie and Line tell which kinds of pictures have it.
	Pie, Line bool
	set       func(o *Options, v value) error
}

// Params returns all parameters in the order in which they count.
func Params() []Param {
	list := append(commonParams(), legendParams()...)
	list = append(list, lineParams()...)
	list = append(list, axisParams()...)
	list = append(list, sideParams()...)
	list = append(list, pieParams()...)
	return append(list, graphOnlyParams()...)
}

// Parse reads the options of a picture. get returns a parameter and whether it is there. An unknown
// template is the default one. Errors name the parameter.
func Parse(get func(name string) (string, bool), pie bool, templates Templates, zone *time.Location) (*Options, error) {
	name, _ := get("template")
	template, ok := templates[name]
	if !ok {
		template = templates[defaultTemplate]
	}
	o, err := defaults(template, zone)
	if err != nil {
		return nil, err
	}
	for _, p := range Params() {
		text, ok := get(p.Name)
		if v := value(text); ok && !v.absent() && (pie && p.Pie || !pie && p.Line) {
			if err := p.set(o, v); err != nil {
				return nil, invalid("%s=%.40s: %v", p.Name, text, err)
			}
		}
	}
	if int64(o.Width)*int64(o.Height) > mostPixels {
		return nil, invalid("width=%d, height=%d: a picture has at most %d pixels", o.Width, o.Height, mostPixels)
	}
	return o, nil
}

func commonParams() []Param {
	both := func(name, values, doc string, set func(o *Options, v value) error) Param {
		return Param{name, values, doc, true, true, set}
	}
	return []Param{
		both("width", "330", "Width in pixels.", func(o *Options, v value) error { return v.integer(&o.Width, 1, mostSide) }),
		both("height", "250", "Height in pixels.", func(o *Options, v value) error { return v.integer(&o.Height, 1, mostSide) }),
		both("outputFormat", "png, svg, pdf", "The same as `format`, before which it counts.", func(o *Options, v value) error { return v.word(&o.Format, "png", "svg", "pdf") }),
		both("margin", "10", "Pixels around everything.", setMargin),
		both("template", "default", "A section of graphTemplates.conf.", func(*Options, value) error { return nil }),
		both("bgcolor", "of the template", "Colour of the background.", func(o *Options, v value) error { return v.color(&o.Background) }),
		both("fgcolor", "of the template", "Colour of titles and labels.", func(o *Options, v value) error { return v.color(&o.Foreground) }),
		both("colorList", "of the template", "Colours of the lines in turn, separated by commas.", setColors),
		both("fontName", "of the template", "The nearest of DejaVu Sans, DejaVu Sans Mono and DejaVu Serif is taken.", func(o *Options, v value) error { return v.text(&o.FontName) }),
		both("fontSize", "of the template", "Size of letters in pixels.", setFontSize),
		both("fontBold", "of the template", "Bold letters.", func(o *Options, v value) error { return v.flag(&o.FontBold) }),
		both("fontItalic", "of the template", "Slanted letters.", func(o *Options, v value) error { return v.flag(&o.FontItalic) }),
		both("title", "", "Title above the picture.", func(o *Options, v value) error { return v.quotedText(&o.Title) }),
		both("areaAlpha", "", "Opacity of areas, 0 to 1. The lines above them are drawn opaquely.", setAreaAlpha),
	}
}

func legendParams() []Param {
	return []Param{
		{"hideLegend", "true above 10 lines", "No legend.", true, true, func(o *Options, v value) error { hide := v.truth(); o.HideLegend = &hide; return nil }},
		lineOnly("uniqueLegend", "false", "Each name once.", func(o *Options, v value) error { return v.flag(&o.UniqueLegend) }),
		lineOnly("hideNullFromLegend", "false", "No names of series without a point.", func(o *Options, v value) error { return v.flag(&o.HideNullFromLegend) }),
	}
}

func lineOnly(name, values, doc string, set func(o *Options, v value) error) Param {
	return Param{name, values, doc, false, true, set}
}

func pieOnly(name, values, doc string, set func(o *Options, v value) error) Param {
	return Param{name, values, doc, true, false, set}
}

func lineParams() []Param {
	return []Param{
		lineOnly("vtitle", "", "Title of the axis of values.", func(o *Options, v value) error { return v.quotedText(&o.VTitle) }),
		lineOnly("vtitleRight", "", "Title of the second axis of values.", func(o *Options, v value) error { return v.quotedText(&o.VTitleRight) }),
		lineOnly("thickness", "", "An older word for `lineWidth`.", setLineWidth),
		lineOnly("lineWidth", "1.2", "Width of lines in pixels.", setLineWidth),
		lineOnly("lineMode", "slope, staircase, connected", "slope joins neighbours, staircase is level from one point to the next, connected joins over gaps.", func(o *Options, v value) error { return v.word(&o.LineMode, "slope", "staircase", "connected") }),
		lineOnly("connectedLimit", "", "How many missing points `lineMode=connected` goes over.", setConnectedLimit),
		lineOnly("areaMode", "none, first, all, stacked", "What is filled below the lines.", func(o *Options, v value) error { return v.word(&o.AreaMode, "none", "first", "all", "stacked") }),
		lineOnly("drawNullAsZero", "false", "Missing points are 0.", func(o *Options, v value) error { return v.flag(&o.NullAsZero) }),
		lineOnly("minXStep", "1", "Least distance of points in pixels; points that are nearer are consolidated.", setMinXStep),
		lineOnly("hideGrid", "false", "No lines at the labels.", func(o *Options, v value) error { return v.flag(&o.HideGrid) }),
		lineOnly("hideAxes", "false", "No axes, and no grid.", func(o *Options, v value) error { return v.flag(&o.HideAxes) }),
		lineOnly("hideXAxis", "false", "No labels of times.", func(o *Options, v value) error { return v.flag(&o.HideXAxis) }),
		lineOnly("hideYAxis", "false", "No labels of values.", func(o *Options, v value) error { return v.flag(&o.HideYAxis) }),
		lineOnly("majorGridLineColor", "of the template", "Colour of lines at labels.", func(o *Options, v value) error { return v.color(&o.MajorLine) }),
		lineOnly("minorGridLineColor", "of the template", "Colour of the lines between them.", func(o *Options, v value) error { return v.color(&o.MinorLine) }),
		lineOnly("xFormat", "by the span of time", "Format of strftime for labels of times.", func(o *Options, v value) error { return v.text(&o.XFormat) }),
	}
}

func axisParams() []Param {
	list := []Param{
		lineOnly("min", "", "An older word for `yMin`.", func(o *Options, v value) error { return v.pointer(&o.Y.min) }),
		lineOnly("max", "", "An older word for `yMax`.", func(o *Options, v value) error { return o.Y.setMax(v) }),
		lineOnly("yAxisSide", "left, right", "Where the axis of values is.", func(o *Options, v value) error { o.OnRight = v == "right"; return nil }),
		lineOnly("yUnitSystem", "si, binary, sec, msec, none", "Units of labels; an unknown one is si.", setUnits),
		lineOnly("yDivisors", "4,5,6", "Into how many parts the axis may be cut.", setDivisors),
		lineOnly("minorY", "1", "How many lines there are between two labels.", setMinorY),
		lineOnly("logBase", "", "A logarithmic axis with a label at each power of this base; e is Euler's number.", setLogBase),
	}
	for _, side := range []struct {
		suffix, of string
		limits     func(o *Options) *limits
	}{
		{"", "the axis", func(o *Options) *limits { return &o.Y }},
		{"Left", "the left axis of two", func(o *Options) *limits { return &o.Left }},
		{"Right", "the right axis of two", func(o *Options) *limits { return &o.Right }},
	} {
		list = append(
			list,
			lineOnly("yMin"+side.suffix, "", "Where "+side.of+" begins.", func(o *Options, v value) error { return v.pointer(&side.limits(o).min) }),
			lineOnly("yMax"+side.suffix, "", "Where "+side.of+" ends; max is the largest value.", func(o *Options, v value) error { return side.limits(o).setMax(v) }),
			lineOnly("yLimit"+side.suffix, "", "Where "+side.of+" ends at the latest.", func(o *Options, v value) error { return v.pointer(&side.limits(o).limit) }),
			lineOnly("yStep"+side.suffix, "", "Between the labels of "+side.of+".", func(o *Options, v value) error { return v.pointer(&side.limits(o).step) }),
		)
	}
	return list
}

func sideParams() (list []Param) {
	for _, side := range []struct {
		name  string
		style func(o *Options) *sideStyle
	}{{"left", func(o *Options) *sideStyle { return &o.LeftSide }}, {"right", func(o *Options) *sideStyle { return &o.RightSide }}} {
		of := " of all series of the " + side.name + " axis of two."
		list = append(
			list,
			lineOnly(side.name+"Width", "", "Width of the lines"+of, func(o *Options, v value) error { return v.pointer(&side.style(o).width) }),
			lineOnly(side.name+"Dashed", "", "Length of the dashes"+of, func(o *Options, v value) error { return v.pointer(&side.style(o).dash) }),
			lineOnly(side.name+"Color", "", "Colour"+of, func(o *Options, v value) error { side.style(o).color = string(v); return v.color(new(color.NRGBA)) }),
		)
	}
	return list
}

func pieParams() []Param {
	return []Param{
		pieOnly("pieLabels", "horizontal, rotated", "Direction of the labels of slices.", func(o *Options, v value) error { return v.text(&o.PieLabels) }),
		pieOnly("valueLabels", "percent, number, none", "What the labels of slices show.", func(o *Options, v value) error { return v.word(&o.ValueLabels, "percent", "number", "none") }),
		pieOnly("valueLabelsMin", "5", "Slices below have no label.", func(o *Options, v value) error { return v.float(&o.LeastLabel) }),
		pieOnly("valueLabelsColor", "black", "Colour of the labels of slices.", func(o *Options, v value) error { return v.color(&o.LabelColor) }),
	}
}

// graphOnlyParams come last, because they overrule others.
func graphOnlyParams() []Param {
	const doc = "Lines alone: no title, legend, axes, grid or margin."
	return []Param{lineOnly("graphOnly", "false", doc, setGraphOnly), lineOnly("graphonly", "false", "The same.", setGraphOnly)}
}

// setLineWidth takes what is below 0 for 0, as cairo does.
func setLineWidth(o *Options, v value) error {
	if f, err := v.number(); err == nil && f < 0 {
		v = "0"
	}
	return v.size(&o.LineWidth)
}

// setMinorY takes what is below 0 for 0, as graphite-web does.
func setMinorY(o *Options, v value) error {
	if f, err := v.number(); err == nil && f < 0 {
		v = "0"
	}
	return v.integer(&o.MinorY, 0, mostParts)
}

// setConnectedLimit looks at the limit only where it counts.
func setConnectedLimit(o *Options, v value) error {
	limit, err := v.number()
	if o.LineMode != "connected" {
		return nil
	}
	o.ConnectedLimit = limit
	return err
}

func setGraphOnly(o *Options, v value) error {
	if v.truth() {
		hide := true
		o.HideLegend, o.HideGrid, o.HideAxes, o.GraphOnly = &hide, true, true, true
		o.OnRight, o.Title, o.VTitle, o.Margin = false, "", "", 0
	}
	return nil
}

func setMargin(o *Options, v value) error {
	margin := 0
	err := v.integer(&margin, -mostSide, mostSide)
	if margin >= 0 && err == nil {
		o.Margin = float64(margin)
	}
	return err
}

func setColors(o *Options, v value) error {
	o.Colors = strings.Split(unquoted(string(v)), ",")
	if len(o.Colors) > 10*mostParts {
		return errors.New("has too many colours")
	}
	_, err := parseColor(o.Colors[0])
	return err
}

func setFontSize(o *Options, v value) error {
	size := 0
	err := v.integer(&size, leastFont, mostFont)
	o.FontSize = float64(size)
	return err
}

// setAreaAlpha takes what is no number as a half, as graphite-web does for lines.
func setAreaAlpha(o *Options, v value) error {
	alpha, err := v.number()
	if err != nil {
		alpha = 0.5
	}
	o.AreaAlpha = min(max(alpha, 0), 1)
	return nil
}

func setMinXStep(o *Options, v value) error {
	err := v.float(&o.MinXStep)
	if err == nil && o.MinXStep < 0 {
		err = errors.New("is below 0")
	}
	return err
}

func (l *limits) setMax(v value) error {
	if l.toMax = v == "max"; l.toMax {
		return nil
	}
	return v.pointer(&l.max)
}

func setUnits(o *Options, v value) error {
	o.UnitSystem = strings.ToLower(string(v))
	if _, ok := unitSystem(o.UnitSystem); !ok {
		o.UnitSystem = "si"
	}
	return nil
}

func setDivisors(o *Options, v value) error {
	o.Divisors = nil
	for text := range strings.SplitSeq(string(v), ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 1 || n > mostLabels || len(o.Divisors) >= mostParts {
			return fmt.Errorf("want at most %d numbers from 1 to %d, separated by commas", mostParts, mostLabels)
		}
		o.Divisors = append(o.Divisors, n)
	}
	return nil
}

func setLogBase(o *Options, v value) error {
	if v == "e" {
		o.LogBase = 2.718281828459045
		return nil
	}
	base, err := v.number()
	switch {
	case err != nil:
		return err
	case base < 1:
		base = 0
	case base == 1:
		return errors.New("must be greater than 1")
	}
	o.LogBase = base
	return nil
}

// integer cuts a number to a whole one.
func (v value) integer(to *int, least, most int) error {
	f, err := v.number()
	if err != nil {
		return err
	}
	if f < float64(least) || f >= float64(most)+1 {
		return fmt.Errorf("must be from %d to %d", least, most)
	}
	*to = int(f)
	return nil
}

func (v value) float(to *float64) (err error) {
	*to, err = v.number()
	return err
}

// size is a length in pixels.
func (v value) size(to *float64) error {
	err := v.float(to)
	if err == nil && (*to < 0 || *to > mostSide) {
		err = fmt.Errorf("must be from 0 to %d", mostSide)
	}
	return err
}

func (v value) pointer(to **float64) error {
	f, err := v.number()
	*to = &f
	return err
}

func (v value) color(to *color.NRGBA) (err error) {
	*to, err = parseColor(string(v))
	return err
}

func (v value) flag(to *bool) error {
	*to = v.truth()
	return nil
}

func (v value) text(to *string) error {
	if len(v) > mostText {
		return fmt.Errorf("is longer than %d bytes", mostText)
	}
	*to = string(v)
	return nil
}

// quotedText is a text that may be quoted once more than parameters are.
func (v value) quotedText(to *string) error {
	err := v.text(to)
	*to = unquoted(*to)
	return err
}

func (v value) word(to *string, words ...string) error {
	*to = strings.ToLower(string(v))
	if !slices.Contains(words, *to) {
		return fmt.Errorf("must be one of %s", strings.Join(words, ", "))
	}
	return nil
}
