package draw

import (
	"context"
	"image/color"
	"math"
	"slices"

	"github.com/tsdbridge/tsdbridge/internal/canvas"
)

// A graph is a drawing of lines over time.
type graph struct {
	*drawing

	lines    []*line
	mode     string // LineMode, as far as it can be
	twoAxes  bool
	from, to int64 // epoch seconds
	width    float64
	// The axis of values is the left one, and right is the second one or nil.
	left, right *scale
	labelWidth  float64 // of left
	rightWidth  float64
	times       timeAxis
	way         canvas.Path // of the last line, whose memory the next one takes
}

// Draw draws lines over time. Errors are those of options that do not fit the series, of the budget and of
// the context.
func Draw(ctx context.Context, o *Options, series []Series) ([]byte, error) {
	d, err := begin(ctx, o, o.memory(series))
	if err != nil {
		return nil, err
	}
	g := &graph{drawing: d, mode: o.LineMode}
	if !g.span(series) {
		return g.noData()
	}
	if err := g.style(series); err != nil {
		return nil, err
	}
	g.title()
	g.sideTitle(o.VTitle, "vtitle", false)
	if g.twoAxes {
		g.sideTitle(o.VTitleRight, "vtitleRight", true)
	}
	g.legend()
	if !o.HideAxes && !o.HideXAxis {
		g.area.Bottom -= 2 * g.text.Ascent
	}
	if err := g.axes(); err != nil {
		return nil, err
	}
	if !o.HideAxes {
		g.labels()
		if !o.HideGrid {
			g.s.Group("grid")
			g.grid()
		}
	}
	g.s.Group("lines")
	if err := g.drawLines(); err != nil {
		return nil, err
	}
	if s, ok := g.s.(*canvas.SVG); ok {
		if s.Script, err = g.metadata(); err != nil {
			return nil, err
		}
	}
	return g.s.Finish()
}

// span finds the time that the picture shows; it reports whether there is any.
func (g *graph) span(series []Series) bool {
	if len(series) == 0 {
		return false
	}
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	lastPoint := last
	for i := range series {
		s := &series[i]
		if g.mode == "slope" && len(s.Values) == 1 {
			g.mode = "staircase" // There is no slope.
		}
		first, last, lastPoint = min(first, s.Start), max(last, s.End), max(lastPoint, s.End-s.Step)
	}
	if first >= last {
		return false
	}
	if g.from, g.to = first, lastPoint; g.mode == "staircase" {
		g.to = last
	}
	g.to = max(g.to, g.from+1)
	return true
}

// style gives each series its colour and what the options of its axis say.
func (g *graph) style(series []Series) error {
	for i := range series {
		g.twoAxes = g.twoAxes || series[i].Right
	}
	if g.twoAxes {
		g.o.OnRight = false
	}
	next := 0
	for i := range series {
		s := &series[i]
		l := &line{Series: s, style: s.Style, values: s.Values}
		if g.twoAxes {
			side := g.o.LeftSide
			if s.Right {
				side = g.o.RightSide
			}
			side.apply(&l.style)
		}
		word := l.style.Color
		if word == "" {
			word = g.o.Colors[next%len(g.o.Colors)]
			next++
		}
		l.word = word
		var err error
		if l.color, err = parseColor(word); err != nil {
			return invalid("colour of %.100s: %v", s.Name, err)
		}
		if w := l.style.Width; w != nil && !(*w >= 0 && *w <= mostSide) {
			return invalid("width %g of the line of %.100s: want 0 to %d pixels", *w, s.Name, mostSide)
		}
		if d := l.style.Dash; !(d >= 0 && d <= mostSide) || d > 0 && d < 0.1 {
			return invalid("dashes of %g pixels of %.100s: want 0.1 to %d", d, s.Name, mostSide)
		}
		g.lines = append(g.lines, l)
	}
	return nil
}

func (s sideStyle) apply(to *Style) {
	if s.width != nil {
		to.Width = s.width
	}
	if s.dash != nil {
		to.Dash = *s.dash
	}
	if s.color != "" {
		to.Color = s.color
	}
}

func (g *graph) legend() {
	hide := len(g.lines) > legendMost
	if g.o.HideLegend != nil {
		hide = *g.o.HideLegend
	}
	if hide {
		return
	}
	var names []name
	for _, l := range g.lines {
		if l.Name == "" || g.o.HideNullFromLegend && !slices.ContainsFunc(l.values, finite) {
			continue
		}
		names = append(names, name{unquoted(l.Name), l.color, l.Right})
	}
	g.drawLegend(names, g.o.UniqueLegend, g.twoAxes)
}

// consolidate joins the points of each series so that neighbours are as far from each other as they must.
func (g *graph) consolidate() error {
	g.width = max(g.area.Right-g.area.Left-(g.o.LineWidth+1), 1)
	for _, l := range g.lines {
		if err := g.work(len(l.values)); err != nil {
			return err
		}
		points := float64(g.to-g.from) / float64(max(l.Step, 1))
		n := max(l.joinedN, 1)
		l.xStep = g.width / points
		if l.xStep < g.o.MinXStep {
			drawable := math.Max(math.Floor(g.width/g.o.MinXStep), 1)
			n = int(math.Ceil(points / drawable))
			l.xStep = g.width * float64(n) / points
		}
		if err := l.join(n); err != nil {
			return err
		}
	}
	return nil
}

