package conf

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestConf runs the data files about carbon's configuration:
//
//	conf                 a file -> its sections and keys, or the error
//	schemas [name ...]   a storage-schemas.conf -> the archives of the names, and the skipped sections
//	aggregation [name ...]   the same of a storage-aggregation.conf
//
// A ~ stands for a blank at the end or the beginning of a line.
func TestConf(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			text := strings.ReplaceAll(d.Input, "~", " ")
			switch d.Cmd {
			case "conf":
				return showConf(parseINI("x.conf", text))
			case "schemas":
				s, err := ParseSchemas("storage-schemas.conf", text)
				return showRules(d, err, s.Skipped(), func(name string) string {
					if archives, ok := s.Archives(name); ok {
						return fmt.Sprint(archives)
					}
					return "no rule"
				})
			case "aggregation":
				a, err := ParseAggregations("storage-aggregation.conf", text)
				return showRules(d, err, a.Skipped(), func(name string) string {
					of := a.Of(name)
					return fmt.Sprint(of.Method, " ", of.XFF)
				})
			}
			d.Fatalf(t, "unknown command")
			return ""
		})
	})
}

func showConf(sections []section, err error) string {
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, s := range sections {
		fmt.Fprintf(&b, "%d %q\n", s.line, s.name)
		for _, key := range slices.Sorted(maps.Keys(s.options)) {
			fmt.Fprintf(&b, "  %d %q = %q\n", s.options[key].line, key, s.options[key].value)
		}
	}
	return b.String()
}

func showRules(d *datadriven.TestData, err error, skipped []error, of func(name string) string) string {
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for range 2 { // the cached answer is the same
		b.Reset()
		for _, arg := range d.CmdArgs {
			fmt.Fprintf(&b, "%s: %s\n", arg.Key, of(arg.Key))
		}
	}
	for _, e := range skipped {
		fmt.Fprintln(&b, e)
	}
	return b.String()
}

func FuzzParseSchemas(f *testing.F) {
	f.Add("[a]\npattern = ^x\\.\nretentions = 10s:6h,1m:7d\n")
	f.Add("[DEFAULT]\nr=60:1440\n[b]\npattern: .*%%\n  continued\nretentions: %(r)s\n# c\n; c\n")
	f.Add("[a]\npattern=(?P<n>x)\nretentions=1y:1,1s:1w")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSchemas("f", text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f:") {
				t.Errorf("the error has no place: %v", err)
			}
			return
		}
		for _, r := range s.rules.list {
			for i, a := range r.value {
				if a.Step < 1 || a.Points < 1 || i > 0 && (a.Step%r.value[i-1].Step != 0 || a.Retention() <= r.value[i-1].Retention()) {
					t.Errorf("archives %v", r.value)
				}
			}
		}
		s.Archives("x.y")
	})
}

func FuzzParseAggregations(f *testing.F) {
	f.Add("[a]\npattern = \\.min$\nxFilesFactor = 0.1\naggregationMethod = min\n")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseAggregations("f", text)
		if err != nil {
			return
		}
		for _, r := range a.rules.list {
			if v, ok := r.value.Slot([]float64{1, 2}, 2); !ok || v < 1 || v > 3 {
				t.Errorf("%v of 1 and 2 is %v, %v", r.value, v, ok)
			}
		}
	})
}

// Of equal values whisper takes the first, as Python's max and min do.
func TestJoins(t *testing.T) {
	for method, want := range map[string]float64{
		"average": -0.5, "avg": -0.5, "sum": -2, "last": 2, "max": 2, "min": -3, "avg_zero": -0.25, "absmax": -3, "absmin": 1,
	} {
		a := Aggregation{Method: method, XFF: 0.5, join: joins(method)}
		if got, ok := a.Slot([]float64{-3, -2, 1, 2}, 8); !ok || got != want {
			t.Errorf("%s = %v, %v, want %v", method, got, ok, want)
		}
		if got, ok := a.Slot([]float64{-3, -2, 1}, 8); ok {
			t.Errorf("%s of too few slots = %v", method, got)
		}
	}
	for method, want := range map[string]float64{"absmax": -3, "absmin": 2} {
		if got := joins(method)([]float64{2, -2, -3, 3}, 4); got != want {
			t.Errorf("%s of equals = %v, want %v", method, got, want)
		}
	}
}
