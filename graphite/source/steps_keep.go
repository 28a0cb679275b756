package source

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
)

const (
	// keepBatch is how many steps are written at a time.
	keepBatch = 512
	// keepTimeout bounds the writing of a batch.
	keepTimeout = time.Minute
)

// A keep is a step that waits to be written to its document, or, when it was known for long, to be
// compared with it.
type keep struct {
	ref   storage.Ref
	write bool
}

// run settles what waits until ctx ends. A step that could not be written is inferred again when it
// is needed.
func (s *steps) run(ctx context.Context) error {
	failing := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case k := <-s.keeps:
			batch := s.batch(k)
			err := s.settle(ctx, batch)
			if err != nil && !failing && ctx.Err() == nil {
				s.logger.Warn("steps of series cannot be stored; they are inferred again after each restart until they can, see /-/ready",
					"series", len(batch), "err", err)
			}
			failing = err != nil
		}
	}
}

// batch takes what is queued: series, and whether their steps are to be written.
func (s *steps) batch(first keep) map[storage.Ref]bool {
	batch := map[storage.Ref]bool{first.ref: first.write}
	for len(batch) < keepBatch {
		select {
		case k := <-s.keeps:
			batch[k.ref] = batch[k.ref] || k.write
		default:
			return batch
		}
	}
	return batch
}

// settle makes documents and memory agree. A step in a document is right: another process wrote it,
// or a person edited it. A document without a step gets a new one of ours. An old step of ours is
// forgotten, since it was deleted there.
func (s *steps) settle(ctx context.Context, batch map[storage.Ref]bool) error {
	ctx, cancel := context.WithTimeout(ctx, keepTimeout)
	defer cancel()
	refs := make([]storage.Ref, 0, len(batch))
	for ref := range batch {
		refs = append(refs, ref)
	}
	values, err := s.series.SeriesCustom(ctx, refs, stepKey)
	if err != nil {
		return fmt.Errorf("read the steps of series: %w", err)
	}
	var edits []storage.CustomEdit
	for i, ref := range refs {
		k, known := s.known.Get(ref)
		seconds, said := parseStep(values[i])
		switch {
		case said:
			s.known.Put(ref, knownStep{seconds: seconds, checked: s.now()})
		case !known || k.guess || values[i] != "":
		case batch[ref]:
			edits = append(edits, storage.CustomEdit{Ref: ref, New: strconv.FormatInt(k.seconds, 10)})
		default:
			s.known.Forget(ref)
		}
	}
	if err := s.series.SetSeriesCustom(ctx, stepKey, edits); err != nil {
		return fmt.Errorf("write the steps of series: %w", err)
	}
	return nil
}
