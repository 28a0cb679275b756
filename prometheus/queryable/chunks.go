package queryable

import (
	"context"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/storage"
)

// chunkQuerier answers with chunks. It holds no more than one group of series at a time, so its
// samples are not limited.
type chunkQuerier struct{ *querier }

// Select always sorts: remote read sends the chunks to a reader that merges sorted streams.
func (q chunkQuerier) Select(ctx context.Context, _ bool, hints *promstorage.SelectHints, matchers ...*labels.Matcher) promstorage.ChunkSeriesSet {
	s := selection{span: q.span, matchers: matchers, sorted: true}.withHints(hints)
	// A chunk has one hint, for its first sample, and readers do not trust it. They find the other
	// hints in the chunk itself.
	return chunkSet{newSeriesSet(ctx, q.querier, readOptions{}, s)}
}

// ChunkParts are the series of a selection, which are read in parts on several cores.
type ChunkParts struct {
	chunkQuerier
	span timeSpan
	sets []labelSet
}

// ChunkParts finds series, sorted by labels. It reports false if they cannot be read in parts: the
// hints ask for labels alone, or stored series have to be merged because they show the same labels.
func (p *Store) ChunkParts(ctx context.Context, mint, maxt int64, hints *promstorage.SelectHints, matchers []*labels.Matcher) (ChunkParts, bool, error) {
	q := p.querier(mint, maxt)
	s := selection{span: q.span, matchers: matchers, sorted: true}.withHints(hints)
	if s.labelsOnly {
		return ChunkParts{}, false, nil
	}
	sets, err := q.find(ctx, s)
	merged := slices.ContainsFunc(sets, func(s labelSet) bool { return len(s.more) > 0 })
	return ChunkParts{chunkQuerier{q}, s.span, sets}, !merged, err
}

// A ChunkWorker takes parts in a goroutine of its own. Take and Commit are those of
// storage.PartWorker.
type ChunkWorker interface {
	Take(ctx context.Context, part promstorage.ChunkSeriesSet) error
	Commit(ctx context.Context) error
}

// Read reads all series.
func (c ChunkParts) Read(ctx context.Context, worker func() ChunkWorker) error {
	return c.read(ctx, func() SeriesWorker { return chunkWorker{worker()} })
}

// chunkWorker hands parts on as chunks.
type chunkWorker struct{ ChunkWorker }

// Take implements SeriesWorker.
func (w chunkWorker) Take(ctx context.Context, part promstorage.SeriesSet) error {
	return w.ChunkWorker.Take(ctx, chunkSet{part.(*seriesSet)})
}

// A SeriesWorker is a ChunkWorker that takes samples.
type SeriesWorker interface {
	Take(ctx context.Context, part promstorage.SeriesSet) error
	Commit(ctx context.Context) error
}

// EachSeries reads the series of a selection in parts on several cores. Stored series that have to be merged because they
// show the same labels are taken on one core.
func (p *Store) EachSeries(ctx context.Context, mint, maxt int64, matchers []*labels.Matcher, worker func() SeriesWorker) error {
	parts, ok, err := p.ChunkParts(ctx, mint, maxt, nil, matchers)
	if err != nil {
		return err
	}
	if ok {
		return parts.read(ctx, worker)
	}
	w, set := worker(), newSeriesSet(ctx, parts.querier, readOptions{}, selection{span: parts.span, matchers: matchers})
	for set.fill() {
		if err := w.Take(ctx, &seriesSet{group: set.group}); err != nil {
			return err
		}
		if err := w.Commit(ctx); err != nil {
			return err
		}
	}
	return set.Err()
}

// read reads all series.
func (c ChunkParts) read(ctx context.Context, worker func() SeriesWorker) error {
	query := storage.Query{Start: c.span.start, End: c.span.end, Samples: true}
	_, err := c.selectParts(ctx, query, c.sets, func() consumerWorker { return &partWorker{SeriesWorker: worker(), parts: c} })
	return err
}

// partWorker hands the series of parts to a worker.
type partWorker struct {
	SeriesWorker
	parts  ChunkParts
	failed error // of the worker
}

func (w *partWorker) consumerError() error { return w.failed }

// Take implements storage.PartWorker.
func (w *partWorker) Take(ctx context.Context, p storage.Part) error {
	sets := w.parts.sets[p.From : p.From+len(p.Points)]
	r := groupReader{querier: w.parts.querier, span: w.parts.span, account: query.AccountOf(ctx), end: newQueryEnd(ctx)}
	defer func() { r.account.Give(r.taken) }()
	r.collect(sets)
	for i, s := range p.Points {
		if s.Ref != r.refs[i] {
			return errOrder
		}
		if s.Len() == 0 {
			continue
		}
		if err := r.add(i, s); err != nil {
			return err
		}
	}
	w.failed = w.SeriesWorker.Take(ctx, &seriesSet{group: r.series(sets)})
	return w.failed
}

// Commit implements storage.PartWorker.
func (w *partWorker) Commit(ctx context.Context) error {
	w.failed = w.SeriesWorker.Commit(ctx)
	return w.failed
}

type chunkSet struct{ *seriesSet }

// At returns the current series as chunks.
func (s chunkSet) At() promstorage.ChunkSeries { return chunkSeries{s.seriesSet.At()} }

type chunkSeries struct{ promstorage.Series }

// chunkSamples is how many samples go into a chunk, as in the TSDB.
const chunkSamples = 120

// Iterator encodes the series in the encodings that every reader knows: XOR, HISTOGRAM and
// FLOAT_HISTOGRAM. It leaves out start times, which need newer encodings.
func (s chunkSeries) Iterator(it chunks.Iterator) chunks.Iterator {
	ours, ok := s.Series.(*shownSeries)
	if !ok || len(ours.data.hists) > 0 {
		return promstorage.NewSeriesToChunkEncoder(withoutStarts(s)).Iterator(it)
	}
	return promstorage.NewListChunkSeriesIterator(ours.data.xorChunks()...)
}

// xorChunks encodes floats.
func (s *seriesSamples) xorChunks() []chunks.Meta {
	out := make([]chunks.Meta, 0, (len(s.times)+chunkSamples-1)/chunkSamples)
	for start := 0; start < len(s.times); start += chunkSamples {
		end := min(start+chunkSamples, len(s.times))
		chunk := chunkenc.NewXORChunk()
		app, err := chunk.Appender()
		if err != nil {
			panic(err) // Only the content of a chunk can be unreadable, and this one is empty.
		}
		for i := start; i < end; i++ {
			app.Append(0, s.times[i], s.values[i])
		}
		out = append(out, chunks.Meta{MinTime: s.times[start], MaxTime: s.times[end-1], Chunk: chunk})
	}
	return out
}

// withoutStarts is a series without its start times.
type withoutStarts struct{ promstorage.Series }

// Iterator hides AtST.
func (s withoutStarts) Iterator(it chunkenc.Iterator) chunkenc.Iterator {
	if hidden, ok := it.(noStartIterator); ok {
		it = hidden.Iterator
	}
	return noStartIterator{s.Series.Iterator(it)}
}

type noStartIterator struct{ chunkenc.Iterator }

// AtST is 0, no start time.
func (noStartIterator) AtST() int64 { return 0 }
