package rangeql

import (
	"context"
	"errors"

	"github.com/prometheus/prometheus/model/labels"
)

// ErrHandOver says that a query cannot be answered from columns and is the library's.
var ErrHandOver = errors.New("not to be answered from columns")

// A Selector names series and the times of their samples, in milliseconds, both ends included.
type Selector struct {
	Matchers   []*labels.Matcher
	Start, End int64
	// NoStartTimes makes a series whose samples have start times one that holds more than floats.
	NoStartTimes bool
}

// A Source has series as columns. It is implemented beside promstorage.Queryable.
type Source interface {
	// Columns finds the series of a selector. ErrHandOver: they are not to be had as columns.
	Columns(ctx context.Context, s Selector) (Columns, error)
}

// Columns are the series that a selector found, in the order in which the library would be given
// them (sums of floats depend on it), with distinct labels.
type Columns interface {
	Len() int
	Labels(i int) labels.Labels
	// Read visits those series of [from, to) that have samples, in order. The slices are the
	// visitor's until it returns and must not be changed. ErrHandOver: a series holds more than
	// floats, or there are more samples than the library may hold. An error of visit ends the
	// reading. Safe for concurrent use.
	Read(ctx context.Context, from, to int, visit func(i int, times []int64, values []float64) error) error
}
