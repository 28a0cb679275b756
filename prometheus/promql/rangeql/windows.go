package rangeql

import (
	"slices"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/parser/posrange"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/annotation"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/columns"
)

// windows say which samples of a series count at which step.
type windows struct {
	grid block.Grid
	// length is how far back a sample counts, in milliseconds: the range of a function, else the
	// lookback. offset is how far before the step the window ends.
	length, offset int64
	// earlier and later are how far around the window the library's function sees samples.
	earlier, later int64
	// fixed means that all steps have the window of the first.
	fixed bool

	function *function // nil: the newest sample
	// summary is what the function makes of summaries; nil: it needs samples.
	summary  func(*columns.Summary) float64
	seconds  float64 // of the range
	argument posrange.PositionRange
	// stamps means that the value is the time of the sample.
	stamps bool
	// named means that the name of the metric is kept with the time of the sample.
	named bool
	// smooth means that the value lies between the samples around the step.
	smooth bool
	notes  *annotation.Notes
	// statistics means that only count and sum of histograms matter.
	statistics bool

	constants [][]float64 // the values of the other arguments of the function, at each step

	// name and arguments are those of the function in the library, for ranges with histograms. The
	// range is a selector in the library's form.
	name      string
	arguments parser.Expressions
	// absent means that the function stands for absent_over_time, to which equal labels do not
	// matter.
	absent bool
}

// inLibrary sets how the library would call the function.
func (w *windows) inLibrary(e *parser.Call, f *function, m *parser.MatrixSelector, vs *parser.VectorSelector) {
	vs.Offset = time.Duration(w.offset) * time.Millisecond
	w.name, w.arguments = e.Func.Name, slices.Clone(e.Args)
	w.arguments[f.matrix] = m
}

// window returns the times around the samples that count at a step: after start, not after end.
func (w *windows) window(step int) (start, end int64) {
	if w.fixed {
		step = 0
	}
	end = w.grid.Time(step) - w.offset
	return end - w.length, end
}
