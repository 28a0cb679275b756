package read

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/http"

	"github.com/klauspost/compress/s2"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/histogramcodec"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/prometheus/wire"
	"github.com/tsdbridge/tsdbridge/storage"
)

// Field numbers of prometheus.ReadResponse and what is in it (prompb/remote.proto,
// prompb/types.proto).
const (
	responseResults    = 1
	resultTimeseries   = 1
	seriesLabels       = 1
	seriesFloats       = 2
	seriesHistograms   = 4
	sampleValue        = 1
	sampleTimestamp    = 2
	histogramTimestamp = 15
)

// maxSnappyBlock is the largest block that every client can decode: lengths are 32 bits, and some
// clients treat them as signed.
const maxSnappyBlock = 1<<31 - 1

// sampleEncoder writes the results of queries as a prometheus.ReadResponse. It replaces
// remote.ToQueryResult and remote.EncodeReadResponse. Their generated code leaves out a value of
// -0, which is then read as 0, and holds the answer three times.
type sampleEncoder struct {
	limit    int // samples of all queries; 0: none
	samples  int // so far
	account  *query.Account
	response []byte
	packed   []byte // the response, compressed
	result   []byte // of the query under way
	series   []byte // under way
	datum    []byte // under way
	iterator chunkenc.Iterator
	ints     histogram.Histogram
	floats   histogram.FloatHistogram
}

// add appends the result of the next query.
func (e *sampleEncoder) add(ctx context.Context, set promstorage.SeriesSet) error {
	e.result = e.result[:0]
	for set.Next() {
		n, err := e.addSeries(set.At(), e.limit-e.samples)
		if err != nil {
			return err
		}
		e.samples += n
		if err := e.take(ctx, len(e.series)); err != nil {
			return err
		}
	}
	if err := set.Err(); err != nil {
		return err
	}
	return e.endResult()
}

// take takes the memory for n more bytes. They are first in the result and then also in the
// response, and both grow by doubling.
func (e *sampleEncoder) take(ctx context.Context, n int) error {
	const copies = 3
	if err := e.account.Take(int64(n) * copies); err != nil {
		return httpapi.QueryError(ctx, "encode", err)
	}
	return nil
}

// endResult appends the result of a query to the response.
func (e *sampleEncoder) endResult() error {
	if len(e.response)+len(e.result) > maxSnappyBlock {
		e.result = e.result[:0]
		return fmt.Errorf("%w: the answer takes more than %d bytes: ask for a stream, or for less", storage.ErrLimit, maxSnappyBlock)
	}
	e.response = appendMessage(e.response, responseResults, e.result)
	e.result = e.result[:0]
	return nil
}

// addSeries appends a series of at most room samples, if there is a limit, and returns their
// number.
func (e *sampleEncoder) addSeries(s promstorage.Series, room int) (int, error) {
	e.series = e.series[:0]
	e.series = appendSeriesLabels(e.series, s.Labels())
	n := 0
	e.iterator = s.Iterator(e.iterator)
	for kind := e.iterator.Next(); kind != chunkenc.ValNone; kind = e.iterator.Next() {
		if n++; e.limit > 0 && n > room {
			return 0, tooManySamples(e.limit)
		}
		if kind == chunkenc.ValFloat {
			e.addFloat()
		} else {
			e.addHistogram(kind)
		}
	}
	if err := e.iterator.Err(); err != nil {
		return 0, err
	}
	e.result = appendMessage(e.result, resultTimeseries, e.series)
	return n, nil
}

func tooManySamples(limit int) error {
	return httpapi.WithStatus(http.StatusBadRequest, fmt.Errorf("exceeded sample limit (%d)", limit))
}

// appendSeriesLabels appends the labels of a prometheus.TimeSeries.
func appendSeriesLabels(b []byte, ls labels.Labels) []byte {
	ls.Range(func(l labels.Label) {
		b = wire.AppendTag(b, seriesLabels, wire.Bytes)
		b = binary.AppendUvarint(b, uint64(wire.StringSize(l.Name)+wire.StringSize(l.Value)))
		b = wire.AppendString(b, histogramcodec.LabelName, l.Name)
		b = wire.AppendString(b, histogramcodec.LabelValue, l.Value)
	})
	return b
}

func (e *sampleEncoder) addFloat() {
	t, v := e.iterator.At()
	b := wire.AppendTag(e.series, seriesFloats, wire.Bytes)
	const valueSize, tagSize = 9, 1
	b = binary.AppendUvarint(b, uint64(valueSize+tagSize+wire.UvarintSize(uint64(t))))
	b = wire.AppendDoubleAlways(b, sampleValue, v)
	e.series = wire.AppendUint(b, sampleTimestamp, uint64(t))
}

func (e *sampleEncoder) addHistogram(kind chunkenc.ValueType) {
	if kind == chunkenc.ValHistogram {
		_, h := e.iterator.AtHistogram(&e.ints)
		e.datum = append(e.datum[:0], histogramcodec.EncodeHistogram(h)...)
	} else {
		_, fh := e.iterator.AtFloatHistogram(&e.floats)
		e.datum = append(e.datum[:0], histogramcodec.EncodeFloatHistogram(fh)...)
	}
	e.datum = wire.AppendUint(e.datum, histogramTimestamp, uint64(e.iterator.AtT()))
	e.series = appendMessage(e.series, seriesHistograms, e.datum)
}

// compressed returns the whole answer as a snappy block, until the next reset.
func (e *sampleEncoder) compressed() []byte {
	e.packed = s2.EncodeSnappy(e.packed[:cap(e.packed)], e.response)
	return e.packed
}

// maxKeptAnswer bounds the memory that an encoder keeps for the next answer, in bytes.
const maxKeptAnswer = 4 << 20

// reset prepares the encoder for another answer. It reports false if the encoder has grown too
// large to be kept.
func (e *sampleEncoder) reset() bool {
	e.response, e.result = e.response[:0], e.result[:0]
	e.samples, e.account = 0, nil
	e.iterator = nil // it holds the last series
	return cap(e.response)+cap(e.result)+cap(e.packed)+cap(e.series)+cap(e.datum) <= maxKeptAnswer
}

// appendMessage appends a message within a message.
func appendMessage(b []byte, field int, message []byte) []byte {
	b = binary.AppendUvarint(wire.AppendTag(b, field, wire.Bytes), uint64(len(message)))
	return append(b, message...)
}
