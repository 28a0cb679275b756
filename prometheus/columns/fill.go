package columns

import (
	"fmt"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/tombstones"

	"github.com/tsdbridge/tsdbridge/prometheus/histogramcodec"
	"github.com/tsdbridge/tsdbridge/storage"
)

// A Filler adds the samples of iterators to a batch. It keeps memory between them.
type Filler struct {
	Batch    *Batch
	From, To int64 // times of samples that are taken, inclusive
	// Deleted are times that are not.
	Deleted tombstones.Intervals

	ints   *histogram.Histogram
	floats *histogram.FloatHistogram
}

// A BadHistogramsError tells of histograms that cannot be stored.
type BadHistogramsError struct {
	N    int
	Time int64 // of the first one, milliseconds
	Err  error // about it
}

// Error tells how many there are, and what is wrong with the first one.
func (e *BadHistogramsError) Error() string {
	text := fmt.Sprintf("histogram at %d: %v", e.Time, e.Err)
	if e.N > 1 {
		text += fmt.Sprintf(", and %d others", e.N-1)
	}
	return text
}

// Unwrap returns the error.
func (e *BadHistogramsError) Unwrap() error { return e.Err }

// Add adds what follows in an iterator to a series of the batch. What comes before an error stays
// added. All but the histograms of a *BadHistogramsError is added.
func (f *Filler) Add(ref storage.Ref, it chunkenc.Iterator) error {
	var bad *BadHistogramsError
	for {
		kind := it.Next()
		if kind == chunkenc.ValNone {
			break
		}
		t := it.AtT()
		if t < f.From || t > f.To || len(f.Deleted) > 0 && f.isDeleted(t) {
			continue
		}
		if kind == chunkenc.ValFloat {
			_, v := it.At()
			p := &f.Batch.Points
			p.Refs, p.Times, p.Values = append(p.Refs, ref), append(p.Times, t), append(p.Values, v)
		} else if err := f.addHistogram(ref, it, kind); err != nil {
			if bad == nil {
				bad = &BadHistogramsError{Time: t, Err: err}
			}
			bad.N++
			continue
		}
		if st := it.AtST(); st != 0 {
			f.Batch.Points.AddObject(ref, t, storage.KindStartTime, histogramcodec.AppendStartTime(nil, st-t))
		}
	}
	if err := it.Err(); err != nil {
		return err
	}
	if bad != nil {
		return bad
	}
	return nil
}

func (f *Filler) isDeleted(t int64) bool {
	for _, d := range f.Deleted {
		if d.InBounds(t) {
			return true
		}
	}
	return false
}

// addHistogram adds the histogram at an iterator. That it was no reset is what a chunk tells of all
// but its first one. A reader of the store finds it out by itself, as the chunk's writer did.
func (f *Filler) addHistogram(ref storage.Ref, it chunkenc.Iterator, kind chunkenc.ValueType) error {
	var t int64
	var data []byte
	var err error
	if kind == chunkenc.ValHistogram {
		t, f.ints = it.AtHistogram(f.ints)
		f.ints.CounterResetHint = kept(f.ints.CounterResetHint)
		data, err = histogramcodec.Data(f.ints, nil)
	} else {
		t, f.floats = it.AtFloatHistogram(f.floats)
		f.floats.CounterResetHint = kept(f.floats.CounterResetHint)
		data, err = histogramcodec.Data(nil, f.floats)
	}
	if err == nil {
		f.Batch.Points.AddObject(ref, t, storage.KindHistogram, data)
	}
	return err
}

func kept(h histogram.CounterResetHint) histogram.CounterResetHint {
	if h == histogram.NotCounterReset {
		return histogram.UnknownCounterReset
	}
	return h
}
