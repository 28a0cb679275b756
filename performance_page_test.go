package main

import (
	"fmt"
	"html"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The page about performance and its plots are made from what make bench measured: go test . -run PerformancePage
// -rewrite.
const (
	benchResults    = "e2e/bench/RESULTS.md"
	performancePage = "docs/performance.md"
)

func TestPerformancePage(t *testing.T) {
	results := readFile(t, benchResults)
	for name, want := range map[string]string{
		performancePage:                  renderPerformance(t, results),
		"docs/img/performance-write.svg": writePlot(t, results).svg(),
		"docs/img/performance-read.svg":  readPlot(t, results).svg(),
		"docs/img/performance-disk.svg":  diskPlot(t, results).svg(),
	} {
		if *rewrite {
			if err := os.WriteFile(name, []byte(want), 0o644); err != nil { //nolint:gosec // a document
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(want, readFile(t, name)); diff != "" {
			t.Errorf("%s differs from %s; go test . -run PerformancePage -rewrite (-results +page):\n%s", name, benchResults, diff)
		}
	}
}

func renderPerformance(t *testing.T, results string) string {
	t.Helper()
	lines := strings.SplitN(results, "\n", 4)
	var rows strings.Builder
	for _, row := range tableBelow(t, results, "| what ") {
		fmt.Fprintf(&rows, "| %s | %s | %s | %s |\n", row[0], row[1], row[2], row[3])
	}
	return `# Performance

<!-- Made from e2e/bench/RESULTS.md: go test . -run PerformancePage -rewrite -->

` + "`make bench`" + ` compares tsdbridge with VictoriaMetrics, Prometheus and OpenTSDB on one machine, with the same data and questions. It checks
that every server has all samples. [RESULTS.md](../e2e/bench/RESULTS.md) has all tables.

` + strings.TrimSpace(lines[2]) + `

## Writing

<img src="img/performance-write.svg" alt="Samples per second of each protocol." width="760">

Load generator and server share the cores, so samples per second do not carry over to other machines; CPU seconds do.

## Disk

<img src="img/performance-disk.svg" alt="Bytes on the disk for each sample, after compaction." width="760">

## Reading

<img src="img/performance-read.svg" alt="Milliseconds of the median answer." width="760">

## All rows

| what | tsdbridge | peer | ratio |
|---|---|---|---|
` + rows.String() + `
## How to measure yours

- ` + "`make bench BENCH=\"-quick -only rw1,reads\"`" + ` takes some minutes, on a checkout.
- [Explain](promql.md#explain) shows what one query read and computed.
- [Numbers to watch](operating.md#numbers-to-watch) has durations of appends and queries.
- What a query may take is bounded by flags: [Security](security.md#what-is-bounded).

## What makes it faster

- More cores: queries, replays and imports use all of them.
- ` + "`--write.mode=buffered`" + ` on HBase: [Write modes](durability.md).
- [Rollup tables](rollups.md) for ranges of months.
- Few new series: the first point of a series costs as much as a hundred further ones.
`
}

// tableBelow returns the rows of the first table whose header begins with a text.
func tableBelow(t *testing.T, text, header string) (rows [][]string) {
	t.Helper()
	_, text, found := strings.Cut(text, "\n"+header)
	if !found {
		t.Fatalf("%s has no table %q", benchResults, header)
	}
	for i, line := range strings.Split(text, "\n") {
		if i < 2 {
			continue // the rest of the header, and the line below it
		}
		if !strings.HasPrefix(line, "|") {
			break
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i, c := range cells {
			cells[i] = strings.TrimSpace(c)
		}
		rows = append(rows, cells)
	}
	return rows
}

// A plot is groups of horizontal bars.
type plot struct {
	title  string
	groups []plotGroup
}

type plotGroup struct {
	name string
	bars []bar
}

type bar struct {
	server string
	value  float64
}

// writePlot compares samples per second; of several rows about one protocol it takes all peers.
func writePlot(t *testing.T, results string) plot {
	return summaryPlot(t, results, "Samples per second, in thousands: more is better", ", samples/s")
}

func diskPlot(t *testing.T, results string) plot {
	p := plot{title: "Bytes for each sample on the disk, after compaction: less is better"}
	for _, section := range []string{"remote_write 1.0", "carbon", "telnet put"} {
		_, below, found := strings.Cut(results, "\n## "+section+":")
		if !found {
			t.Fatalf("%s has no section %s", benchResults, section)
		}
		g := plotGroup{name: section}
		for _, row := range tableBelow(t, below, "| server ") {
			g.bars = append(g.bars, bar{row[0], parseNumber(t, row[5])})
		}
		p.groups = append(p.groups, g)
	}
	return p
}

func readPlot(t *testing.T, results string) plot {
	p := plot{title: "Milliseconds of the median answer: less is better"}
	for _, header := range []string{"## Prometheus reads", "## Graphite reads"} {
		_, below, found := strings.Cut(results, "\n"+header)
		if !found {
			t.Fatalf("%s has no section %s", benchResults, header)
		}
		for _, row := range tableBelow(t, below, "| question ") {
			g := plotGroup{name: row[0]}
			for i, server := range []string{"tsdbridge", "VictoriaMetrics", "Prometheus"} {
				if column := 1 + 2*i; column < len(row) && row[column] != "-" {
					g.bars = append(g.bars, bar{server, parseNumber(t, row[column])})
				}
			}
			p.groups = append(p.groups, g)
		}
	}
	// One long question would make the bars of all others too short to compare.
	p.groups = slices.DeleteFunc(p.groups, func(g plotGroup) bool { return g.bars[0].value > 100 })
	return p
}

func summaryPlot(t *testing.T, results, title, suffix string) plot {
	t.Helper()
	p := plot{title: title}
	for _, row := range tableBelow(t, results, "| what ") {
		name, ok := strings.CutSuffix(row[0], suffix)
		if !ok {
			continue
		}
		i := slices.IndexFunc(p.groups, func(g plotGroup) bool { return g.name == name })
		if i < 0 {
			i = len(p.groups)
			p.groups = append(p.groups, plotGroup{name, []bar{{"tsdbridge", parseRate(t, row[1])}}})
		}
		at := strings.IndexFunc(row[2], func(r rune) bool { return r >= '0' && r <= '9' })
		p.groups[i].bars = append(p.groups[i].bars, bar{strings.TrimSpace(row[2][:at]), parseRate(t, row[2][at:])})
	}
	return p
}

// parseRate reads "2.21 M/s" or "310 k/s", in thousands.
func parseRate(t *testing.T, text string) float64 {
	t.Helper()
	m := regexp.MustCompile(`^([0-9.]+) ([Mk])/s$`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("%q is no rate", text)
	}
	n := parseNumber(t, m[1])
	if m[2] == "M" {
		n *= 1000
	}
	return n
}

func parseNumber(t *testing.T, text string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// plotStyle makes plots readable on light and dark grounds.
const plotStyle = `<style>text{font:13px system-ui,-apple-system,"Segoe UI",sans-serif;fill:#1b2126}.d{fill:#56616b}.t{font-weight:600}
.b0{fill:#0b6e8a}.b1{fill:#c98a2b}.b2{fill:#8a94a0}
@media (prefers-color-scheme:dark){text{fill:#e4e8eb}.d{fill:#9fabb5}.b0{fill:#4fb6d3}.b1{fill:#e0ac5c}.b2{fill:#6d7883}}</style>`

// barClass returns the colour of a server.
func barClass(server string) int {
	return (slices.Index([]string{"tsdbridge", "VictoriaMetrics"}, server) + 3) % 3 // 2 for all others
}

// svg draws the plot, 760 pixels wide.
func (p plot) svg() string {
	const width, left, barHeight, most = 760, 340, 15, 280
	var b strings.Builder
	greatest, y := 0.0, 40
	for _, g := range p.groups {
		for _, bar := range g.bars {
			greatest = max(greatest, bar.value)
		}
	}
	for _, g := range p.groups {
		fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", left-10, y+12, html.EscapeString(g.name))
		for _, bar := range g.bars {
			long := bar.value / greatest * most
			fmt.Fprintf(&b, "<rect class=\"b%d\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" rx=\"2\"/>", barClass(bar.server), left, y, long, barHeight-2)
			fmt.Fprintf(&b, "<text class=\"d\" x=\"%.1f\" y=\"%d\">%s %s</text>\n", left+long+6, y+11, strconv.FormatFloat(bar.value, 'g', 4, 64), bar.server)
			y += barHeight
		}
		y += 10
	}
	return fmt.Sprintf("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\"><title>%s</title>\n%s\n<text class=\"t\" x=\"10\" y=\"20\">%s</text>\n",
		width, y, width, y, html.EscapeString(p.title), plotStyle, html.EscapeString(p.title)) + b.String() + "</svg>\n"
}
