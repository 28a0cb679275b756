package blocks

import (
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/tsdbridge/tsdbridge/prometheus/columns"
)

// batchSize is how large a batch is that is given, about in samples.
const batchSize = 100_000

// Read gives the samples of a piece in batches, which it uses again when give returns. An error of
// give ends it. What cannot be read is in damaged; all else is given.
func (d *Dir) Read(ctx context.Context, i int, give func(*columns.Batch) error) (damaged []Damage, err error) {
	r := &reading{d: d, piece: &d.pieces[i], ctx: func() context.Context { return ctx }, give: give, batch: &columns.Batch{}}
	return r.damaged, r.all()
}

// ReadGroup gives the samples of a group as Read does, of the series with labels that are wanted. What cannot be read is left out.
func (d *Dir) ReadGroup(ctx context.Context, i int, wanted func(labels.Labels) bool, give func(*columns.Batch) error) error {
	whole := *d.wanted[i]
	whole.parts = 1
	r := &reading{d: d, piece: &piece{name: whole.name(), group: &whole}, ctx: func() context.Context { return ctx }, give: give, wanted: wanted, batch: &columns.Batch{}}
	return r.all()
}

// A reading is the reading of a piece.
type reading struct {
	d       *Dir
	piece   *piece
	ctx     func() context.Context
	give    func(*columns.Batch) error
	wanted  func(labels.Labels) bool // nil: all series are
	batch   *columns.Batch
	damaged []Damage
}

// all reads the piece.
func (r *reading) all() (err error) {
	g := r.piece.group
	switch {
	case g.wal:
		err = r.wal()
	case len(g.blocks) == 1 && !g.head:
		err = r.block(g.blocks[0])
	default:
		err = r.merged()
	}
	if err == nil {
		err = r.flush()
	}
	return err
}

// wants reports whether a series is read, which gets labels in addition.
func (r *reading) wants(ls, added labels.Labels) bool {
	return r.wanted == nil || r.wanted(columns.With(ls, added))
}

func (r *reading) damage(name string, err error) {
	r.damaged = append(r.damaged, Damage{name, err})
}

// flush gives what is in the batch.
func (r *reading) flush() error {
	if r.batch.Empty() {
		return nil
	}
	err := r.give(r.batch)
	r.batch.Reset()
	return err
}

// full gives the batch if it is large.
func (r *reading) full() error {
	if err := r.ctx().Err(); err != nil {
		return err
	}
	if r.batch.Size() < batchSize {
		return nil
	}
	return r.flush()
}

// block reads series of one block, chunk by chunk.
func (r *reading) block(b *block) (err error) {
	refs, err := b.matching(r.ctx(), r.d.o.Match)
	if err != nil {
		if r.ctx().Err() == nil && r.piece.part == 0 {
			r.damage(b.name(), err)
		}
		return r.ctx().Err()
	}
	chunks, err := b.reader(r.d.o, r.batch)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, chunks.close()) }()
	from, to := len(refs)*r.piece.part/r.piece.group.parts, len(refs)*(r.piece.part+1)/r.piece.group.parts
	for _, ref := range refs[from:to] {
		if err := chunks.series(ref, func(ls labels.Labels) bool { return r.wants(ls, b.labels) }); err != nil {
			r.damage(b.name(), err)
		}
		if err := r.full(); err != nil {
			return err
		}
	}
	return nil
}

// merged reads series of blocks that overlap, and of the head, as Prometheus answers them.
func (r *reading) merged() (err error) {
	g := r.piece.group
	from, to := max(g.from, r.d.o.From), min(g.to, r.d.o.To)
	q, err := g.view.Querier(from, to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	if r.piece.part == 0 {
		for _, b := range g.blocks {
			if err := guarded(func() error { return b.checkTimes(r.ctx()) }); err != nil {
				r.damage(b.name(), err)
			}
		}
	}
	f := columns.Filler{Batch: r.batch, From: from, To: to}
	hints := &promstorage.SelectHints{Start: from, End: to, ShardIndex: uint64(r.piece.part), ShardCount: uint64(g.parts)}
	match := columns.AnyOf(r.d.o.Match)
	for n, ms := range match {
		set := q.Select(r.ctx(), true, hints, ms...)
		var it chunkenc.Iterator
		for set.Next() {
			series := set.At()
			if columns.AnyMatches(match[:n], series.Labels()) || !r.wants(series.Labels(), g.added) {
				continue
			}
			it = series.Iterator(it)
			if err := r.mergedSeries(&f, series.Labels(), it); err != nil {
				return err
			}
			if err := r.full(); err != nil {
				return err
			}
		}
		if err := set.Err(); err != nil {
			if r.ctx().Err() != nil {
				return r.ctx().Err()
			}
			r.damage(g.name(), err)
		}
	}
	return nil
}

// mergedSeries adds a series. If something of it cannot be read, it is read from each block apart: of
// samples of one time that blocks have otherwise, any stays then.
func (r *reading) mergedSeries(f *columns.Filler, ls labels.Labels, it chunkenc.Iterator) error {
	points, objects := len(r.batch.Points.Refs), len(r.batch.Points.Objects)
	err := f.Add(r.batch.Series(columns.With(ls, r.piece.group.added)), it)
	if err == nil {
		return nil
	}
	r.damage(r.piece.group.name(), fmt.Errorf("%s: %w", ls, err))
	if _, all := errors.AsType[*columns.BadHistogramsError](err); all {
		return nil // everything else is added
	}
	p := &r.batch.Points
	p.Refs, p.Times, p.Values, p.Objects = p.Refs[:points], p.Times[:points], p.Values[:points], p.Objects[:objects]
	for _, b := range r.piece.group.blocks {
		if err := r.apart(b, ls); err != nil {
			return err
		}
	}
	return nil
}

// apart adds what one block has of a series.
func (r *reading) apart(b *block, ls labels.Labels) (err error) {
	var exact []*labels.Matcher
	ls.Range(func(l labels.Label) { exact = append(exact, labels.MustNewMatcher(labels.MatchEqual, l.Name, l.Value)) })
	refs, err := b.find(r.ctx(), [][]*labels.Matcher{exact})
	if err != nil {
		r.damage(b.name(), err)
		return r.ctx().Err()
	}
	chunks, err := b.reader(r.d.o, r.batch)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, chunks.close()) }()
	for _, ref := range refs {
		if err := chunks.series(ref, func(found labels.Labels) bool { return labels.Equal(found, ls) }); err != nil {
			r.damage(b.name(), err)
		}
	}
	return nil
}
