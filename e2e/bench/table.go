package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// unit determines how a figure is written.
type unit string

const (
	perSecond      unit = "/s"
	cpuPerMillion  unit = "CPU-s/M"
	bytesPerSample unit = "B/sample"
	bytesPerSeries unit = "B/series"
	milliseconds   unit = "ms"
	inSeconds      unit = "s"
	lost           unit = "lost"
	cells          unit = "cells/sample"
	times          unit = "×"
)

// write returns a value as text with three digits.
func (u unit) write(v float64) string {
	switch {
	case math.IsNaN(v):
		return "-"
	case u == lost:
		return fmt.Sprintf("%.0f lost", v)
	case u == perSecond && v >= 1e6:
		return fmt.Sprintf("%.2f M/s", v/1e6)
	case u == perSecond && v >= 1e3:
		return fmt.Sprintf("%.0f k/s", v/1e3)
	case v >= 100:
		return fmt.Sprintf("%.0f %s", v, u)
	case v >= 10:
		return fmt.Sprintf("%.1f %s", v, u)
	case v >= 0.1 || v == 0:
		return fmt.Sprintf("%.2f %s", v, u)
	default:
		return fmt.Sprintf("%.4f %s", v, u)
	}
}

// A bar is the requirement on one of our figures: a multiple of the peer's, or an absolute value.
type bar struct {
	least  bool // the figure must be at least that much; else at most
	limit  float64
	ofPeer bool
	// slack is granted to a figure below slackBelow, in the unit of the figure.
	slack float64
}

// slackBelow is what a figure may be at most to be granted slack.
const slackBelow = 5

func atLeast(times float64) bar       { return bar{least: true, limit: times, ofPeer: true} }
func atMost(times float64) bar        { return bar{limit: times, ofPeer: true} }
func atLeastItself(limit float64) bar { return bar{least: true, limit: limit} }
func atMostItself(limit float64) bar  { return bar{limit: limit} }
func (b bar) holds(value float64) bool {
	return b.least && value >= b.limit || !b.least && value <= b.limit
}

// A line of the table compares one figure. A figure that could not be measured is NaN, and why has
// the reason.
type line struct {
	what       string
	unit       unit
	ours       float64
	peer       string // the owner of the other figure
	theirs     float64
	bar        bar
	why        string
	wrongCount string // how the stored samples differ from those sent
}

func (l line) ratio() float64 { return l.ours / l.theirs }

func (l line) verdict() string {
	value := l.ours
	if l.bar.ofPeer {
		value = l.ratio()
		if l.ours < slackBelow {
			value = (l.ours - l.bar.slack) / l.theirs
		}
	}
	switch {
	case l.why != "":
		return "not measured: " + l.why
	case l.wrongCount != "":
		return "no: " + l.wrongCount
	case math.IsNaN(value):
		return "not measured"
	case l.bar.holds(value):
		return "yes"
	default:
		return "**no**"
	}
}

func (l line) barText() string {
	sign := "≤"
	if l.bar.least {
		sign = "≥"
	}
	if l.bar.ofPeer {
		return fmt.Sprintf("%s %.3g ×", sign, l.bar.limit)
	}
	return sign + " " + l.unit.write(l.bar.limit)
}

func (l line) cells() []string {
	theirs, ratio := "-", "-"
	if l.peer != "" {
		theirs = l.peer + " " + l.unit.write(l.theirs)
	}
	if r := l.ratio(); r < 0.1 {
		ratio = fmt.Sprintf("%.3f ×", r)
	} else if !math.IsNaN(r) && !math.IsInf(r, 0) {
		ratio = fmt.Sprintf("%.2f ×", r)
	}
	return []string{l.what, l.unit.write(l.ours), theirs, ratio, l.barText(), l.verdict()}
}

// A grid is a Markdown table whose columns are aligned, so that it is readable as plain text.
type grid struct {
	title string
	rows  [][]string // the first one contains the headings
}

func (g grid) writeTo(w io.Writer) {
	if g.title != "" {
		fmt.Fprintf(w, "\n## %s\n\n", g.title)
	}
	widths := make([]int, len(g.rows[0]))
	for _, row := range g.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	for i, row := range g.rows {
		writeRow(w, row, widths)
		if i == 0 {
			writeRow(w, dashes(widths), widths)
		}
	}
}

func writeRow(w io.Writer, row []string, widths []int) {
	for i, cell := range row {
		fmt.Fprintf(w, "| %s%s ", cell, strings.Repeat(" ", widths[i]-len([]rune(cell))))
	}
	fmt.Fprintln(w, "|")
}

func dashes(widths []int) []string {
	row := make([]string, len(widths))
	for i, n := range widths {
		row[i] = strings.Repeat("-", n)
	}
	return row
}

// bars returns the table of all bars.
func bars(lines []line) grid {
	g := grid{rows: [][]string{{"what", "tsdbridge", "peer", "ratio", "bar", "holds"}}}
	for _, l := range lines {
		g.rows = append(g.rows, l.cells())
	}
	return g
}

// median returns the median of figures; NaN without any.
func median(all []float64) float64 {
	if len(all) == 0 {
		return math.NaN()
	}
	all = slices.Clone(all)
	slices.Sort(all)
	if n := len(all); n%2 == 0 {
		return (all[n/2-1] + all[n/2]) / 2
	}
	return all[len(all)/2]
}

// firstLine returns the first line of an error, without characters that would end a cell.
func firstLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	text = text[:min(len(text), 100)]
	return strings.ReplaceAll(text, "|", "/")
}
