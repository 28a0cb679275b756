// Package columns is the contract between the evaluation of PromQL and what stores series: a Source finds
// the series of a Selector, and reads them as columns of times and values, or as summaries of intervals. It
// also has the reasons for which a query is left to Prometheus' engine. It reads and evaluates nothing.
package columns

import (
	"context"
	"errors"
	"iter"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
)

// ErrHandOver means that a query cannot be answered from columns, and must be left to the library.
var ErrHandOver = errors.New("not to be answered from columns")

// A Selector names series and the times of their samples, in milliseconds, both ends included.
type Selector struct {
	Matchers   []*labels.Matcher
	Start, End int64
	// NoStartTimes means that series whose samples have start times count as holding more than
	// floats.
	NoStartTimes bool
	// Newest means that only the newest sample of each series is needed. Older ones may be left out,
	// unless the newest one is a histogram.
	Newest bool
	// Lookback, when above 0, means that at each step only the newest sample within so many milliseconds is needed, and that
	// the first step is at Start+Lookback-1.
	Lookback int64
	// Summaries means that summaries will do instead of samples: of intervals whose begins and ends are
	// multiples of Every (milliseconds), as are Start-1 and End; or, if Every is 0, one of all samples.
	Summaries bool
	Every     int64
}

// A Source has series as columns. It is implemented in addition to promstorage.Queryable.
type Source interface {
	// Columns finds the series of a selector. It returns ErrHandOver if they are not available as
	// columns.
	Columns(ctx context.Context, s Selector) (Set, error)
}

// Set are the series that a selector found. They have distinct labels, and the order in which
// the library would get them, because sums of floats depend on it.
type Set interface {
	Len() int
	Labels(i int) labels.Labels
	// Read reads all series in parts of most series at most (0: as many as the store likes), on
	// several cores. Each core has a worker; worker is called by the calling goroutine. It returns
	// ErrHandOver if a series holds what a Column cannot, or if there are more samples than the library
	// may hold. The error of a worker ends the reading and is returned as it is.
	Read(ctx context.Context, most int, worker func() Worker) error
}

// A Column is the samples of one series.
type Column struct {
	Times  []int64 // milliseconds
	Values []float64
	// Distance is that between all neighbouring times, if it is known to be always the same; else 0.
	Distance int64
	// Histograms are in the order of time, and not at the same times as the values. They may be
	// kept, but not changed.
	Histograms []promql.HPoint
	// Summaries, ascending, stand for the samples, if these will do. There is nothing else then.
	Summaries []Summary
}

// A Worker takes parts of the series in a goroutine of its own.
type Worker interface {
	// Take is called with those series of a part that have samples, in order, while other workers
	// take other parts. The slices must not be changed.
	Take(ctx context.Context, part iter.Seq2[int, Column]) error
	// Commit is called after each Take, in the order of the parts, by one worker at a time. The
	// columns are valid until it returns.
	Commit(ctx context.Context) error
}

// SelectorText returns a selector as it is written in PromQL.
func SelectorText(matchers []*labels.Matcher) string {
	texts := make([]string, len(matchers))
	for i, m := range matchers {
		texts[i] = m.String()
	}
	return "{" + strings.Join(texts, ",") + "}"
}
