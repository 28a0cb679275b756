package kv

import (
	"context"
	"iter"

	"github.com/tsdbridge/tsdbridge/internal/tracing"
)

// The spans of calls to engines, and what they tell.
const (
	getSpan  = "get rows"
	scanSpan = "scan rows"

	tableKey = "table"
	askedKey = "rows.asked" // by key
	foundKey = "rows.found"
)

// Get implements KV, in a span.
func (e *Engine) Get(ctx context.Context, table, family string, keys [][]byte) ([]Row, error) {
	ctx, span := tracing.Start(ctx, getSpan)
	rows, err := e.KV.Get(ctx, table, family, keys)
	span.Text(tableKey, table)
	span.Number(askedKey, int64(len(keys)))
	span.End(err)
	return rows, err
}

// Scan implements KV, in a span.
func (e *Engine) Scan(ctx context.Context, s Scan) iter.Seq2[Row, error] {
	ctx, span := tracing.Start(ctx, scanSpan)
	if !span.On() {
		return e.KV.Scan(ctx, s)
	}
	return e.tracedScan(ctx, span, s)
}

// tracedScan ends the span with the sequence. It is apart, since what a closure holds takes memory.
func (e *Engine) tracedScan(ctx context.Context, span tracing.Span, s Scan) iter.Seq2[Row, error] {
	span.Text(tableKey, s.Table)
	return func(yield func(Row, error) bool) {
		var failed error
		var found int64
		for row, err := range e.KV.Scan(ctx, s) {
			if failed = err; err == nil {
				found++
			}
			if !yield(row, err) {
				break
			}
		}
		span.Number(foundKey, found)
		span.End(failed)
	}
}

// tracedViewer makes a span of each call, none of a row.
type tracedViewer struct{ RowViewer }

// GetStored implements RowViewer.
func (v tracedViewer) GetStored(
	ctx context.Context, table, family string, keys [][]byte, near bool, visit func(i int, cells []StoredCell) error,
) error {
	ctx, span := tracing.Start(ctx, getSpan)
	span.Text(tableKey, table)
	span.Number(askedKey, int64(len(keys)))
	err := v.RowViewer.GetStored(ctx, table, family, keys, near, visit)
	span.End(err)
	return err
}

// ScanStored implements RowViewer.
func (v tracedViewer) ScanStored(ctx context.Context, s Scan, visit func(key []byte, cells []StoredCell) error) error {
	ctx, span := tracing.Start(ctx, scanSpan)
	if !span.On() {
		return v.RowViewer.ScanStored(ctx, s, visit)
	}
	return v.tracedScan(ctx, span, s, visit)
}

func (v tracedViewer) tracedScan(ctx context.Context, span tracing.Span, s Scan, visit func(key []byte, cells []StoredCell) error) error {
	span.Text(tableKey, s.Table)
	var found int64
	err := v.RowViewer.ScanStored(ctx, s, func(key []byte, cells []StoredCell) error {
		found++
		return visit(key, cells)
	})
	span.Number(foundKey, found)
	span.End(err)
	return err
}
