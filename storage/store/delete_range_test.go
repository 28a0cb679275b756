package store_test

import (
	"context"
	"fmt"
	"iter"
	"math"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// counting is an engine that counts how rows of points are deleted.
type counting struct {
	kv.Local
	rows, ranges int
	afterScan    func() // nil: nothing; called once after a scan for keys alone
}

func (c *counting) ApplyUnlogged(ctx context.Context, table, family string, rows []kv.Mutation) error {
	for _, m := range rows {
		if m.DeleteRow && table == "tsdb" {
			c.rows++
		}
	}
	return c.Local.ApplyUnlogged(ctx, table, family, rows)
}

func (c *counting) DeleteRange(ctx context.Context, table string, ranges ...kv.KeyRange) (int, error) {
	c.ranges += len(ranges)
	return c.Local.DeleteRange(ctx, table, ranges...)
}

func (c *counting) Scan(ctx context.Context, s kv.Scan) iter.Seq2[kv.Row, error] {
	return func(yield func(kv.Row, error) bool) {
		for row, err := range c.Local.Scan(ctx, s) {
			if !yield(row, err) {
				return
			}
		}
		if after := c.afterScan; after != nil && s.KeysOnly && s.Table == "tsdb" {
			c.afterScan = nil
			after()
		}
	}
}

// TestDeleteWholeMetric: the rows of a metric go as ranges when the deletion names all of its
// series, and no others do. Rows of other series stay: of those that the deletion does not name,
// that the index does not know, and that are registered while the rows are looked for.
func TestDeleteWholeMetric(t *testing.T) {
	const hours, series = 50, 4
	for _, salt := range []int{0, 1} {
		for _, c := range []struct {
			name   string
			spare  int // series of the metric that are not deleted
			edges  bool
			row    bool // a row of a series that the index does not know
			meets  bool // a series is registered meanwhile
			ranges bool
		}{
			{name: "all", ranges: true},
			{name: "all but the edges", edges: true, ranges: true},
			{name: "some", spare: 1},
			{name: "unknown row", row: true},
			{name: "new series", meets: true},
		} {
			for engine, open := range map[string]func() kv.Local{
				"memory": func() kv.Local { return kv.NewMem(storetest.Tables()...) },
				"pebble": func() kv.Local { return openPebble(t) },
			} {
				t.Run(fmt.Sprint(c.name, ", salt ", salt, ", ", engine), func(t *testing.T) {
					db := &counting{Local: open()}
					p := storetest.StartBuffered(t, db, logtest.New(1), func(o *store.Options) {
						o.Layout, o.Buffer.FlushDelay, o.Buffer.CheckInterval = layoutOf(salt), 0, 1<<60
					})
					var list []storage.Series
					for n := range series {
						list = append(list, storetest.Series("m", "host", fmt.Sprint(n)))
					}
					list = append(list, storetest.Series("l", "host", "0"), storetest.Series("n", "host", "0"))
					m := storetest.NewModel(len(list) + 1)
					write := func(s storage.Series, n int) {
						var b storage.Batch
						for h := range int64(hours) {
							for _, at := range []int64{60_000, 1800_000} {
								b.Add(p.Resolve([]storage.Series{s})[0], deleteBegin+h*3600_000+at, float64(h))
								m.Put(n, deleteBegin+h*3600_000+at, storetest.Sample{Bits: math.Float64bits(float64(h))})
							}
						}
						if err := p.Append(t.Context(), &b); err != nil {
							t.Fatal(err)
						}
						if err := p.FlushAll(t.Context()); err != nil {
							t.Fatal(err)
						}
					}
					for n, s := range list {
						write(s, n)
					}
					var unknown []byte
					if c.row {
						layout := layoutOf(salt)
						unknown = layout.AppendRowKey(nil, []byte{0, 0, 1, 0, 0, 1, 0, 9, 9}, schema.Base(deleteBegin+20*3600_000))
						put := kv.Mutation{Key: unknown, Puts: []kv.Put{{Qualifier: []byte{0, 0}, Value: []byte{1}}}}
						if err := db.Apply(t.Context(), "tsdb", "t", []kv.Mutation{put}); err != nil {
							t.Fatal(err)
						}
					}
					late := storetest.Series("m", "host", "new")
					if c.meets {
						db.afterScan = func() {
							var b storage.Batch
							b.Add(p.Resolve([]storage.Series{late})[0], deleteBegin+20*3600_000, 7)
							m.Put(len(list), deleteBegin+20*3600_000, storetest.Sample{Bits: math.Float64bits(7)})
							if err := p.Append(t.Context(), &b); err != nil {
								t.Error(err)
							}
							if err := p.FlushDue(t.Context()); err != nil {
								t.Error(err)
							}
						}
					}
					d := storage.Deletion{Refs: p.Resolve(list)[:series-c.spare], Start: deleteBegin, End: deleteBegin + hours*3600_000 - 1}
					if c.edges {
						d.Start, d.End = d.Start+120_000, d.End-1800_000
					}
					deleted, err := p.Delete(t.Context(), d)
					if err != nil {
						t.Fatal(err)
					}
					if want := (series - c.spare) * hours; deleted.Rows != want {
						t.Errorf("%d rows deleted, want %d", deleted.Rows, want)
					}
					for n := range d.Refs {
						m.Delete(n, d.Start, d.End)
					}
					if diff := m.Diff(storetest.Read(t, p.Store, p.Resolve(append(list, late)))); diff != "" {
						t.Errorf("-want +got:\n%s", diff)
					}
					// The unknown row is in one salt bucket: ranges of the others are deleted as such.
					if (db.ranges > 0) != c.ranges && (!c.row || salt == 0) || (db.rows > 0) == c.ranges {
						t.Errorf("deleted as %d ranges and %d rows", db.ranges, db.rows)
					}
					if c.row {
						if rows, err := db.Get(t.Context(), "tsdb", "t", [][]byte{unknown}); err != nil || len(rows[0].Cells) != 1 {
							t.Errorf("the row of an unknown series: %v, %v", rows, err)
						}
					}
				})
			}
		}
	}
}
