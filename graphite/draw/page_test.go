package draw

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// page describes the parameters of pictures, made from the code: go test ./graphite/picture -run Page
// -rewrite.
const page = "../../docs/pictures.md"

func TestPage(t *testing.T) {
	want := pageText()
	if rewrite := flag.Lookup("rewrite"); rewrite != nil && rewrite.Value.String() == "true" {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil { //nolint:gosec // a document
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s differs from the code; go test ./graphite/picture -run Page -rewrite (-code +page):\n%s", page, diff)
	}
}

func pageText() string {
	var b strings.Builder
	b.WriteString(`# Pictures

<!-- Made from the code: go test ./graphite/picture -run Page -rewrite -->

` + "`/render`" + ` draws the series of its targets, as graphite-web 1.1.10 does. ` + "`format=png`" + ` (also without a format, and with an
unknown one), ` + "`svg`" + ` and ` + "`pdf`" + ` choose the kind of file; ` + "`graphType=pie`" + ` draws slices of a circle, of an aggregate of each
series (` + "`pieMode`" + `: average, maximum or minimum) or of numbers (` + "`target=name:10`" + `).

    curl 'http://localhost:9201/render?target=servers.*.load&from=-6h&width=800&height=400&areaMode=stacked' > load.png

Layout, colours, ticks and their labels are graphite-web's. Templates are the sections of a graphTemplates.conf
(` + "`--graphite.graph-templates`" + `); those that come with graphite-web are built in. Functions such as ` + "`color()`, `alpha()`,\n`dashed()`, `lineWidth()`, `secondYAxis()`, `stacked()`, `areaBetween()`, `drawAsInfinite()` and `threshold()`" + ` say how their series
are drawn.

Otherwise than in graphite-web:

- What fails there with status 500 is status 400 here, and names the parameter: a colour that is none, a word that
  is not known, a picture without pixels.
` + fmt.Sprintf("- A side has at most %d pixels and a picture %d; a font at most %d pixels,\n  a title %d bytes; `minorY` is at most %d.\n", mostSide, mostPixels, mostFont, mostText, mostParts) +
		`- A page of PDF has a point for each pixel. graphite-web's is a fifth of that, with letters as large.
- Texts of SVGs are texts and no outlines, so that they can be searched. Fonts are DejaVu Sans, Mono and Serif; characters that
  they lack, such as those of Chinese, are boxes in PNG and PDF.
- After a change to daylight saving time, labels show the time of the zone then.
- ` + "`noCache` and `cacheTimeout`" + ` are accepted; answers are not cached.

Numbers are digits, truths are ` + "`true` and `false`" + ` or digits, and ` + "`default`" + ` or nothing is as if the parameter were not there.
Colours are names (blue, green, red, …) or RRGGBB or RRGGBBAA in hexadecimal digits, with or without a #.

| parameter | of | default or values | |
|---|---|---|---|
`)
	for _, p := range Params() {
		of := "both"
		switch {
		case !p.Pie:
			of = "lines"
		case !p.Line:
			of = "pies"
		}
		values := p.Values
		if values != "" {
			values = " " + values
		}
		fmt.Fprintf(&b, "| `%s` | %s |%s | %s |\n", p.Name, of, values, p.Doc)
	}
	return b.String()
}
