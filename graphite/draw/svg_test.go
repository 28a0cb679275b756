package draw

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestSVG draws what testdata/svg asks for. A file has a query, and the name and the values of a series a
// line; - is a missing value.
func TestSVG(t *testing.T) {
	datadriven.Walk(t, "testdata/svg", func(t *testing.T, file string) {
		datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
			query, rest, _ := strings.Cut(d.Input, "\n")
			o := options(t, query, d.Cmd == "pie")
			o.Format = "svg"
			var body []byte
			var err error
			if d.Cmd == "pie" {
				var parts []Slice
				for line := range strings.Lines(rest) {
					s := readSeries(t, line)
					parts = append(parts, Slice{s.Name, s.Values[0]})
				}
				body, err = DrawPie(t.Context(), o, parts)
			} else {
				var series []Series
				for line := range strings.Lines(rest) {
					series = append(series, readSeries(t, line))
				}
				body, err = Draw(t.Context(), o, series)
			}
			if err != nil {
				return err.Error()
			}
			checkXML(t, body)
			return string(body)
		})
	})
}

func readSeries(t *testing.T, line string) Series {
	t.Helper()
	fields := strings.Fields(line)
	var values []float64
	for _, f := range fields[1:] {
		v, err := strconv.ParseFloat(f, 64)
		if err != nil {
			v = math.NaN()
		}
		values = append(values, v)
	}
	return wave(fields[0], values...)
}

// checkXML reads all of a document.
func checkXML(t testing.TB, body []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(body))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, body)
		}
	}
}

// TestSVGText writes texts of any kind as XML.
func TestSVGText(t *testing.T) {
	o := options(t, "", false)
	o.Format, o.Title = "svg", "a<b>&\"'\x00\x1f\uffff]]>\n<script>"
	body, err := Draw(t.Context(), o, []Series{wave("</text><script>alert(1)</script>%3Cb%3E+&#1;]]>", 1, 2, 3)})
	if err != nil {
		t.Fatal(err)
	}
	checkXML(t, body)
	for _, want := range []string{"&lt;script&gt;alert(1)&lt;/script&gt;&lt;b&gt; &amp;#1;]]&gt;", "a&lt;b&gt;&amp;\"'"} {
		if !strings.Contains(string(body), want) {
			t.Errorf("%q is not in\n%s", want, body)
		}
	}
	if n := strings.Count(string(body), "<script>"); n > 1 {
		t.Errorf("%d scripts", n)
	}
}

// TestPDF looks at a page's size and at what it is made of.
func TestPDF(t *testing.T) {
	o := options(t, "width=400&height=200&areaMode=all&areaAlpha=0.5", false)
	o.Format = "pdf"
	body, err := Draw(t.Context(), o, []Series{wave("a", 1, 2, 3), wave("b", 3, math.NaN(), 1)})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"%PDF-", "/MediaBox [0 0 400.00 200.00]", "/ca 0.5", "%%EOF"} {
		if !bytes.Contains(body, []byte(want)) {
			t.Errorf("there is no %q", want)
		}
	}
	again, err := Draw(t.Context(), o, []Series{wave("a", 1, 2, 3), wave("b", 3, math.NaN(), 1)})
	if err != nil || !bytes.Equal(body, again) {
		t.Errorf("the same picture again differs: %v", err)
	}
}
