package read

import (
	"fmt"

	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunks"

	"github.com/tsdbridge/tsdbridge/storage"
)

// frameLimitedSet ends with an error at a series whose chunks do not fit into one frame.
type frameLimitedSet struct {
	promstorage.ChunkSeriesSet
	limit int
}

// At returns the current series with a limit on its chunks.
func (s *frameLimitedSet) At() promstorage.ChunkSeries {
	return frameLimitedSeries{s.ChunkSeriesSet.At(), s.limit}
}

type frameLimitedSeries struct {
	promstorage.ChunkSeries
	limit int
}

// Iterator measures all chunks before it returns the first, so that no part of a series that is too
// long is sent.
func (s frameLimitedSeries) Iterator(it chunks.Iterator) chunks.Iterator {
	all, err := promstorage.ExpandChunks(s.ChunkSeries.Iterator(it))
	if err != nil {
		return failedChunks{err}
	}
	size := 0
	for _, c := range all {
		size += len(c.Chunk.Bytes())
	}
	if size > s.limit {
		return failedChunks{fmt.Errorf("%w: series %s takes %d bytes of a streamed answer, more than %d: ask for a shorter range or for samples",
			storage.ErrLimit, s.Labels(), size, s.limit)}
	}
	return promstorage.NewListChunkSeriesIterator(all...)
}

// failedChunks is an iterator that has only an error.
type failedChunks struct{ err error }

func (failedChunks) At() chunks.Meta { return chunks.Meta{} }

func (failedChunks) Next() bool { return false }

func (f failedChunks) Err() error { return f.err }