// axes finds the axes. Labels of values take from the width, which may join points anew, which may change
// the values: this is repeated until nothing changes.
func (g *graph) axes() error {
	const tries = 20
	for range tries {
		if err := g.ctx.Err(); err != nil {
			return err
		}
		g.area.Bottom, g.area.Right = max(g.area.Bottom, g.area.Top+1), max(g.area.Right, g.area.Left+1)
		before := g.area
		if err := g.consolidate(); err != nil {
			return err
		}
		if err := g.valueAxes(); err != nil {
			return err
		}
		if g.area == before {
			break
		}
	}
	g.area.Right = max(g.area.Right, g.area.Left+1)
	g.times = chooseTimeAxis(g.to-g.from, g.width)
	g.s.Group("axes")
	return nil
}

// valueAxes chooses the axes of values, and moves the area to make place for their labels.
func (g *graph) valueAxes() (err error) {
	stacked := g.o.AreaMode == "stacked"
	if g.twoAxes {
		return g.twoValueAxes(stacked)
	}
	low, high := dataLimits(g.lines, g.o.NullAsZero, stacked)
	if g.left, err = newScale(low, high, g.o.Y, g.o); err != nil {
		return err
	}
	if g.o.HideAxes {
		g.left.values, g.left.labels = nil, nil
		return nil
	}
	g.labelWidth = g.widest(g.left)
	switch {
	case g.o.HideYAxis:
	case g.o.OnRight:
		g.area.Right = min(g.area.Right, float64(g.o.Width)-1.02*g.labelWidth)
	default:
		g.area.Left = max(g.area.Left, g.o.Margin+1.02*g.labelWidth)
	}
	return nil
}

func (g *graph) twoValueAxes(stacked bool) (err error) {
	var sides [2][]*line
	for _, l := range g.lines {
		if l.Right {
			sides[1] = append(sides[1], l)
		} else {
			sides[0] = append(sides[0], l)
		}
	}
	low, high := dataLimits(sides[0], g.o.NullAsZero, stacked)
	if g.left, err = newScale(low, high, g.o.Left, g.o); err != nil {
		return err
	}
	low, high = dataLimits(sides[1], g.o.NullAsZero, stacked)
	if g.right, err = newScale(low, high, g.o.Right, g.o); err != nil {
		return err
	}
	g.labelWidth, g.rightWidth = g.widest(g.left), g.widest(g.right)
	g.area.Left = max(g.area.Left, g.o.Margin+1.02*g.labelWidth)
	g.area.Right = min(g.area.Right, float64(g.o.Width)-1.02*g.rightWidth)
	return nil
}

// widest returns the width of the widest label.
func (g *graph) widest(s *scale) (w float64) {
	for _, label := range s.labels {
		w = max(w, g.text.Width(label, g.s.Hinted()))
	}
	return w
}

// y returns where a value is on the picture. What is above it is at its top, and what is far below is
// below it.
func (g *graph) y(s *scale, v float64) (y float64, ok bool) {
	share, ok := s.share(v)
	if !ok {
		return 0, false
	}
	y = g.area.Bottom - (g.area.Bottom-g.area.Top)*min(max(share, -1e6), 1e6)
	return min(max(y, 0), 3*float64(g.o.Height)), true
}

func (g *graph) labels() {
	c := g.o.Foreground
	switch {
	case g.o.HideYAxis:
	case g.twoAxes:
		g.labelsOf(g.left, g.area.Left-0.02*g.labelWidth, canvas.RightMiddle, c)
		g.labelsOf(g.right, g.area.Right+0.02*g.rightWidth+3, canvas.LeftMiddle, c)
	case g.o.OnRight:
		g.labelsOf(g.left, g.area.Right+0.02*g.labelWidth, canvas.LeftMiddle, c)
	default:
		g.labelsOf(g.left, g.area.Left-0.02*g.labelWidth, canvas.RightMiddle, c)
	}
	if g.o.HideXAxis {
		return
	}
	format := g.o.XFormat
	if format == "" {
		format = g.times.format
	}
	y := g.area.Bottom + g.text.Ascent
	for at := range g.times.label.times(g.from, g.to, g.o.Zone) {
		g.text.Write(g.s, strftime(at, format), canvas.Point{X: g.x(at.Unix()), Y: y}, canvas.CenterTop, 0, c)
	}
}

func (g *graph) labelsOf(s *scale, x float64, where canvas.Anchor, c color.NRGBA) {
	for i, label := range s.labels {
		if y, ok := g.y(s, s.values[i]); ok {
			g.text.Write(g.s, label, canvas.Point{X: x, Y: y}, where, 0, c)
		}
	}
}

// x returns where a time is on the picture.
func (g *graph) x(at int64) float64 {
	return g.area.Left + float64(at-g.from)*g.width/float64(g.to-g.from)
}
