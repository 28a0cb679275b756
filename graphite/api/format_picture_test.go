package api

import (
	"bytes"
	"image/png"
	"strings"
	"testing"
)

// pictureWindow is a time in which the feed has points.
const pictureWindow = "/render?from=1741050007&until=1741051207&now=1741057200&"

// TestPictureTypes answers with the type of the format that is asked for.
func TestPictureTypes(t *testing.T) {
	w := newFeed(t)
	for query, want := range map[string][2]string{
		"target=test.h1.a":                                      {"image/png", "\x89PNG"},
		"target=test.h1.a&format=svg":                           {"image/svg+xml", "<?xml"},
		"target=test.h1.a&format=pdf":                           {"application/x-pdf", "%PDF"},
		"target=test.h1.a&format=png&outputFormat=svg":          {"image/svg+xml", "<?xml"},
		"target=test.h1.a&format=svg&jsonp=draw":                {"text/javascript", `draw("<?xml`},
		"target=test.h1.a&format=svg&jsonp=":                    {"text/javascript", `("<?xml`},
		"target=test.h1.a&format=json&jsonp=":                   {"text/javascript", `([{"target"`},
		"target=test.h1.a&format=png&jsonp=draw":                {"image/png", "\x89PNG"},
		"target=test.h1.a&noCache=true&cacheTimeout=60":         {"image/png", "\x89PNG"},
		"target=test.h1.*&graphType=pie":                        {"image/png", "\x89PNG"},
		"target=test.h1.*&graphType=pie&format=svg":             {"image/svg+xml", "<?xml"},
		"target=a:1&graphType=pie&format=json&outputFormat=pdf": {"application/x-pdf", "%PDF"},
	} {
		got := w.get(pictureWindow + query)
		if kind := got.Header().Get("Content-Type"); got.Code != 200 || kind != want[0] || !strings.HasPrefix(got.Body.String(), want[1]) {
			t.Errorf("%s: %d %s %.100q", query, got.Code, kind, got.Body)
		}
	}
}

// TestPictureStyles draws series as functions say.
func TestPictureStyles(t *testing.T) {
	w := newFeed(t)
	for target, want := range map[string]string{
		"color(test.h1.b,'orange')":                 `stroke="#ffa500"`,
		"alpha(test.h1.b,0.4)":                      `stroke-opacity="0.4"`,
		"lineWidth(test.h1.b,7)":                    `stroke-width="7"`,
		"dashed(test.h1.b,3)":                       `stroke-dasharray="3" stroke-dashoffset="1"`,
		"stacked(test.h1.b)":                        `Z" fill="#6464ff"`,
		"secondYAxis(test.h1.b)":                    `>secondYAxis(test.h1.b)</text>`,
		"drawAsInfinite(test.h1.c)":                 `"drawAsInfinite":true`,
		"threshold(300,'limit','red')":              `stroke="#c80032"`,
		"areaBetween(group(test.h1.a,test.h1.b))":   `clip-rule="evenodd"`,
		"alias(test.h1.b,'a%253Cb+c')":              `>a&lt;b c</text>`,
		"legendValue(test.h1.b,'max')":              `(max: 480.0)</text>`,
		"alias(color(dashed(test.h1.b),'red'),'n')": `stroke="#c80032" stroke-width="1.2" stroke-miterlimit="10" stroke-dasharray="5"`,
	} {
		got := w.get(pictureWindow + "format=svg&hideGrid=true&width=500&target=" + target)
		if got.Code != 200 || !strings.Contains(got.Body.String(), want) {
			t.Errorf("%s: %d, there is no %s in\n%s", target, got.Code, want, got.Body)
		}
	}
}

// TestPieModes has slices of the size that the mode says.
func TestPieModes(t *testing.T) {
	w := newFeed(t)
	for mode, want := range map[string]string{"average": ">420<", "maximum": ">480<", "minimum": ">361<"} {
		got := w.get(pictureWindow + "format=svg&graphType=pie&valueLabels=number&target=test.h1.b&pieMode=" + mode).Body.String()
		if !strings.Contains(got, want) {
			t.Errorf("%s: there is no %s in\n%s", mode, want, got)
		}
	}
}

// TestRecordedPictures has the type and the size of graphite-web's pictures.
func TestRecordedPictures(t *testing.T) {
	w := newFeed(t)
	for query, size := range map[string][2]int{
		"target=test.h1.a&format=png&width=800&height=400&title=T&areaMode=stacked&lineMode=staircase": {800, 400},
		"target=a:10&target=b:20&graphType=pie&pieMode=maximum":                                        {330, 250},
		"target=nosuch":                          {330, 250},
		"target=test.h1.a&width=&height=default": {330, 250},
	} {
		got := w.get(pictureWindow + query)
		config, err := png.DecodeConfig(bytes.NewReader(got.Body.Bytes()))
		if err != nil || got.Header().Get("Content-Type") != "image/png" || config.Width != size[0] || config.Height != size[1] {
			t.Errorf("%s: %d x %d, %v", query, config.Width, config.Height, err)
		}
	}
}
