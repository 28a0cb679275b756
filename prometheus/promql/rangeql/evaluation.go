package rangeql

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/schema"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/tsdbridge/tsdbridge/internal/budget"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/annotation"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/columns"
)

// An evaluation is what all operators of a running query share.
type evaluation struct {
	ctx     context.Context //nolint:containedctx // of this evaluation alone
	source  columns.Source
	account *budget.Account
	// delayed means that names of metrics are dropped in the end.
	delayed    bool
	maxSamples int64
	steps      block.Grid          // of the query
	repairs    *annotation.Repairs // nil: nobody wants to know

	within time.Duration // of the parts within the one that is being measured

	samples atomic.Int64 // held now, as the library counts
	// warnings are set when all operators are evaluated. They are shown even with an error of what
	// follows.
	warnings annotations.Annotations
}

// hold counts samples that the library would have in memory now. Near the limit it hands the query
// over to the library, which knows exactly when the limit is exceeded.
func (e *evaluation) hold(n int) error {
	if e.samples.Add(int64(n)) > e.maxSamples {
		return columns.ErrLimit
	}
	return nil
}

// let ends the hold of samples.
func (e *evaluation) let(n int) { e.samples.Add(-int64(n)) }

// peak counts samples that the library would have in memory for a moment.
func (e *evaluation) peak(n int) error {
	defer e.let(n)
	return e.hold(n)
}

// ended returns the end of the query in the library's words, nil before it.
func (e *evaluation) ended() error { return contextError(e.ctx) }

// contextError returns the end of a context in the library's words, nil before it.
func contextError(ctx context.Context) error {
	switch err := ctx.Err(); {
	case errors.Is(err, context.Canceled):
		return promql.ErrQueryCanceled("expression evaluation")
	case errors.Is(err, context.DeadlineExceeded):
		return promql.ErrQueryTimeout("expression evaluation")
	default:
		return err
	}
}

// withoutName returns the labels of a series of which an operator drops the name.
func (e *evaluation) withoutName(ls labels.Labels) labels.Labels {
	if e.delayed {
		return ls
	}
	return ls.DropReserved(isMetadata)
}

// shownName returns the name of a metric as annotations show it: an operator that drops names at
// once has none.
func (e *evaluation) shownName(ls labels.Labels) string {
	if !e.delayed {
		return ""
	}
	return ls.Get(model.MetricNameLabel)
}

func isMetadata(label string) bool { return schema.IsMetadataLabel(label) }

// newBlock returns an empty block.
func (e *evaluation) newBlock(g block.Grid) *block.Block {
	return &block.Block{Grid: g, Memory: block.Arena{Account: e.account}}
}

// seal ends the making of a block: it leaves out the series without values, and counts the rest.
// The caller gives the block up when it returns an error.
func (e *evaluation) seal(b *block.Block) error {
	b.Series = slices.DeleteFunc(b.Series, func(s block.Series) bool { return len(s.Values) == 0 })
	b.Samples = 0
	for i := range b.Series {
		b.Samples += b.Series[i].Samples()
	}
	if err := b.Memory.TakeSeries(len(b.Series)); err != nil {
		return err
	}
	return e.hold(b.Samples)
}

// discard frees the memory of a block that nobody uses.
func (e *evaluation) discard(b *block.Block) {
	b.Memory.Free()
	b.Series = nil
	for _, in := range b.Borrowed {
		e.release(in)
	}
	b.Borrowed = nil
}
