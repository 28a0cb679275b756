package queryable

import (
	"context"

	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"

	"github.com/tsdbridge/tsdbridge/budget"
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

// ChunkParts are the series of a selection. Parts of them can be read one at a time or several at
// once.
type ChunkParts struct {
	chunkQuerier
	span timeSpan
	sets []labelSet
}

// ChunkParts finds series, sorted by labels. It reports false if the hints ask for labels alone, so
// that there are no samples to read.
func (p *Store) ChunkParts(ctx context.Context, mint, maxt int64, hints *promstorage.SelectHints, matchers []*labels.Matcher) (ChunkParts, bool, error) {
	q := p.querier(mint, maxt)
	s := selection{span: q.span, matchers: matchers, sorted: true}.withHints(hints)
	if s.labelsOnly {
		return ChunkParts{}, false, nil
	}
	sets, err := q.find(ctx, s)
	return ChunkParts{chunkQuerier{q}, s.span, sets}, true, err
}

// Len returns the number of series.
func (c ChunkParts) Len() int { return len(c.sets) }

// A ChunkPart is a part that has been read into memory.
type ChunkPart struct {
	Set     chunkSet
	Samples int
	End     func() // gives the memory back
}

// Read reads the series from (included) to (excluded).
func (c ChunkParts) Read(ctx context.Context, from, to int) (ChunkPart, error) {
	g, err := c.readGroup(ctx, c.sets[from:to], c.span, readOptions{})
	end := func() { budget.From(ctx).Give(g.bytes) }
	return ChunkPart{chunkSet{&seriesSet{group: g.series}}, g.samples, end}, err
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
