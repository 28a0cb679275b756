package storage

import (
	"errors"
	"math"
)

// A Window is what PromQL's functions need of one interval of a series.
type Window struct {
	Begin uint32 // of the interval, seconds
	WindowValues
}

// WindowValues are what PromQL's functions need of the samples of one series in an interval: those after its
// begin and not after its end. A TSD's values of the same interval have the sample at the begin instead of that at
// the end, and neither NaN nor infinities. Stale markers are no samples.
type WindowValues struct {
	// Histograms means that some samples are histograms; the other fields are 0.
	Histograms bool
	Count      uint64 // at least 1
	// Min and Max are those of PromQL: NaN only if all values are, and the first one of 0 and -0.
	Min, Max, Sum float64
}

// IsEmpty reports whether there are no samples.
func (w *WindowValues) IsEmpty() bool { return w.Count == 0 && !w.Histograms }

// Add adds a sample that is later than all others.
func (w *WindowValues) Add(v float64) { w.Join(&WindowValues{Count: 1, Min: v, Max: v, Sum: v}) }

// Join adds the samples of a window that comes after this one.
func (w *WindowValues) Join(next *WindowValues) {
	switch {
	case next.Histograms || w.Histograms:
		*w = WindowValues{Histograms: true}
		return
	case w.Count == 0:
		*w = *next
		return
	}
	if next.Min < w.Min || math.IsNaN(w.Min) {
		w.Min = next.Min
	}
	if next.Max > w.Max || math.IsNaN(w.Max) {
		w.Max = next.Max
	}
	w.Sum += next.Sum
	w.Count += next.Count
}

// ErrNoWindows means that the points themselves must be read.
var ErrNoWindows = errors.New("no windows")

// A WindowQuery asks for windows of series: of samples after Start and not after End (milliseconds).
type WindowQuery struct {
	Refs       []Ref
	Start, End int64
	// Every divides Start, End, and the begins and ends of all windows that are needed, which are joined
	// from those of the answer. 0: one window of all samples is needed.
	Every int64
}
