package rollup

import (
	"cmp"
	"context"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

// Windows returns the windows of each series that the table has between two times (seconds; to is no longer one),
// ascending. Only intervals that package fill has filled have any.
func (r *Rollups) Windows(ctx context.Context, i *Interval, tsuids [][]byte, from, to uint32) ([][]storage.Window, error) {
	if err := r.o.Ready(); err != nil {
		return nil, err
	}
	if len(tsuids) == 0 || from >= to {
		return make([][]storage.Window, len(tsuids)), nil
	}
	windows := make([][]storage.Window, len(tsuids))
	w := newReader(r, Query{Interval: i, TSUIDs: tsuids, From: from, To: to - 1})
	w.cell = func(series int, base int64, c kv.Cell) error {
		if !own.IsWindow(c.Qualifier) {
			return nil
		}
		n, _ := schema.RollupInterval(c.Qualifier)
		begin := base/1000 + int64(n)*int64(i.Seconds)
		if begin < int64(from) || begin >= int64(to) {
			return nil
		}
		window, err := own.ParseWindow(c.Value)
		windows[series] = append(windows[series], storage.Window{Begin: uint32(begin), WindowValues: window})
		w.count++
		return err
	}
	if err := w.read(ctx); err != nil {
		return nil, err
	}
	for _, of := range windows {
		slices.SortFunc(of, func(a, b storage.Window) int { return cmp.Compare(a.Begin, b.Begin) })
	}
	return windows, nil
}
