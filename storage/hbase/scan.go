package hbase

import (
	"bytes"
	"context"
	"iter"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// Scan implements kv.KV. It reads one answer ahead of its consumer.
func (e *Engine) Scan(ctx context.Context, s kv.Scan) iter.Seq2[kv.Row, error] {
	return func(yield func(kv.Row, error) bool) {
		sc, err := e.newScanner(s)
		if err == nil && sc != nil {
			err = e.readAhead(ctx, sc, func(row viewedRow) bool {
				return yield(kv.Row{Key: bytes.Clone(row.key), Cells: copyCells(row.cells)}, nil)
			})
		}
		if err != nil {
			yield(kv.Row{}, e.explain(ctx, opScan, s.Table, err, e.o.ScanTimeout))
		}
	}
}

// ScanStored implements kv.Versioned. It shows rows in the memory of HBase's answers.
func (e *Engine) ScanStored(ctx context.Context, s kv.Scan, visit func(key []byte, cells []kv.StoredCell) error) error {
	sc, err := e.newScanner(s)
	if err != nil || sc == nil {
		return err
	}
	var refused error
	var cells []kv.StoredCell
	err = e.readAhead(ctx, sc, func(row viewedRow) bool {
		cells = appendStored(cells[:0], row.cells)
		refused = visit(row.key, cells)
		return refused == nil
	})
	switch {
	case refused != nil:
		return refused
	case err != nil:
		return e.explain(ctx, opScan, s.Table, err, e.o.ScanTimeout)
	}
	return nil
}

// readAhead passes the rows on until there are no more, or enough, or the caller stops. When it has
// returned, it uses nothing of the scan that belongs to the caller.
func (e *Engine) readAhead(ctx context.Context, sc *scanner, yield func(viewedRow) bool) error {
	reading, stop := context.WithCancel(ctx)
	pages := make(chan []viewedRow)
	var failed error // read when pages is closed
	go func() {
		defer close(pages)
		failed = sc.readAll(reading, pages)
	}()
	defer func() {
		stop()
		for range pages { // until it is closed
		}
		if sc.open {
			e.background.Go(func() { sc.close(ctx) })
		}
	}()
	limit := sc.scan.Limit
	for rows := range pages {
		for _, row := range rows {
			if !yield(row) {
				return nil
			}
			if limit--; limit == 0 {
				return nil
			}
		}
	}
	return failed
}

// readAll sends pages until there are no more or ctx ends.
func (s *scanner) readAll(ctx context.Context, pages chan<- []viewedRow) error {
	for {
		rows, err := s.next(ctx)
		if err != nil || len(rows) == 0 {
			return err
		}
		select {
		case pages <- rows:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
