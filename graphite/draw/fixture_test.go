package draw

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
	"net/url"
	"slices"
	"testing"
	"time"
)

// begins is when the series of the tests begin: a Tuesday at 1:00 UTC.
const begins = 1741050000

// wave is a series of a point a minute.
func wave(name string, values ...float64) Series {
	return Series{Name: name, Start: begins, End: begins + 60*int64(len(values)), Step: 60, Values: values, Join: average}
}

// average joins as graphite-web does where nothing else is said.
func average(values []float64, n int) (out []float64, err error) {
	for chunk := range slices.Chunk(values, n) {
		sum, count := 0.0, 0.0
		for _, v := range chunk {
			if !math.IsNaN(v) {
				sum, count = sum+v, count+1
			}
		}
		out = append(out, sum/count)
	}
	return out, nil
}

// slope is a series that rises or falls evenly.
func slope(name string, from, to float64, points int) Series {
	values := make([]float64, points)
	for i := range values {
		values[i] = from + (to-from)*float64(i)/float64(points-1)
	}
	return wave(name, values...)
}

func parameters(query string) func(name string) (string, bool) {
	v, err := url.ParseQuery(query)
	if err != nil {
		panic(err)
	}
	return func(name string) (string, bool) {
		if list := v[name]; len(list) > 0 {
			return list[len(list)-1], true
		}
		return "", false
	}
}

// options reads the options of a query.
func options(t testing.TB, query string, pie bool) *Options {
	t.Helper()
	o, err := Parse(parameters(query), pie, DefaultTemplates(), time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// drawn draws series and decodes the picture.
func drawn(t testing.TB, query string, series ...Series) image.Image {
	t.Helper()
	body, err := Draw(t.Context(), options(t, query, false), series)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return decoded(t, body)
}

func decoded(t testing.TB, body []byte) image.Image {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func at(img image.Image, x, y int) color.NRGBA {
	return color.NRGBAModel.Convert(img.At(x, y)).(color.NRGBA)
}

// near reports whether colours differ little.
func near(a, b color.NRGBA) bool {
	d := func(x, y byte) bool { return math.Abs(float64(x)-float64(y)) < 60 }
	return d(a.R, b.R) && d(a.G, b.G) && d(a.B, b.B) && d(a.A, b.A)
}

// column returns the rows of a column that have about a colour.
func column(img image.Image, x int, c color.NRGBA) (rows []int) {
	for y := range img.Bounds().Dy() {
		if near(at(img, x, y), c) {
			rows = append(rows, y)
		}
	}
	return rows
}
