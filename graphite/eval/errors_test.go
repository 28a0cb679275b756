package eval

import (
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/expr"
)

// TestHints: errors about names that do not exist name the nearest ones.
func TestHints(t *testing.T) {
	for target, want := range map[string]string{
		"sumSerie(constantLine(1))":                                          "did you mean sumSeries",
		"nothingLikeIt(constantLine(1))":                                     "",
		"moveingAverage(constantLine(1),5)":                                  "did you mean movingAverage?",
		"summarize(constantLine(1),'1min',fun='sum')":                        "did you mean func?",
		"summarize(constantLine(1),'1min',zzzzzz='sum')":                     "",
		"applyByNode(constantLine(1),0,'sumSeriesX(%)')":                     "did you mean sumSeries",
		"groupByNode(constantLine(1),0,'" + strings.Repeat("x", 5000) + "')": "",
	} {
		n, err := expr.Parser{}.Parse(target)
		if err != nil {
			t.Fatal(err)
		}
		_, err = New().Eval(t.Context(), []expr.Node{n}, call.Request{From: 0, Until: 600, Now: 600}, &memory{})
		if err == nil {
			t.Errorf("%.60s has no error", target)
			continue
		}
		if _, hint, _ := strings.Cut(err.Error(), "did you mean"); want == "" && hint != "" || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", target, err, want)
		}
	}
}
