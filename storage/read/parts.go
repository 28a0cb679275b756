package read

import (
	"context"
	"runtime"
	"sync/atomic"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/storage"
)

// SelectParts implements Querier. Each worker reads a part, takes it, and waits for its place in
// the order.
func (s *Reader) SelectParts(ctx context.Context, q storage.Query, worker func() storage.PartWorker) error {
	if q = q.Clamped(); q.Empty() {
		return nil
	}
	r, err := s.newSelection(q)
	if err != nil {
		return err
	}
	r.account, r.tally = query.AccountOf(ctx), query.TallyOf(ctx)
	defer r.end()
	fewest := r.fewestPart()
	cores := max(1, min(runtime.GOMAXPROCS(0), (len(q.Refs)+fewest-1)/fewest))
	r.readers = max(1, r.readers/cores)
	p := &partRead{selection: r, partition: newPartition(r, cores)}
	workers := make([]storage.PartWorker, cores)
	for i := range workers {
		workers[i] = worker()
	}
	return query.Workers(ctx, cores, func(ctx context.Context, i int, turn *query.Turn) error {
		return p.work(query.WithTurn(ctx, turn), turn, workers[i])
	})
}

// partRead is one SelectParts under way.
type partRead struct {
	*selection
	partition *partition
	given     atomic.Int64 // samples
}

// work takes parts while it has a turn, which it gives away between parts.
func (p *partRead) work(ctx context.Context, turn *query.Turn, w storage.PartWorker) error {
	g := p.groups.Get().(*seriesGroup)
	defer p.put(g)
	if err := turn.Resume(ctx); err != nil {
		return err
	}
	for {
		if err := turn.Yield(ctx); err != nil {
			return err
		}
		part, ok := p.partition.next()
		if !ok {
			return nil
		}
		if err := p.read(ctx, g, part); err != nil {
			return err
		}
		if err := w.Take(ctx, storage.Part{From: part.from, Points: g.points}); err != nil {
			return err
		}
		if err := part.wait(ctx, turn); err != nil {
			return err
		}
		if err := w.Commit(ctx); err != nil {
			return err
		}
		close(part.committed)
	}
}

// read reads the points of a part and counts them.
func (p *partRead) read(ctx context.Context, g *seriesGroup, part orderedPart) error {
	if err := g.read(ctx, p.selection, part.from, part.to); err != nil {
		return err
	}
	samples := g.samples.Load()
	p.partition.done(part, int(samples))
	if limit := p.q.MaxSamples; limit > 0 && p.given.Add(samples) > int64(limit) {
		return p.tooMany()
	}
	return nil
}

// wait returns when the part's place in the order has come. Until then another request may have the
// turn.
func (o orderedPart) wait(ctx context.Context, turn *query.Turn) error {
	select {
	case <-o.before:
		return nil
	default:
	}
	turn.Pause()
	select {
	case <-o.before:
		return turn.Resume(ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}
