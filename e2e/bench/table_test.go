package main

import (
	"errors"
	"math"
	"strings"
	"testing"
)

// Each line reports whether its bar is met; a figure that could not be measured never meets it.
func TestVerdicts(t *testing.T) {
	nan := math.NaN()
	for _, test := range []struct {
		name string
		line line
		want []string // ours, theirs, ratio, bar, verdict
	}{
		{"faster than wanted", line{unit: perSecond, ours: 4.2e6, peer: "P", theirs: 2.8e6, bar: atLeast(1.4)}, []string{"4.20 M/s", "P 2.80 M/s", "1.50 ×", "≥ 1.4 ×", "yes"}},
		{"faster, not enough", line{unit: perSecond, ours: 999, peer: "P", theirs: 800, bar: atLeast(1.4)}, []string{"999 /s", "P 800 /s", "1.25 ×", "≥ 1.4 ×", "**no**"}},
		{"cheap", line{unit: cpuPerMillion, ours: 0.3, peer: "P", theirs: 0.6, bar: atMost(0.6)}, []string{"0.30 CPU-s/M", "P 0.60 CPU-s/M", "0.50 ×", "≤ 0.6 ×", "yes"}},
		{"dear", line{unit: cpuPerMillion, ours: 0.6, peer: "P", theirs: 0.6, bar: atMost(0.6)}, []string{"0.60 CPU-s/M", "P 0.60 CPU-s/M", "1.00 ×", "≤ 0.6 ×", "**no**"}},
		{"far below", line{unit: milliseconds, ours: 6.4, peer: "P", theirs: 800, bar: atMost(0.025)}, []string{"6.40 ms", "P 800 ms", "0.008 ×", "≤ 0.025 ×", "yes"}},
		{"by itself", line{unit: bytesPerSample, ours: 0.7, theirs: nan, bar: atMostItself(0.8)}, []string{"0.70 B/sample", "-", "-", "≤ 0.80 B/sample", "yes"}},
		{"no peer", line{unit: perSecond, ours: 4e6, peer: "P", theirs: nan, bar: atLeast(1), why: "P is missing"}, []string{"4.00 M/s", "P -", "-", "≥ 1 ×", "not measured: P is missing"}},
		{"no figure", line{unit: perSecond, ours: nan, peer: "P", theirs: 1, bar: atLeast(1)}, []string{"-", "P 1.00 /s", "-", "≥ 1 ×", "not measured"}},
		{"fast and wrong", line{unit: perSecond, ours: 4e6, peer: "P", theirs: 1e6, bar: atLeast(1), wrongCount: "3 of 4 samples"}, []string{"4.00 M/s", "P 1.00 M/s", "4.00 ×", "≥ 1 ×", "no: 3 of 4 samples"}},
		{"nothing lost", line{unit: lost, ours: 0, theirs: nan, bar: atMostItself(0)}, []string{"0 lost", "-", "-", "≤ 0 lost", "yes"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := test.line.cells()[1:]
			if strings.Join(got, " | ") != strings.Join(test.want, " | ") {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestGrid(t *testing.T) {
	var b strings.Builder
	grid{title: "T", rows: [][]string{{"a", "béé"}, {"cc", "×"}}}.writeTo(&b)
	want := "\n## T\n\n| a  | béé |\n| -- | --- |\n| cc | ×   |\n"
	if b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

func TestMedian(t *testing.T) {
	for _, test := range []struct {
		all  []float64
		want float64
	}{{[]float64{3, 1, 2}, 2}, {[]float64{4, 1}, 2.5}, {[]float64{5}, 5}} {
		if got := median(test.all); got != test.want {
			t.Errorf("median(%v) = %v, want %v", test.all, got, test.want)
		}
	}
	if !math.IsNaN(median(nil)) {
		t.Error("the median of nothing is a number")
	}
}

func TestFirstLine(t *testing.T) {
	if got := firstLine(errors.New("a|b\nc")); got != "a/b" {
		t.Errorf("firstLine = %q", got)
	}
}

// The count of VictoriaMetrics comes as a text in a vector.
func TestParseVector(t *testing.T) {
	got, err := parseVector([]byte(`{"status":"success","data":{"resultType":"vector","result":[{"metric":{"a":"b"},"value":[1.5,"2000000"]}]}}`))
	if err != nil || len(got) != 1 || got[0].value != 2e6 || got[0].labels["a"] != "b" {
		t.Errorf("parseVector = %v, %v", got, err)
	}
	if _, err := parseVector([]byte(`<html>`)); err == nil {
		t.Error("no JSON, and no error")
	}
}
