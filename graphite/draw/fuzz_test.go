package draw

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image/png"
	"math"
	"net/url"
	"testing"
	"time"
)

// FuzzDraw draws any values with any options: there is a picture that can be read, or an error of who asked.
func FuzzDraw(f *testing.F) {
	f.Add("width=100&height=50&areaMode=stacked&title=a", []byte{1, 2, 3, 4, 5, 6, 7, 8}, int64(60), "color")
	f.Add("format=svg&logBase=2&yMin=1&yAxisSide=right", []byte("12345678abcdefgh"), int64(1), "red")
	f.Add("format=pdf&areaAlpha=0.5&areaMode=all&minXStep=3&yStep=7&xFormat=%25H", bytes.Repeat([]byte{63, 240, 0, 0, 0, 0, 0, 0}, 9), int64(-5), "#00ff00aa")
	for _, p := range Params() {
		for _, v := range []string{"1", "true", "-1", "e", "abc", "1e300", "0.0001"} {
			f.Add("width=60&height=40&"+p.Name+"="+v, []byte("\x40\x08\x00\x00\x00\x00\x00\x00\x7f\xf8\x00\x00\x00\x00\x00\x01\x40\x00\x00\x00\x00\x00\x00\x00"), int64(60), "")
		}
	}
	f.Fuzz(func(t *testing.T, query string, bytesOf []byte, step int64, color string) {
		v, err := url.ParseQuery(query)
		if err != nil || len(bytesOf) > 4096 {
			return
		}
		get := func(name string) (string, bool) { return v.Get(name), v.Has(name) }
		o, err := Parse(get, false, DefaultTemplates(), time.UTC)
		if err != nil {
			checkInvalid(t, err)
			return
		}
		o.Width, o.Height = min(o.Width, 300), min(o.Height, 200)
		if format := v.Get("format"); format == "svg" || format == "pdf" {
			o.Format = format
		}
		s := Series{Name: query, Start: begins, Step: step, Join: average, Style: Style{Color: color}}
		for len(bytesOf) >= 8 {
			s.Values = append(s.Values, math.Float64frombits(binary.BigEndian.Uint64(bytesOf)))
			bytesOf = bytesOf[8:]
		}
		s.End = s.Start + step*int64(len(s.Values))
		other := s
		other.Right, other.Dash, other.Color = step%2 == 0, float64(step%7), ""
		other.Stacked, other.Infinite = step%3 == 0, step%5 == 0
		body, err := Draw(t.Context(), o, []Series{s, other})
		if err != nil {
			checkInvalid(t, err)
			return
		}
		switch o.Format {
		case "png":
			if _, err := png.Decode(bytes.NewReader(body)); err != nil {
				t.Fatal(err)
			}
		case "svg":
			checkXML(t, body)
		}
	})
}

func checkInvalid(t *testing.T, err error) {
	t.Helper()
	if _, ok := errors.AsType[*InvalidError](err); !ok {
		t.Fatalf("%T: %v", err, err)
	}
}
