package read

import (
	"context"
	"encoding/binary"
	"errors"
	"iter"
	"math"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/columns"
	"github.com/tsdbridge/tsdbridge/prometheus/wire"
)

// addColumns appends the result of the next query, whose series hold only floats. An error,
// including columns.ErrHandOver, leaves the answer unchanged.
func (e *sampleEncoder) addColumns(ctx context.Context, c columns.Set) error {
	e.result = e.result[:0]
	before := e.samples
	if err := c.Read(ctx, 0, func() columns.Worker { return &columnEncoder{encoder: e, columns: c} }); err != nil {
		e.samples = before
		return err
	}
	return e.endResult()
}

// columnEncoder encodes parts of the series.
type columnEncoder struct {
	encoder *sampleEncoder
	columns columns.Set
	piece   []byte // of the part under way
	samples int    // in it
}

// Take implements columns.Worker.
func (w *columnEncoder) Take(ctx context.Context, part iter.Seq2[int, columns.Column]) error {
	w.piece, w.samples = w.piece[:0], 0
	for i, c := range part {
		if len(c.Histograms) > 0 {
			return columns.ErrHandOver
		}
		if err := w.encoder.take(ctx, len(c.Times)*pieceSample); err != nil {
			return err
		}
		w.samples += len(c.Times)
		w.piece = appendSeries(w.piece, w.columns.Labels(i), c.Times, c.Values)
	}
	return nil
}

// Commit implements columns.Worker.
func (w *columnEncoder) Commit(context.Context) error {
	e := w.encoder
	if e.samples += w.samples; e.limit > 0 && e.samples > e.limit {
		return tooManySamples(e.limit)
	}
	e.result = append(e.result, w.piece...)
	return nil
}

// pieceSample is about how many bytes a sample takes in an answer.
const pieceSample = 22

// appendSeries appends a prometheus.TimeSeries of floats to a result.
func appendSeries(b []byte, ls labels.Labels, times []int64, values []float64) []byte {
	size := 0
	ls.Range(func(l labels.Label) {
		n := wire.StringSize(l.Name) + wire.StringSize(l.Value)
		size += 1 + wire.UvarintSize(uint64(n)) + n
	})
	for _, t := range times {
		size += 2 + sampleSize(t)
	}
	b = wire.AppendTag(b, resultTimeseries, wire.Bytes)
	b = appendSeriesLabels(binary.AppendUvarint(b, uint64(size)), ls)
	for i, t := range times {
		const tag = seriesFloats<<3 | wire.Bytes
		b = append(b, tag, byte(sampleSize(t)), sampleValue<<3|wire.Fixed64)
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(values[i]))
		b = binary.AppendUvarint(append(b, sampleTimestamp<<3|wire.Varint), uint64(t))
	}
	return b
}

// sampleSize returns the length of a prometheus.Sample, below 128.
func sampleSize(t int64) int { return 9 + 1 + wire.UvarintSize(uint64(t)) }

// columnsOf finds the series of a query as columns. It returns nil if the samples must be read one
// by one.
func (h *Handler) columnsOf(ctx context.Context, q *prompb.Query, matchers []*labels.Matcher) (columns.Set, error) {
	c, err := h.Queryable.HintedColumns(ctx, q.StartTimestampMs, q.EndTimestampMs, readHints(q.Hints), matchers)
	if errors.Is(err, columns.ErrHandOver) {
		return nil, nil
	}
	if err == nil {
		query.TurnOf(ctx).Expect(query.Work(c.Len(), (q.EndTimestampMs-q.StartTimestampMs)/60_000)) // Reading yields.
	}
	return c, err
}
