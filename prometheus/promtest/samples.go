package promtest

import (
	"fmt"
	"math"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/tsdbridge/tsdbridge/prometheus/histogramcodec"
)

// Samples are the samples of series as text, by labels and time: the bits of floats and what the store
// keeps of histograms.
type Samples map[string]string

// Add adds a sample. Two of one time are shown both.
func (s Samples) Add(ls labels.Labels, at int64, text string) {
	key := fmt.Sprintf("%s %d", ls, at)
	if old, twice := s[key]; twice {
		text = old + " and " + text
	}
	s[key] = text
}

// SamplesOf returns the samples of the series that match; without matchers, of all.
func SamplesOf(t testing.TB, from promstorage.Queryable, match ...*labels.Matcher) Samples {
	t.Helper()
	q, err := from.Querier(math.MinInt64, math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	if len(match) == 0 {
		match = append(match, labels.MustNewMatcher(labels.MatchRegexp, model.MetricNameLabel, ".+"))
	}
	all, set := Samples{}, q.Select(t.Context(), true, nil, match...)
	for set.Next() {
		it, ls := set.At().Iterator(nil), set.At().Labels()
		for kind := it.Next(); kind != chunkenc.ValNone; kind = it.Next() {
			all.Add(ls, it.AtT(), sampleText(it, kind))
		}
		if err := it.Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := set.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func sampleText(it chunkenc.Iterator, kind chunkenc.ValueType) string {
	var data []byte
	var err error
	switch kind {
	case chunkenc.ValFloat:
		_, v := it.At()
		return fmt.Sprintf("%x", math.Float64bits(v))
	case chunkenc.ValHistogram:
		_, h := it.AtHistogram(nil)
		h.CounterResetHint = keptHint(h.CounterResetHint)
		data, err = histogramcodec.Data(h, nil)
	default:
		_, h := it.AtFloatHistogram(nil)
		h.CounterResetHint = keptHint(h.CounterResetHint)
		data, err = histogramcodec.Data(nil, h)
	}
	return fmt.Sprintf("%x %v", data, err)
}

// keptHint leaves out of hints what only the neighbours of a sample tell.
func keptHint(h histogram.CounterResetHint) histogram.CounterResetHint {
	if h == histogram.NotCounterReset {
		return histogram.UnknownCounterReset
	}
	return h
}
