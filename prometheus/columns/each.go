package columns

import (
	"fmt"
	"iter"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/prometheus/histogramcodec"
	"github.com/tsdbridge/tsdbridge/storage"
)

// A Series is what a batch has of one series.
type Series struct {
	Labels  labels.Labels
	Times   []int64 // of floats, milliseconds
	Values  []float64
	Objects []storage.Object
}

// Each calls f for each series of a batch whose samples were added series by series, until f fails. What
// f gets is valid until the batch changes.
func (b *Batch) Each(f func(s Series) error) error {
	points, objects := 0, 0
	for n, ls := range b.Labels {
		fromPoint, fromObject := points, objects
		for points < len(b.Points.Refs) && b.Points.Refs[points] == storage.Ref(n) {
			points++
		}
		for objects < len(b.Points.Objects) && b.Points.Objects[objects].Ref == storage.Ref(n) {
			objects++
		}
		s := Series{ls, b.Points.Times[fromPoint:points], b.Points.Values[fromPoint:points], b.Points.Objects[fromObject:objects]}
		if err := f(s); err != nil {
			return err
		}
	}
	if points < len(b.Points.Refs) || objects < len(b.Points.Objects) {
		return fmt.Errorf("%w: the samples of a batch are not in the order of its series", storage.ErrInvalid)
	}
	return nil
}

// A Sample is a float, or a histogram with integers or floats: then H or FH is not nil.
type Sample struct {
	Time  int64 // milliseconds
	Value float64
	H     *histogram.Histogram
	FH    *histogram.FloatHistogram
	Start int64 // milliseconds; 0: unknown
}

// Samples returns the samples of a series, whose columns ascend in time.
func (s Series) Samples() iter.Seq2[Sample, error] {
	return func(yield func(Sample, error) bool) {
		var hists, starts []storage.Object
		for _, o := range s.Objects {
			switch o.Kind {
			case storage.KindHistogram:
				hists = append(hists, o)
			case storage.KindStartTime:
				starts = append(starts, o)
			}
		}
		at := 0
		for at < len(s.Times) || len(hists) > 0 {
			var one Sample
			var err error
			if len(hists) == 0 || at < len(s.Times) && s.Times[at] <= hists[0].Time {
				one.Time, one.Value = s.Times[at], s.Values[at]
				at++
			} else {
				one.Time = hists[0].Time
				one.H, one.FH, err = histogramcodec.DecodeHistogram(hists[0].Data)
				hists = hists[1:]
			}
			for len(starts) > 0 && starts[0].Time < one.Time {
				starts = starts[1:]
			}
			if err == nil && len(starts) > 0 && starts[0].Time == one.Time {
				one.Start, err = histogramcodec.DecodeStartTime(starts[0].Data)
				one.Start += one.Time
			}
			if !yield(one, err) || err != nil {
				return
			}
		}
	}
}
