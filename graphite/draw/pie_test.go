package draw

import (
	"image/color"
	"math"
	"strings"
	"testing"
)

// TestPie looks at slices: they begin above and go clockwise.
func TestPie(t *testing.T) {
	draw := func(query string, parts ...Slice) func(x, y int) color.NRGBA {
		body, err := DrawPie(t.Context(), options(t, "width=210&height=200&hideLegend=true&valueLabels=none&"+query, true), parts)
		if err != nil {
			t.Fatal(err)
		}
		img := decoded(t, body)
		return func(x, y int) color.NRGBA { return at(img, x, y) }
	}
	quarter := draw("", Slice{"a", 1}, Slice{"b", 3})
	for place, want := range map[[2]int]color.NRGBA{{140, 60}: blue, {140, 140}: green, {60, 60}: green, {60, 140}: green, {5, 5}: white} {
		if got := quarter(place[0], place[1]); got != want {
			t.Errorf("%v is %v, want %v", place, got, want)
		}
	}
	if got := draw("areaAlpha=0.5&bgcolor=black", Slice{"a", 1})(140, 60); !near(got, color.NRGBA{50, 50, 127, 255}) {
		t.Errorf("half a blue on black is %v", got)
	}
	if got := draw("colorList=ff0000", Slice{"a", 1}, Slice{"b", 1})(60, 60); got != (color.NRGBA{255, 0, 0, 255}) {
		t.Errorf("the only colour is %v", got)
	}
	if got := draw("", Slice{"a", -1}, Slice{"b", -1})(140, 60); got != blue {
		t.Errorf("a half of negative numbers is %v", got)
	}
	draw("", Slice{"a", 0})
	draw("")
	for _, parts := range [][]Slice{{{"a", 1}, {"b", -3}}, {{"nan", math.NaN()}}, {{"inf", math.Inf(1)}, {"b", 1}}} {
		if _, err := DrawPie(t.Context(), options(t, "", true), parts); err == nil || !strings.Contains(err.Error(), "slice") {
			t.Errorf("%v: %v", parts, err)
		}
	}
}

// TestNumberLabel writes values of slices as graphite-web does.
func TestNumberLabel(t *testing.T) {
	for v, want := range map[float64]string{0.5: "0.50", 9.999: "10.00", 10.7: "10", 3: "3", 1e20: "100000000000000000000", -2.5: "-2.50"} {
		if got := numberLabel(v); got != want {
			t.Errorf("numberLabel(%g) = %q, want %q", v, got, want)
		}
	}
}
