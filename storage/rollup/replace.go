package rollup

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

// Contents are what the table of an interval is to hold of one series in a time.
type Contents struct {
	TSUID    string
	From, To uint32   // seconds, of whole intervals; To is no longer in it
	Values   []Filled // ascending by Begin
}

// A Filled is the values of one interval, by the order of a Replacement's Aggregations. Those without
// Present are not there.
type Filled struct {
	Begin   uint32 // seconds
	Values  [MaxAggregations]schema.Point
	Present [MaxAggregations]bool
	// Window counts if the Replacement has Windows; one without samples is not there.
	Window storage.WindowValues
}

// MaxAggregations is the greatest number of aggregations of a Replacement.
const MaxAggregations = 4

// A Replacement makes tables hold some contents.
type Replacement struct {
	Interval     *Interval
	Aggregations []string // in lower case; all of them are configured
	// Windows means that the windows of the intervals are replaced too.
	Windows bool
	// Erase deletes the values of intervals that Contents has none for, too.
	Erase    bool
	Contents []Contents
}

// Replaced counts the cells that a Replacement changed.
type Replaced struct{ Put, Deleted int }

// rowsAtOnce is how many rows are compared and changed together.
const rowsAtOnce = 256

// Replace makes the table hold the contents, and writes only what differs. Values of other aggregations stay. It must
// not be called for one table by several processes at once. On a local engine what it wrote is durable with the
// next write that is; after an error it may be repeated.
func (r *Rollups) Replace(ctx context.Context, by *Replacement) (done Replaced, err error) {
	c := &replacer{rollups: r, by: by}
	for _, name := range by.Aggregations {
		c.ids = append(c.ids, r.o.Config.IDs[name])
	}
	for i := range by.Contents {
		if err := c.contents(ctx, &by.Contents[i]); err != nil {
			return c.done, err
		}
	}
	return c.done, c.apply(ctx)
}

// A replacer compares rows with what they are to hold.
type replacer struct {
	rollups *Rollups
	by      *Replacement
	ids     []byte
	keys    [][]byte
	wanted  []wantedRow // by the keys
	done    Replaced
}

// A wantedRow is what a row is to hold between two times.
type wantedRow struct {
	base, from, to uint32
	values         []Filled
}

// contents adds the rows of a series.
func (c *replacer) contents(ctx context.Context, one *Contents) error {
	values := one.Values
	for from := one.From; from < one.To; {
		if len(values) == 0 && !c.by.Erase {
			return nil
		}
		if !c.by.Erase {
			from = max(from, values[0].Begin)
		}
		base := c.by.Interval.RowStart(from)
		end := min(one.To, c.by.Interval.NextRow(base))
		n := 0
		for n < len(values) && values[n].Begin < end {
			n++
		}
		c.keys = append(c.keys, c.rollups.o.Layout.AppendRowKey(nil, []byte(one.TSUID), base))
		c.wanted = append(c.wanted, wantedRow{base: base, from: from, to: end, values: values[:n]})
		values, from = values[n:], end
		if len(c.keys) == rowsAtOnce {
			if err := c.apply(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// apply compares the rows that were added with the table, and changes it.
func (c *replacer) apply(ctx context.Context) error {
	if len(c.keys) == 0 {
		return nil
	}
	db, table := c.rollups.o.DB, c.by.Interval.Table
	rows, err := db.Get(ctx, table, schema.FamilyData, c.keys)
	if err != nil {
		return fmt.Errorf("read the rollup table %s: %w", table, err)
	}
	var list []kv.Mutation
	for i := range rows {
		m := kv.Mutation{Key: c.keys[i]}
		c.compare(&m, &c.wanted[i], rows[i].Cells)
		if len(m.Puts)+len(m.Deletes) > 0 {
			list = append(list, m)
		}
	}
	c.keys, c.wanted = c.keys[:0], c.wanted[:0]
	if len(list) == 0 {
		return nil
	}
	if err := db.Put(ctx, table, schema.FamilyData, list); err != nil {
		return fmt.Errorf("put into the rollup table %s: %w", table, err)
	}
	for i := range list {
		c.done.Put += len(list[i].Puts)
		c.done.Deleted += len(list[i].Deletes)
	}
	return nil
}

// compare adds to a mutation what makes a row with some cells hold what is wanted.
func (c *replacer) compare(m *kv.Mutation, want *wantedRow, cells []kv.Cell) {
	for i := range want.values {
		v := &want.values[i]
		for n, id := range c.ids {
			if v.Present[n] {
				q := schema.RollupQualifier(id, int(v.Begin-want.base)/c.by.Interval.Seconds, v.Values[n].Flags)
				m.Puts = append(m.Puts, kv.Put{Qualifier: q, Value: v.Values[n].AppendValue(nil)})
			}
		}
		if c.by.Windows && !v.Window.IsEmpty() {
			q := schema.RollupQualifier(own.WindowAggregation, int(v.Begin-want.base)/c.by.Interval.Seconds, 0)
			m.Puts = append(m.Puts, kv.Put{Qualifier: q, Value: own.AppendWindow(nil, &v.Window)})
		}
	}
	slices.SortFunc(m.Puts, func(a, b kv.Put) int { return bytes.Compare(a.Qualifier, b.Qualifier) })
	for i := range cells {
		cell := &cells[i]
		n, ok := schema.RollupInterval(cell.Qualifier)
		begin := want.base + uint32(n*c.by.Interval.Seconds)
		if !ok || begin < want.from || begin >= want.to || !c.ours(cell.Qualifier) {
			continue
		}
		at, found := slices.BinarySearchFunc(m.Puts, cell.Qualifier, func(p kv.Put, q []byte) int { return bytes.Compare(p.Qualifier, q) })
		switch {
		case found && bytes.Equal(m.Puts[at].Value, cell.Value):
			m.Puts = slices.Delete(m.Puts, at, at+1)
		case found:
		case c.by.Erase || slices.ContainsFunc(want.values, func(v Filled) bool { return v.Begin == begin }):
			m.Deletes = append(m.Deletes, kv.Delete{Qualifier: cell.Qualifier, Time: cell.Time})
		}
	}
}

// ours reports whether a cell is one of the replacement's aggregations.
func (c *replacer) ours(qualifier []byte) bool {
	if c.by.Windows && own.IsWindow(qualifier) {
		return true
	}
	for n, name := range c.by.Aggregations {
		if schema.IsRollupOf(qualifier, c.ids[n], name) {
			return true
		}
	}
	return false
}
