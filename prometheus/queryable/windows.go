package queryable

import (
	"context"
	"errors"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/columns"
	"github.com/tsdbridge/tsdbridge/storage"
)

// Windows are what a store keeps of intervals of series beside their points.
type Windows interface {
	// WindowLength returns the length of those that would answer a question, in milliseconds; 0: they are no help.
	WindowLength(q *storage.WindowQuery) int64
	// Windows returns storage.ErrNoWindows where points must be read.
	Windows(ctx context.Context, q *storage.WindowQuery) ([][]storage.Window, error)
}

// UseWindows has the Store read windows where a selector can do with them.
func (p *Store) UseWindows(w Windows) { p.windows = w }

// windowsAtOnce is how many windows are held, about; seriesAtOnce, of how many series at most.
const (
	windowsAtOnce = 1 << 17
	seriesAtOnce  = 4096
)

// windowed returns the question for windows, and how many series it may be asked about at once; 0: points must be read.
func (c *foundColumns) windowed() (q storage.WindowQuery, atOnce int) {
	if c.windows == nil || !c.summaries || c.asked != c.span {
		return q, 0
	}
	q = storage.WindowQuery{Start: c.asked.start - 1, End: c.asked.end, Every: c.every}
	length := c.windows.WindowLength(&q)
	if length == 0 {
		return q, 0
	}
	return q, int(max(1, min(seriesAtOnce, windowsAtOnce*length/(q.End-q.Start))))
}

// readWindows reads windows of some series at a time, and points of those that have none.
func (c *foundColumns) readWindows(ctx context.Context, q storage.WindowQuery, atOnce, most int, worker func() columns.Worker) error {
	w := worker()
	for from := 0; from < len(c.sets); from += atOnce {
		to := min(from+atOnce, len(c.sets))
		some := q
		some.Refs = make([]storage.Ref, 0, to-from)
		for _, set := range c.sets[from:to] {
			some.Refs = append(some.Refs, set.ref)
		}
		account := query.AccountOf(ctx)
		held := account.Held()
		windows, err := c.windows.Windows(ctx, &some)
		taken := account.Held() - held
		switch {
		case errors.Is(err, storage.ErrNoWindows):
			err = c.readPoints(ctx, from, to, most, worker)
		case err != nil:
			err = handOverLimit(httpapi.QueryError(ctx, "read the rollup tables", err))
		default:
			err = c.handWindows(ctx, w, from, windows, &some, most)
		}
		account.Give(taken)
		if err != nil {
			return err
		}
	}
	return nil
}

// handWindows hands the windows of series to a worker, in parts.
func (c *foundColumns) handWindows(ctx context.Context, w columns.Worker, from int, windows [][]storage.Window, q *storage.WindowQuery, most int) error {
	if most <= 0 {
		most = len(windows)
	}
	var list []columns.Summary
	for len(windows) > 0 {
		part := windows[:min(most, len(windows))]
		err := w.Take(ctx, func(yield func(int, columns.Column) bool) {
			for i, of := range part {
				if list = appendSummaries(list[:0], of, q); len(list) > 0 && !yield(from+i, columns.Column{Summaries: list}) {
					return
				}
			}
		})
		if err == nil {
			err = w.Commit(ctx)
		}
		if err != nil {
			return err
		}
		for _, of := range part {
			query.From(ctx).Read(len(of))
			if c.hold(len(of)) != nil {
				return columns.ErrHandOver
			}
		}
		from, windows = from+len(part), windows[len(part):]
	}
	return nil
}

// appendSummaries joins windows, which are ascending, to those that are needed.
func appendSummaries(list []columns.Summary, windows []storage.Window, q *storage.WindowQuery) []columns.Summary {
	var all storage.Window
	for i := range windows {
		w := &windows[i]
		begin, end := q.Start, q.End
		if q.Every > 0 {
			begin = int64(w.Begin) * 1000
			begin -= begin % q.Every
			end = begin + q.Every
		}
		if n := len(list); n == 0 || list[n-1].Start != begin {
			list = append(list, columns.Summary{Start: begin, End: end})
			all = storage.Window{}
		}
		all.Join(&w.WindowValues)
		s := &list[len(list)-1]
		s.Count, s.Min, s.Max, s.Sum = int64(all.Count), all.Min, all.Max, all.Sum
	}
	return list
}
