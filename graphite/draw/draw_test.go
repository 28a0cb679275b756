package draw

import (
	"context"
	"errors"
	"image/color"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/query"
)

var (
	blue  = color.NRGBA{100, 100, 255, 255}
	green = color.NRGBA{0, 200, 0, 255}
	white = color.NRGBA{255, 255, 255, 255}
)

// bare is a picture without anything beside its lines, so that a value's place is known.
const bare = "graphOnly=true&width=201&height=101&lineWidth=1&yMin=0&yMax=100&"

// TestLines looks whether lines are where their values are.
func TestLines(t *testing.T) {
	for _, c := range []struct {
		query  string
		series Series
		x      int
		want   float64 // the value in that column; NaN: there is no line
	}{
		{bare, slope("a", 0, 100, 101), 100, 50},
		{bare, slope("a", 0, 100, 101), 20, 10},
		{bare, slope("a", 100, 0, 101), 20, 90},
		{bare + "lineMode=staircase", wave("a", 20, 80, 20, 80), 30, 20},
		{bare + "lineMode=staircase", wave("a", 20, 80, 20, 80), 75, 80},
		{bare, wave("a", 50, 50, math.NaN(), math.NaN(), 50, 50), 130, math.NaN()},
		{bare + "lineMode=connected", wave("a", 50, 50, math.NaN(), math.NaN(), 50, 50), 130, 50},
		{bare + "lineMode=connected&connectedLimit=1", wave("a", 50, 50, math.NaN(), math.NaN(), 50, 50), 130, math.NaN()},
		{bare + "drawNullAsZero=true&yMin=-100", wave("a", 50, 50, math.NaN(), math.NaN(), math.NaN(), 50, 50), 100, 50},
		{bare + "logBase=10&yMin=1", wave("a", 10, 10, 10), 100, 50},
		{bare, wave("a", 50, 50, math.Inf(1), 50), 10, 50},
	} {
		img := drawn(t, c.query, c.series)
		rows := column(img, c.x, blue)
		switch {
		case math.IsNaN(c.want) && len(rows) > 0:
			t.Errorf("%s: a line at %v in column %d", c.query, rows, c.x)
		case math.IsNaN(c.want):
		case len(rows) == 0 || len(rows) > 4:
			t.Errorf("%s: column %d is blue at %v", c.query, c.x, rows)
		case math.Abs(float64(rows[0])-(100-c.want)) > 3:
			t.Errorf("%s: the line is in row %d of column %d, want %v", c.query, rows[0], c.x, 100-c.want)
		}
	}
}

// TestAreas looks at what is filled.
func TestAreas(t *testing.T) {
	low, high := wave("low", 20, 20, 20), wave("high", 40, 40, 40)
	stacked := func(s Series) Series { s.Stacked = true; return s }
	for _, c := range []struct {
		query    string
		series   []Series
		at, over color.NRGBA // at the values 10 and 30
		top      color.NRGBA // at 50
	}{
		{"", []Series{low, high}, white, white, white},
		{"areaMode=first", []Series{low, high}, blue, white, white},
		{"areaMode=all", []Series{low, high}, blue, green, white},
		{"areaMode=all", []Series{high, low}, blue, blue, white},
		{"areaMode=stacked", []Series{low, high}, blue, green, green},
		{"", []Series{low, stacked(high)}, green, green, white},
		{"areaMode=all&areaAlpha=0", []Series{low, high}, blue, green, white},
		{"areaMode=all&areaAlpha=0.5", []Series{low, high}, color.NRGBA{178, 178, 255, 255}, color.NRGBA{128, 228, 128, 255}, white},
	} {
		img := drawn(t, bare+c.query, c.series...)
		for row, want := range map[int]color.NRGBA{90: c.at, 70: c.over, 50: c.top} {
			if got := at(img, 100, row); !near(got, want) {
				t.Errorf("%s: row %d is %v, want %v", c.query, row, got, want)
			}
		}
	}
	between := []Series{low, high}
	between[0].Style, between[1].Style = Style{Stacked: true, Invisible: true}, Style{Stacked: true, Color: "green"}
	img := drawn(t, bare, between...)
	if low, middle := at(img, 100, 90), at(img, 100, 70); !near(low, white) || !near(middle, green) {
		t.Errorf("between two series: %v below, %v between", low, middle)
	}
}

