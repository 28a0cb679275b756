package adapter

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"runtime"
	"sync"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/adapter/rangeql"
)

// readPart is how many series one goroutine encodes at a time.
const readPart = 128

// addColumns appends the result of the next query, of series that hold floats only. An error, rangeql.ErrHandOver among them, leaves
// the answer as it was.
func (e *sampleEncoder) addColumns(ctx context.Context, c rangeql.Columns) error {
	e.result = e.result[:0]
	parts := &readParts{columns: c, into: e}
	parts.turn.L = &parts.mu
	workers := min(runtime.GOMAXPROCS(0), (c.Len()+readPart-1)/readPart)
	if workers <= 1 {
		if err := parts.work(ctx); err != nil {
			return err
		}
		return e.endResult()
	}
	group, ctx := errgroup.WithContext(ctx)
	for range workers {
		group.Go(func() error { return parts.work(ctx) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return e.endResult()
}

// readParts gives out series in parts and puts their encoded results together in order.
type readParts struct {
	columns rangeql.Columns
	into    *sampleEncoder

	mu      sync.Mutex
	turn    sync.Cond
	next    int // series that is given out next
	done    int // series whose results are in
	samples int
	failed  bool
}

func (p *readParts) work(ctx context.Context) error {
	var result []byte
	for {
		from, to, ok := p.take()
		if !ok {
			return nil
		}
		result = result[:0]
		samples := 0
		err := p.columns.Read(ctx, from, to, func(i int, times []int64, values []float64) error {
			samples += len(times)
			result = appendSeries(result, p.columns.Labels(i), times, values)
			return nil
		})
		if err := p.commit(from, to, result, samples, err); err != nil {
			return err
		}
	}
}

func (p *readParts) take() (from, to int, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed || p.next == p.columns.Len() {
		return 0, 0, false
	}
	from, to = p.next, min(p.next+readPart, p.columns.Len())
	p.next = to
	return from, to, true
}

// commit appends the result of a part after those before it.
func (p *readParts) commit(from, to int, result []byte, samples int, err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.turn.Broadcast()
	for err == nil && !p.failed && p.done != from {
		p.turn.Wait()
	}
	if err == nil && p.into.limit > 0 && p.samples+samples > p.into.limit {
		err = tooManySamples(p.into.limit)
	}
	if err != nil || p.failed {
		p.failed = true
		return err
	}
	p.into.result = append(p.into.result, result...)
	p.samples += samples
	p.done = to
	return nil
}

// appendSeries appends a prometheus.TimeSeries of floats as one of a result.
func appendSeries(b []byte, ls labels.Labels, times []int64, values []float64) []byte {
	size := 0
	ls.Range(func(l labels.Label) {
		n := stringSize(l.Name) + stringSize(l.Value)
		size += 1 + uvarintSize(uint64(n)) + n
	})
	for _, t := range times {
		size += 2 + sampleSize(t)
	}
	b = appendTag(b, resultTimeseries, wireBytes)
	b = appendSeriesLabels(binary.AppendUvarint(b, uint64(size)), ls)
	for i, t := range times {
		const tag = seriesFloats<<3 | wireBytes
		b = append(b, tag, byte(sampleSize(t)), sampleValue<<3|wireFixed64)
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(values[i]))
		b = binary.AppendUvarint(append(b, sampleTimestamp<<3|wireVarint), uint64(t))
	}
	return b
}

// sampleSize is the length of a prometheus.Sample, below 128.
func sampleSize(t int64) int { return 9 + 1 + uvarintSize(uint64(t)) }

// columnsOf finds the series of a query as columns; nil says that the reader has to go sample by sample.
func (h *readHandler) columnsOf(ctx context.Context, query *prompb.Query, matchers []*labels.Matcher) (rangeql.Columns, error) {
	source, ok := h.Queryable.(rangeql.Source)
	s := selection{span: timeSpan{query.StartTimestampMs, query.EndTimestampMs}}.withHints(readHints(query.Hints))
	if !ok || s.labelsOnly || s.limit > 0 {
		return nil, nil
	}
	c, err := source.Columns(ctx, rangeql.Selector{Matchers: matchers, Start: s.span.start, End: s.span.end})
	if errors.Is(err, rangeql.ErrHandOver) {
		return nil, nil
	}
	return c, err
}
