package rangeql

import (
	"context"
	"errors"

	"github.com/prometheus/prometheus/model/labels"
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
}

// A Source has series as columns. It is implemented in addition to promstorage.Queryable.
type Source interface {
	// Columns finds the series of a selector. It returns ErrHandOver if they are not available as
	// columns.
	Columns(ctx context.Context, s Selector) (Columns, error)
}

// Columns are the series that a selector found. They have distinct labels, and the order in which
// the library would get them, because sums of floats depend on it.
type Columns interface {
	Len() int
	Labels(i int) labels.Labels
	// Read visits those series of [from, to) that have samples, in order. The slices are valid
	// until visit returns and must not be changed. It returns ErrHandOver if a series holds more
	// than floats, or if there are more samples than the library may hold. An error of visit ends
	// the reading. It is safe for concurrent use.
	Read(ctx context.Context, from, to int, visit func(i int, times []int64, values []float64) error) error
}