// TestStyles looks at what functions say about series.
func TestStyles(t *testing.T) {
	wide, two := 10.0, wave("right", 1, 1, 1)
	two.Style = Style{Right: true, Color: "ff0000"}
	s := wave("a", 50, 50, 50)
	s.Style = Style{Color: "#00ff0080", Width: &wide}
	img := drawn(t, bare, s)
	if rows := column(img, 100, color.NRGBA{127, 255, 127, 255}); len(rows) < 9 || len(rows) > 11 {
		t.Errorf("a line 10 pixels wide is in the rows %v", rows)
	}
	s.Style = Style{Dash: 10}
	img = drawn(t, bare, s)
	dashes := 0
	for x := 1; x < 200; x++ {
		if len(column(img, x, blue)) > 0 != (len(column(img, x-1, blue)) > 0) {
			dashes++
		}
	}
	if dashes < 17 || dashes > 21 {
		t.Errorf("%d ends of dashes in 200 pixels, want 19", dashes)
	}
	s = wave("a", 0, 1, 0, 1, 0)
	s.Infinite = true
	img = drawn(t, bare, s)
	if rows := column(img, 50, blue); len(rows) < 95 {
		t.Errorf("an infinite line has %d rows", len(rows))
	}
	img = drawn(t, "width=400&height=200&yMinLeft=0&yMaxLeft=100&yMinRight=0&yMaxRight=2&hideGrid=true&lineWidth=4", wave("left", 50, 50, 50), two)
	left, right := column(img, 200, blue), column(img, 200, color.NRGBA{255, 0, 0, 255})
	if len(left)+len(right) == 0 || len(left) > 0 && len(right) > 0 && math.Abs(float64(left[0]-right[0])) > 3 {
		t.Errorf("half of both axes is at %v and %v", left, right)
	}
}

// TestFrame looks at size, background, title and legend.
func TestFrame(t *testing.T) {
	for query, size := range map[string][2]int{"": {330, 250}, "width=800&height=400": {800, 400}, "width=12.7&height=9": {12, 9}} {
		img := drawn(t, query, wave("a", 1, 2, 3))
		if got := img.Bounds().Size(); got.X != size[0] || got.Y != size[1] {
			t.Errorf("%s: size %v", query, got)
		}
	}
	for query, want := range map[string]color.NRGBA{
		"": white, "bgcolor=black": {0, 0, 0, 255}, "bgcolor=%2300ff00": {0, 255, 0, 255}, "bgcolor=%25230000ff": {0, 0, 255, 255}, "template=solarized-dark": {0, 0x2b, 0x36, 255},
		"template=nosuch": white, "bgcolor=ff000000": {}, "template=noc&bgcolor=123456": {0x12, 0x34, 0x56, 255}, "bgcolor=000000": {0, 0, 0, 255},
	} {
		if got := at(drawn(t, query, wave("a", 1, 2, 3)), 1, 1); got != want {
			t.Errorf("%s: background %v, want %v", query, got, want)
		}
	}
	count := func(query string, c color.NRGBA, from, to int, series ...Series) (n int) {
		img := drawn(t, query, series...)
		for y := from; y < to; y++ {
			for x := range img.Bounds().Dx() {
				if near(at(img, x, y), c) {
					n++
				}
			}
		}
		return n
	}
	// The picture is 250 high: its legend's boxes of 11 pixels are below 225.
	if n := count("", blue, 225, 250, wave("a", 1, 2, 3)); n < 70 || n > 130 {
		t.Errorf("the box of the legend has %d pixels", n)
	}
	if n := count("hideLegend=true", blue, 225, 250, wave("a", 1, 2, 3)); n != 0 {
		t.Errorf("%d pixels of a hidden legend", n)
	}
	var many []Series
	for range 11 {
		many = append(many, wave("a", 1, 2, 3))
	}
	if n := count("hideAxes=true", green, 235, 250, many...); n != 0 {
		t.Errorf("%d pixels of a legend of 11 names", n)
	}
	if n := count("hideLegend=false&uniqueLegend=true", green, 225, 250, many...); n != 0 {
		t.Errorf("%d pixels of a second equal name", n)
	}
	black := color.NRGBA{A: 255}
	if with, without := count("hideAxes=1&title=Hello", black, 5, 25, wave("a", 1, 2, 3)), count("hideAxes=1", black, 5, 25, wave("a", 1, 2, 3)); with < 20 || without > 0 {
		t.Errorf("%d dark pixels in a title, %d without", with, without)
	}
	red := color.NRGBA{200, 0, 50, 255}
	if n := count("", red, 100, 150); n < 20 {
		t.Errorf("%d red pixels in a picture of nothing", n)
	}
}

