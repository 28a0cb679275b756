package blocks

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/tsdb/index"
	"github.com/prometheus/prometheus/tsdb/tombstones"

	"github.com/tsdbridge/tsdbridge/prometheus/columns"
	ours "github.com/tsdbridge/tsdbridge/storage"
)

// refsOnce are the series of a block that matchers select, in the order of their labels.
type refsOnce struct {
	mu   sync.Mutex // guards what follows
	left int        // pieces of the block that will ask; 0: the list is not kept
	refs []storage.SeriesRef
}

// matching returns the series that match. It is called once for each piece of the block.
func (b *block) matching(ctx context.Context, match [][]*labels.Matcher) ([]storage.SeriesRef, error) {
	b.refs.mu.Lock()
	defer b.refs.mu.Unlock()
	refs := b.refs.refs
	if refs == nil {
		var err error
		if refs, err = b.find(ctx, match); err != nil {
			return nil, err
		}
	}
	b.refs.left--
	b.refs.refs = refs
	if b.refs.left <= 0 {
		b.refs.refs = nil
	}
	return refs, nil
}

// find returns the series of a block that match.
func (b *block) find(ctx context.Context, match [][]*labels.Matcher) (refs []storage.SeriesRef, err error) {
	ix, err := b.Index()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ix.Close()) }()
	var all []index.Postings
	for _, ms := range columns.AnyOf(match) {
		p, err := tsdb.PostingsForMatchers(ctx, ix, ms...)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	p := index.Merge(ctx, all...)
	for p.Next() {
		refs = append(refs, p.At())
	}
	return refs, p.Err()
}

// checkTimes tells chunks that are outside of the time that meta.json tells. A view does not read what is there.
func (b *block) checkTimes(ctx context.Context) (err error) {
	refs, err := b.find(ctx, nil)
	if err != nil {
		return err
	}
	ix, err := b.Index()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ix.Close()) }()
	var builder labels.ScratchBuilder
	var metas []chunks.Meta
	outside := 0
	for _, ref := range refs {
		if ix.Series(ref, &builder, &metas) != nil {
			continue // its reader tells that
		}
		for _, meta := range metas {
			if meta.MinTime < b.MinTime() || meta.MaxTime > b.to() {
				outside++
			}
		}
	}
	if outside > 0 {
		return fmt.Errorf("%d chunks are outside of the time of its meta.json, where samples are left out: is that right?", outside)
	}
	return nil
}

// A chunkReader reads the chunks of series of one block.
type chunkReader struct {
	index      tsdb.IndexReader
	chunks     tsdb.ChunkReader
	tombstones tombstones.Reader
	added      labels.Labels
	from, to   int64
	filler     columns.Filler

	builder labels.ScratchBuilder
	metas   []chunks.Meta
	it      chunkenc.Iterator
}

func (b *block) reader(o Options, batch *columns.Batch) (r *chunkReader, err error) {
	r = &chunkReader{added: b.labels, from: o.From, to: o.To, filler: columns.Filler{Batch: batch}}
	if r.index, err = b.Index(); err != nil {
		return nil, err
	}
	if r.chunks, err = b.Chunks(); err != nil {
		return nil, errors.Join(err, r.close())
	}
	if r.tombstones, err = b.Tombstones(); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

func (r *chunkReader) close() error {
	err := r.index.Close()
	if r.chunks != nil {
		err = errors.Join(err, r.chunks.Close())
	}
	if r.tombstones != nil {
		err = errors.Join(err, r.tombstones.Close())
	}
	return err
}

// series adds the samples of a series to the batch, if its labels are wanted. The first
// chunk that cannot be read is in the error; the others are added.
func (r *chunkReader) series(id storage.SeriesRef, wanted func(labels.Labels) bool) error {
	if err := guarded(func() error { return r.index.Series(id, &r.builder, &r.metas) }); err != nil {
		return fmt.Errorf("series %d of the index: %w", id, err)
	}
	deleted, err := r.tombstones.Get(id)
	if err != nil {
		return fmt.Errorf("tombstones of series %d: %w", id, err)
	}
	own := r.builder.Labels()
	if !wanted(own) {
		return nil
	}
	var ls labels.Labels
	var ref ours.Ref
	var bad error
	for _, meta := range r.metas {
		whole := tombstones.Interval{Mint: meta.MinTime, Maxt: meta.MaxTime}
		if meta.MaxTime < r.from || meta.MinTime > r.to || whole.IsSubrange(deleted) {
			continue
		}
		if ls.IsEmpty() {
			ls = columns.With(own, r.added)
			ref = r.filler.Batch.Series(ls)
		}
		if err := guarded(func() error { return r.chunk(ref, meta, deleted) }); err != nil && bad == nil {
			bad = fmt.Errorf("%s: chunk of %d to %d: %w", ls, meta.MinTime, meta.MaxTime, err)
		}
	}
	return bad
}

// chunk adds the samples of a chunk.
func (r *chunkReader) chunk(ref ours.Ref, meta chunks.Meta, deleted tombstones.Intervals) error {
	chunk, iterable, err := r.chunks.ChunkOrIterable(meta)
	if err != nil {
		return err
	}
	if chunk != nil {
		r.it = chunk.Iterator(r.it)
	} else {
		r.it = iterable.Iterator(r.it)
	}
	f := &r.filler
	f.From, f.To, f.Deleted = r.from, r.to, f.Deleted[:0]
	for _, d := range deleted {
		if meta.OverlapsClosedInterval(d.Mint, d.Maxt) {
			f.Deleted = append(f.Deleted, d)
		}
	}
	return f.Add(ref, r.it)
}
