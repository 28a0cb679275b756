package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/schema"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/annotation"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/columns"
)

// An Evaluation is what all operators of a running query share.
type Evaluation struct {
	Ctx     context.Context //nolint:containedctx // of this evaluation alone
	Source  columns.Source
	Account *query.Account
	// Delayed means that names of metrics are dropped in the end.
	Delayed    bool
	MaxSamples int64
	Steps      block.Grid          // of the query
	Repairs    *annotation.Repairs // nil: not recorded

	within time.Duration // of the parts within the one that is being measured

	samples atomic.Int64 // held now, as the library counts
	// Warnings are set when all operators are evaluated. They are shown even with an error of what
	// follows.
	Warnings annotations.Annotations
}

// Hold counts samples that the library would have in memory now. Near the limit it hands the query
// over to the library, which knows exactly when the limit is exceeded.
func (e *Evaluation) Hold(n int) error {
	if e.samples.Add(int64(n)) > e.MaxSamples {
		return columns.ErrLimit
	}
	return nil
}

// Unhold ends the hold of samples.
func (e *Evaluation) Unhold(n int) { e.samples.Add(-int64(n)) }

// Peak counts samples that the library would have in memory for a moment.
func (e *Evaluation) Peak(n int) error {
	defer e.Unhold(n)
	return e.Hold(n)
}

// Ended returns the end of the query in the library's words, nil before it.
func (e *Evaluation) Ended() error { return ContextError(e.Ctx) }

// ContextError returns the end of a context in the library's words, nil before it.
func ContextError(ctx context.Context) error {
	switch err := ctx.Err(); {
	case errors.Is(err, context.Canceled):
		return promql.ErrQueryCanceled("expression evaluation")
	case errors.Is(err, context.DeadlineExceeded):
		return promql.ErrQueryTimeout("expression evaluation")
	default:
		return err
	}
}

// WithoutName returns the labels of a series of which an operator drops the name.
func (e *Evaluation) WithoutName(ls labels.Labels) labels.Labels {
	if e.Delayed {
		return ls
	}
	return ls.DropReserved(IsMetadata)
}

// ShownName returns the name of a metric as annotations show it: an operator that drops names at
// once has none.
func (e *Evaluation) ShownName(ls labels.Labels) string {
	if !e.Delayed {
		return ""
	}
	return ls.Get(model.MetricNameLabel)
}

// IsMetadata reports whether a label goes with the name of the metric.
func IsMetadata(label string) bool { return schema.IsMetadataLabel(label) }

// NewBlock returns an empty block.
func (e *Evaluation) NewBlock(g block.Grid) *block.Block {
	return &block.Block{Grid: g, Memory: block.Arena{Account: e.Account}}
}

// Seal ends the making of a block: it leaves out the series without values, and counts the rest.
// The caller gives the block up when it returns an error.
func (e *Evaluation) Seal(b *block.Block) error {
	b.Series = slices.DeleteFunc(b.Series, func(s block.Series) bool { return len(s.Values) == 0 })
	b.Samples = 0
	for i := range b.Series {
		b.Samples += b.Series[i].Samples()
	}
	if err := b.Memory.TakeSeries(len(b.Series)); err != nil {
		return err
	}
	return e.Hold(b.Samples)
}

// discard frees the memory of a block that is not used.
func (e *Evaluation) discard(b *block.Block) {
	b.Memory.Free()
	b.Series = nil
	for _, in := range b.Borrowed {
		e.Release(in)
	}
	b.Borrowed = nil
}

// Expanding returns an error of the source in the library's words.
func Expanding(err error) error {
	if errors.Is(err, columns.ErrHandOver) {
		return err
	}
	return fmt.Errorf("expanding series: %w", err)
}