// TestInvalid refuses options, and names them.
func TestInvalid(t *testing.T) {
	for query, want := range map[string]string{
		"width=0": "width=0", "width=-5": "width", "height=1e9": "height", "width=16384&height=16384": "pixels", "width=abc": "width=abc: is no number", "width=nan": "width",
		"bgcolor=nocolor": "bgcolor=nocolor", "bgcolor=%23fff": "bgcolor", "fgcolor=12345": "fgcolor", "lineMode=curly": "lineMode=curly", "areaMode=some": "areaMode",
		"fontSize=0": "fontSize", "fontSize=100000": "fontSize", "yDivisors=0": "yDivisors", "yDivisors=4,x": "yDivisors", "logBase=1": "logBase", "minorY=1000": "minorY",
		"yMin=5&yMax=1": "maximum", "yStep=0": "step", "yStep=-1": "step", "logBase=10&yMin=-1": "logBase", "logBase=1.00001&yMin=1&yMax=1e300": "logBase", "leftColor=x": "leftColor",
		"colorList=nocolor": "colorList", "margin=1e9": "margin", "lineWidth=1e9": "lineWidth", "lineMode=connected&connectedLimit=x": "connectedLimit", "yMax=inf": "yMax", "title=" + strings.Repeat("x", 5000): "title", "minXStep=-1": "minXStep",
	} {
		o, err := Parse(parameters(query), false, DefaultTemplates(), time.UTC)
		if err == nil {
			_, err = Draw(t.Context(), o, []Series{wave("a", 1, 2, 3)})
		}
		var bad *InvalidError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.50s: %v", query, err)
		}
	}
	s := wave("some.series", 1, 2)
	s.Color = "plaid"
	if _, err := Draw(t.Context(), options(t, "", false), []Series{s}); err == nil || !strings.Contains(err.Error(), "some.series") {
		t.Errorf("a colour that is none: %v", err)
	}
}

// TestExtremes draws what is hard to scale, and ends.
func TestExtremes(t *testing.T) {
	for _, values := range [][]float64{
		{0, 0, 0},
		{math.NaN(), math.NaN(), math.NaN()},
		{math.Inf(1), 1, math.Inf(-1)},
		{-math.MaxFloat64, 0, math.MaxFloat64},
		{math.SmallestNonzeroFloat64, 0, 1e-300},
		{1, 1 + 1e-15, 1},
		{1e300, 1e300, 1e300},
		{-5, -5, -5},
		{7},
		{},
	} {
		for _, query := range []string{
			"", "width=1&height=1", "yMin=0", "yMax=0", "yStep=1e-300", "yStep=1e300", "yLimit=0", "yUnitSystem=binary", "yUnitSystem=msec", "yDivisors=1000,1", "minXStep=0",
			"minXStep=1e300", "areaMode=stacked", "areaMode=all&areaAlpha=0.3", "yAxisSide=right&vtitle=v&title=a%0Ab", "hideAxes=true", "margin=500", "fontSize=500&title=Wide", "lineWidth=1000",
			"minorY=100", "lineMode=staircase", "lineMode=connected", "xFormat=%25%25%25Q%25-d%25", "yMax=max", "hideLegend=false&fontSize=300",
		} {
			drawn(t, query, Series{Name: "\x00\n\xff" + strings.Repeat("ä", 1000), Start: begins, End: begins + 60*int64(len(values)), Step: 60, Values: values, Join: average})
		}
	}
}

