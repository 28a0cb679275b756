package rangefn

import (
	"slices"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/parser/posrange"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/annotation"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/columns"
)

// Windows say which samples of a series count at which step.
type Windows struct {
	Grid block.Grid
	// Length is how far back a sample counts, in milliseconds: the range of a function, else the
	// lookback. offset is how far before the step the window ends.
	Length, Offset int64
	// Earlier and later are how far around the window the library's function sees samples.
	Earlier, Later int64
	// Fixed means that all steps have the window of the first.
	Fixed bool

	Function *Function // nil: the newest sample
	// Summary is what the function makes of summaries; nil: it needs samples.
	Summary  func(*columns.Summary) float64
	Seconds  float64 // of the range
	Argument posrange.PositionRange
	// Stamps means that the value is the time of the sample.
	Stamps bool
	// Named means that the name of the metric is kept with the time of the sample.
	Named bool
	// Smooth means that the value lies between the samples around the step.
	Smooth bool
	*annotation.Notes
	// Statistics means that only count and sum of histograms matter.
	Statistics bool

	Constants [][]float64 // the values of the other arguments of the function, at each step

	// name and arguments are those of the function in the library, for ranges with histograms. The
	// range is a selector in the library's form.
	name      string
	arguments parser.Expressions
	// Absent means that the function stands for absent_over_time, to which equal labels do not
	// matter.
	Absent bool
}

// InLibrary sets how the library would call the function.
func (w *Windows) InLibrary(e *parser.Call, f *Function, m *parser.MatrixSelector, vs *parser.VectorSelector) {
	vs.Offset = time.Duration(w.Offset) * time.Millisecond
	w.name, w.arguments = e.Func.Name, slices.Clone(e.Args)
	w.arguments[f.Matrix] = m
}

// Window returns the times around the samples that count at a step: after start, not after end.
func (w *Windows) Window(step int) (start, end int64) {
	if w.Fixed {
		step = 0
	}
	end = w.Grid.Time(step) - w.Offset
	return end - w.Length, end
}
