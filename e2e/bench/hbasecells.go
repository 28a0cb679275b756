package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/filter"
	"github.com/tsuna/gohbase/hrpc"

	"github.com/tsdbridge/tsdbridge/internal/testkit/load"
)

// contents are the cells of a data table and the points in them, read without the servers.
type contents struct{ cells, points int }

// contents scans the keys of a data table and counts the hours of a shape.
func (h *hadoop) contents(ctx context.Context, table string, shape load.Shape) (c contents, err error) {
	err = h.scan(ctx, table, filter.NewKeyOnlyFilter(false), func(row *hrpc.Result) {
		// A row key is a UID of the metric, of 3 bytes, the second of the hour, and tags.
		if hour := time.Unix(int64(binary.BigEndian.Uint32(row.Cells[0].Row[3:])), 0); hour.Add(time.Hour).Before(shape.Start()) || hour.After(shape.End) {
			return
		}
		for _, cell := range row.Cells {
			c.cells++
			c.points += pointsOf(cell.Qualifier)
		}
	})
	return c, err
}

// scan calls each with all rows of a table.
func (h *hadoop) scan(ctx context.Context, table string, f filter.Filter, each func(*hrpc.Result)) error {
	client := gohbase.NewClient(h.ZooKeeper(), gohbase.Logger(slog.New(slog.DiscardHandler)))
	defer client.Close()
	scan, err := hrpc.NewScan(ctx, []byte(table), hrpc.Filters(f), hrpc.NumberOfRows(5000))
	if err != nil {
		return err
	}
	rows := client.Scan(scan)
	defer rows.Close()
	for {
		row, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("scan %s: %w", table, err)
		}
		each(row)
	}
}

// pointsOf counts the points of a cell by its qualifier: one offset for each, of two bytes
// (seconds) or of four (milliseconds), which begin with four bits that are set. Odd lengths are
// annotations and objects.
func pointsOf(qualifier []byte) (n int) {
	if len(qualifier)%2 == 1 {
		return 0
	}
	for len(qualifier) > 0 {
		size := 2
		if qualifier[0]&0xf0 == 0xf0 {
			size = 4
		}
		qualifier = qualifier[min(size, len(qualifier)):]
		n++
	}
	return n
}