// TestCancelled stops with its request, and takes memory before it draws.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Draw(ctx, options(t, "", false), []Series{wave("a", 1, 2)}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	account := query.NewBudget(1 << 20).Open()
	defer account.Close()
	if _, err := Draw(query.WithAccount(t.Context(), account), options(t, "width=2000&height=2000", false), []Series{wave("a", 1, 2)}); !errors.Is(err, query.ErrTooLarge) {
		t.Errorf("a picture of 4 million pixels within 1 MiB: %v", err)
	}
	long := []Series{wave("a", make([]float64, 100_000)...)}
	for parameters, fits := range map[string]bool{
		"": false, "width=200&height=100": true, "width=200&height=100&minXStep=0": false, "width=200&height=100&areaMode=stacked": false, "width=200&height=100&outputFormat=svg": false,
	} {
		account := query.NewBudget(1 << 20).Open()
		if _, err := Draw(query.WithAccount(t.Context(), account), options(t, parameters, false), long); (err == nil) != fits {
			t.Errorf("%s of 100 000 points within 1 MiB: %v", parameters, err)
		}
		account.Close()
	}
}

// TestEndedMeanwhile stops soon when its request ends within the work, wherever that is.
func TestEndedMeanwhile(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	series := make([]Series, 300)
	joined := 0
	for i := range series {
		series[i] = wave("a", make([]float64, 1000)...)
		series[i].Join = func(values []float64, n int) ([]float64, error) {
			if joined++; joined == 10 {
				cancel()
			}
			return average(values, n)
		}
	}
	if _, err := Draw(ctx, options(t, "", false), series); !errors.Is(err, context.Canceled) || joined > 15 {
		t.Errorf("ended at the 10th of 300 series, stopped at the %dth: %v", joined, err)
	}
	// Axes, lines and the metadata of SVGs look after every few thousand values.
	for i := range series {
		series[i] = wave("a", make([]float64, 100)...)
	}
	const each = 300 * 100 / lookAfter
	for of, looks := range map[string]int{"": 2 * each, "areaMode=stacked": 2 * each, "outputFormat=svg": 3 * each} {
		late := &endsLate{Context: t.Context(), after: looks - 1}
		if _, err := Draw(late, options(t, of, false), series); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want an end at look %d", of, err, looks)
		}
	}
}

// endsLate is a context that has ended when it is looked at for the last time of so many.
type endsLate struct {
	context.Context

	after int
}

func (c *endsLate) Err() error {
	if c.after--; c.after < 0 {
		return context.Canceled
	}
	return nil
}

// TestBounds ends also where a request asks for very many lines, dashes or names.
func TestBounds(t *testing.T) {
	spikes := make([]float64, 20_000)
	for i := range spikes {
		spikes[i] = float64(i % 2)
	}
	s := wave("a", spikes...)
	s.Dash = 0.1
	drawn(t, bare+"minXStep=0&width=400&height=4000", s)
	drawn(t, "yStep=0.001&minorY=100&fontSize=1", wave("a", 0, 1, 0))
	old := wave("a", 1, 2, 3)
	old.Step, old.End = 1<<50, old.Start+3<<50
	drawn(t, "", old)
	var many []Series
	for i := range 3000 {
		many = append(many, wave(strings.Repeat("n", i), 1, 2))
	}
	drawn(t, "hideLegend=false", many...)
}
