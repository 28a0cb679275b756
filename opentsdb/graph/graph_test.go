package graph_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/opentsdb/graph"
)

// drawn draws series over an hour. With TSDBRIDGE_PICTURES set, pictures are kept in that directory.
func drawn(t *testing.T, name, parameters string, series ...graph.Series) image.Image {
	t.Helper()
	v, err := url.ParseQuery(parameters)
	if err != nil {
		t.Fatal(err)
	}
	o, err := graph.ParseOptions(v)
	if err != nil {
		t.Fatal(err)
	}
	file, err := o.PNG(1356998400_000, 1357002000_000, series)
	if err != nil {
		t.Fatal(err)
	}
	if dir := os.Getenv("TSDBRIDGE_PICTURES"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name+".png"), file, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	picture, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	return picture
}

// wave is a series of 60 points.
func wave(name string, low, high float64) graph.Series {
	s := graph.Series{Name: name}
	for i := range 61 {
		s.Times = append(s.Times, 1356998400_000+int64(i)*60_000)
		s.Values = append(s.Values, low+(high-low)*(1+math.Sin(float64(i)/5))/2)
	}
	return s
}

// red counts the pixels of the first line, and returns how high the highest and the lowest are.
func red(p image.Image) (n, top, bottom int) {
	top = p.Bounds().Max.Y
	for y := p.Bounds().Min.Y; y < p.Bounds().Max.Y; y++ {
		for x := p.Bounds().Min.X; x < p.Bounds().Max.X; x++ {
			c := color.RGBAModel.Convert(p.At(x, y)).(color.RGBA)
			if c.R > 200 && c.G < 120 && c.B < 120 {
				n, top, bottom = n+1, min(top, y), max(bottom, y)
			}
		}
	}
	return n, top, bottom
}

// TestPictures draws lines, and looks whether they are where they belong.
func TestPictures(t *testing.T) {
	plain := drawn(t, "plain", "nokey", wave("m", 0, 100))
	if size := plain.Bounds().Size(); size != image.Pt(1024, 768) {
		t.Errorf("size %v", size)
	}
	n, top, bottom := red(plain)
	if n < 1000 || bottom-top < 600 {
		t.Errorf("a line of %d pixels, from %d to %d", n, top, bottom)
	}
	if _, top2, bottom2 := red(drawn(t, "range", "nokey&yrange=[0:400]", wave("m", 0, 100))); bottom2-top2 > (bottom-top)/3 || bottom2 < bottom-60 {
		t.Errorf("in a larger range the line is from %d to %d, alone from %d to %d", top2, bottom2, top, bottom)
	}
	hole := wave("m", 0, 100)
	for i := 10; i < 50; i++ {
		hole.Values[i] = math.NaN()
	}
	if m, _, _ := red(drawn(t, "hole", "nokey", hole)); m > n/2 {
		t.Errorf("a line with a hole has %d pixels, without %d", m, n)
	}
	if m, _, _ := red(drawn(t, "outside", "nokey&yrange=[1000:2000]", wave("m", 0, 100))); m != 0 {
		t.Errorf("%d pixels of a line that is outside", m)
	}
	if m, _, _ := red(drawn(t, "points", "nokey&style=points", wave("m", 0, 100))); m == 0 || m > n {
		t.Errorf("%d pixels of points, %d of a line", m, n)
	}
	small := drawn(t, "small", "wxh=300x200&title=A+title&ylabel=left&y2label=right&key=out+right+box&bgcolor=x102030&fgcolor=xFFFFFF&y2format=%25.1s%25c",
		wave("web01.lga{host=a, cpu=0}", 0, 1), graph.Series{Name: "right", Right: true, Times: []int64{1356998400_000, 1357002000_000}, Values: []float64{0, 12e6}})
	if size := small.Bounds().Size(); size != image.Pt(300, 200) {
		t.Errorf("size %v", size)
	}
	if c := color.RGBAModel.Convert(small.At(1, 1)).(color.RGBA); c != (color.RGBA{0x10, 0x20, 0x30, 255}) {
		t.Errorf("background %v", c)
	}
	var many []graph.Series
	for i := range 100 {
		many = append(many, wave(fmt.Sprintf("metric.with.a.long.name{host=web%03d, datacenter=lga}", i), float64(i), float64(i+5)))
	}
	drawn(t, "many", "key=out+right+top&title=Many", many...)
	drawn(t, "inside", "key=left+bottom+box", many[:7]...)
}

// TestExtremes draws what is hard to scale.
func TestExtremes(t *testing.T) {
	at := []int64{1356998400_000, 1357000000_000, 1357002000_000}
	for i, values := range [][]float64{
		{},
		{0, 0, 0},
		{math.NaN(), math.NaN(), math.NaN()},
		{math.Inf(1), 1, math.Inf(-1)},
		{-math.MaxFloat64, 0, math.MaxFloat64},
		{math.SmallestNonzeroFloat64, 0, 1e-300},
		{1, 1 + 1e-15, 1},
		{1e300, 1e300, 1e300},
		{-1, 0, 1},
	} {
		for _, parameters := range []string{"", "ylog", "ylog&yrange=[-5:5]", "yrange=[:0]", "yrange=[1e308:]", "yformat=%25.99f%25", "xformat=%25Q%25", "key=out"} {
			drawn(t, fmt.Sprintf("extreme%d", i), "wxh=120x100&"+parameters, graph.Series{Name: "\x00\n\xff" + strings.Repeat("ä", 1000), Times: at[:len(values)], Values: values})
		}
	}
	drawn(t, "none", "")
}

// TestBadOptions refuses parameters by name.
func TestBadOptions(t *testing.T) {
	for parameters, want := range map[string]string{
		"wxh=1x1": "wxh", "wxh=99999x99999": "wxh", "wxh=5000x100": "wxh", "wxh=-100x100": "wxh", "wxh=axb": "wxh", "wxh=100": "wxh",
		"yrange=[1:0]": "yrange", "yrange=0:1": "yrange", "y2range=[a:b]": "y2range", "yrange=[0:system('id')]": "yrange", "yrange=[NaN:]": "yrange",
		"bgcolor=red": "bgcolor", "fgcolor=x12345": "fgcolor", "style=boxes": "style", "title=" + strings.Repeat("x", 300): "title",
	} {
		v, err := url.ParseQuery(parameters)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := graph.ParseOptions(v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", parameters, err)
		}
	}
}

// BenchmarkPNG draws 10 series of 800 points.
func BenchmarkPNG(b *testing.B) {
	var series []graph.Series
	for i := range 10 {
		s := graph.Series{Name: fmt.Sprint("series", i)}
		for j := range 800 {
			s.Times = append(s.Times, 1356998400_000+int64(j)*4500)
			s.Values = append(s.Values, float64(i)+math.Sin(float64(j)/50))
		}
		series = append(series, s)
	}
	o := graph.DefaultOptions()
	o.Width, o.Height = 800, 400
	for b.Loop() {
		if _, err := o.PNG(1356998400_000, 1357002000_000, series); err != nil {
			b.Fatal(err)
		}
	}
}
