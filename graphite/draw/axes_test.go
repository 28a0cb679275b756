package draw

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// A recordedAxis is a line of testdata/axes.jsonl.gz, which testdata/record_axes.py makes.
type recordedAxis struct {
	Low, High float64
	Options   map[string]any
	Axis      *struct {
		Error       bool
		Bottom, Top float64
		Values      []float64
		Labels      []string
	}
	Start, Span int64
	Width       float64
	Zone        string
	Times       *struct {
		MinorGrid, MajorGrid []float64
		Label                [][]any
	}
}

// TestAxes compares axes with graphite-web's.
func TestAxes(t *testing.T) {
	file, err := os.Open("testdata/axes.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	lines, n := bufio.NewScanner(unzipped), 0
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r recordedAxis
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		n++
		if r.Axis != nil {
			r.compareValues(t)
		} else {
			r.compareTimes(t)
		}
	}
	if lines.Err() != nil || n < 500 {
		t.Errorf("%d axes: %v", n, lines.Err())
	}
}

func (r recordedAxis) compareValues(t *testing.T) {
	t.Helper()
	var query []string
	for key, v := range r.Options {
		query = append(query, fmt.Sprintf("%s=%v", key, v))
	}
	o := options(t, strings.Join(query, "&"), false)
	s, err := newScale(r.Low, r.High, o.Y, o)
	if r.Axis.Error {
		if err == nil {
			t.Errorf("%g to %g, %v: %v, want an error", r.Low, r.High, r.Options, s)
		}
		return
	}
	if err != nil {
		t.Errorf("%g to %g, %v: %v", r.Low, r.High, r.Options, err)
		return
	}
	type axis struct {
		Bottom, Top float64
		Values      []float64
		Labels      []string
	}
	want, got := axis{r.Axis.Bottom, r.Axis.Top, r.Axis.Values, r.Axis.Labels}, axis{s.bottom, s.top, s.values, s.labels}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-9, 1e-12), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%g to %g, %v:\n%s", r.Low, r.High, r.Options, diff)
	}
}

func (r recordedAxis) compareTimes(t *testing.T) {
	t.Helper()
	zone, err := time.LoadLocation(r.Zone)
	if err != nil {
		t.Fatal(err)
	}
	axis := chooseTimeAxis(r.Span, r.Width)
	marks := func(s timeStep) (out []float64) {
		for at := range s.times(r.Start, r.Start+r.Span, zone) {
			out = append(out, float64(at.Unix()))
		}
		return out
	}
	var labels [][]any
	for at := range axis.label.times(r.Start, r.Start+r.Span, zone) {
		labels = append(labels, []any{float64(at.Unix()), strftime(at, axis.format)})
	}
	for _, c := range [][2]any{{r.Times.MinorGrid, marks(axis.minor)}, {r.Times.MajorGrid, marks(axis.major)}, {r.Times.Label, labels}} {
		if diff := cmp.Diff(c[0], c[1], cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%d + %d, %g pixels, %s:\n%s", r.Start, r.Span, r.Width, r.Zone, diff)
		}
	}
}

// TestDaylightSaving has labels at the times of the zone on both sides of a change.
func TestDaylightSaving(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for at := range (timeStep{day, 1}).times(1743202800, 1743202800+4*day, zone) { // from 29 March 2025, 0:00
		if at.Hour() != 0 {
			t.Errorf("a day begins at %v", at)
		}
	}
}

// TestStrftime writes times as C does.
func TestStrftime(t *testing.T) {
	at := time.Date(2025, 3, 4, 5, 6, 7, 0, time.FixedZone("CET", 3600))
	for format, want := range map[string]string{
		"%Y-%m-%d %H:%M:%S": "2025-03-04 05:06:07", "%a %A %b %B": "Tue Tuesday Mar March", "%-d.%-m. %l%p|%k|%I": "4.3.  5AM| 5|05", "%j %U %W %w %u %V %G": "063 09 09 2 2 10 2025",
		"%s %z %Z": "1741061167 +0100 CET", "100%": "100", "%%": "%", "%Q%": "%Q", "%e|%y|%C|%f": " 4|25|20|000000", "%D %F %T %R": "03/04/25 2025-03-04 05:06:07 05:06",
	} {
		if got := strftime(at, format); got != want {
			t.Errorf("strftime(%q) = %q, want %q", format, got, want)
		}
	}
}

// TestUnits scales values as labels do.
func TestUnits(t *testing.T) {
	for _, c := range []struct {
		v, step, span float64
		system, want  string
	}{
		{0, 1, 5, "si", "0 "},
		{1500, 500, 2000, "si", "1500.0 "},
		{1500, 1000, 5000, "si", "1.5 k "},
		{-500, 100, 1000, "si", "-500 "},
		{0.5, 0.1, 1, "si", "0.50 "},
		{2048, 1024, 4096, "binary", "2.0 Ki "},
		{90, 60, 600, "sec", "1.5 m "},
		{2, 1, 2, "none", "2.00 "},
		{1e-7, 1e-8, 1e-7, "si", "1e-07 "},
		{1.00001, 1e-6, 1e-5, "si", "1.00001 "},
	} {
		units, ok := unitSystem(c.system)
		if got := valueLabel(c.v, c.step, c.span, units); got != c.want || !ok {
			t.Errorf("%v: %q", c, got)
		}
	}
}
