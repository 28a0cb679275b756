package migrate

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
	"github.com/tsdbridge/tsdbridge/prometheus/appendable"
	"github.com/tsdbridge/tsdbridge/prometheus/columns"
	"github.com/tsdbridge/tsdbridge/storage"
)

// storing stores batches of a piece, again while the store fails, and counts what comes of them.
type storing struct {
	again func(ctx context.Context, try func() error) error
	store columnsStore
	tell  func(string) // of what is refused

	refusedSeries, refusedSamples atomic.Int64
}

// give stores a batch, and returns how many of its samples are durable.
func (s *storing) give(ctx context.Context, b *columns.Batch) (samples int64, err error) {
	var refused *appendable.RefusedError
	err = s.again(ctx, func() error {
		err := s.store(ctx, b)
		var ok bool
		switch refused, ok = errors.AsType[*appendable.RefusedError](err); {
		case ok:
			return nil
		case errors.Is(err, storage.ErrInvalid):
			return pipeline.FinalError{Err: err}
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	samples = int64(b.Samples())
	if refused != nil {
		samples -= int64(refused.Samples)
		s.refusedSamples.Add(int64(refused.Samples))
		if s.refusedSeries.Add(int64(refused.Series)) < mostRefusedTold {
			s.tell(refused.Error())
		}
	}
	return samples, nil
}

// mostRefusedTold is after how many refused series no others are told.
const mostRefusedTold = 1000

// A columnsStore makes a batch durable, and returns when it is. An *appendable.RefusedError tells what
// can never be; the rest is durable.
type columnsStore func(ctx context.Context, b *columns.Batch) error

// waiting prints what a store is asked again for.
func waiting(line *command.StatusLine) func(error) {
	return func(err error) { fmt.Fprintf(line, "waiting for the store: %v\n", err) }
}
