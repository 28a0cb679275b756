package rollup

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// Options are what Rollups need.
type Options struct {
	DB     *kv.Engine
	Layout schema.Layout
	Config *Config
	Series *index.Index
	// Beside calls put while no deletion of the rows begins; see write.Writer.Beside.
	Beside func(ctx context.Context, rows []write.SeriesRow, put func() error) error
	// Ready returns an error while the tables cannot be used yet.
	Ready func() error
	// Unreadable, if set, is told why a cell that a query meets cannot be read.
	Unreadable func(err error)
}

// Rollups are the values of some rollup tables. They are safe for concurrent use.
type Rollups struct{ o Options }

// New returns the rollups of a configuration.
func New(o Options) *Rollups { return &Rollups{o} }

// unreadable returns the error of a row, and tells of it.
func (r *Rollups) unreadable(why error) error {
	if r.o.Unreadable != nil {
		r.o.Unreadable(why)
	}
	return storage.RowError{Err: why}
}

// Config returns the configuration.
func (r *Rollups) Config() *Config { return r.o.Config }

// A Point is a value to put.
type Point struct {
	Series storage.Ref
	Time   uint32 // in the interval, seconds
	Value  schema.Point
	// Interval is that of the value. The default one is for points of a group of series as they
	// came, which no aggregation made of several instants.
	Interval    *Interval
	Aggregation string // in lower case; "" with the default interval
	// Group means that the value is one of a group of series.
	Group bool
}

// Check returns what is wrong with a point, an ErrInvalid.
func (r *Rollups) Check(p *Point) error {
	if err := p.Interval.Separable(p.Group); err != nil {
		return err
	}
	if p.Interval.Default {
		if !p.Group {
			return fmt.Errorf("%w: the interval %s stands for the points themselves: put them", storage.ErrInvalid, p.Interval.Name)
		}
		return nil
	}
	if _, ok := r.o.Config.IDs[p.Aggregation]; !ok {
		return fmt.Errorf("%w: No ID found mapping to aggregator: %s", storage.ErrInvalid, p.Aggregation) // a TSD's words
	}
	if n := p.number(); n >= schema.MaxRollupIntervals {
		return fmt.Errorf("%w: interval %d of its row; there are at most %d", storage.ErrInvalid, n, schema.MaxRollupIntervals)
	}
	return nil
}

// Separable returns an ErrInvalid if the values of series, or of groups, cannot be told from others of their table.
func (i *Interval) Separable(group bool) error {
	if !group || !i.Inline || i.Default {
		return nil
	}
	return fmt.Errorf("%w: values of groups of the interval %s belong into %s, where they cannot be told from the points: give it another preAggregationTable",
		storage.ErrInvalid, i.Name, i.PreAggregated)
}

// base returns the base time of the point's row, in seconds.
func (p *Point) base() uint32 { return p.Interval.RowStart(p.Time) }

// number returns which interval of its row the point is of.
func (p *Point) number() int { return int(p.Time-p.base()) / p.Interval.Seconds }

// TableOf returns the table of values.
func (i *Interval) TableOf(group bool) string {
	if group {
		return i.PreAggregated
	}
	return i.Table
}

// Put stores values that passed Check, and returns when they are durable. A value replaces the one of
// the same series, interval and aggregation. After an error any of them may have been stored; putting
// all of them again is safe.
func (r *Rollups) Put(ctx context.Context, points []Point) error {
	if err := r.o.Ready(); err != nil {
		return err
	}
	tables := map[string]map[string]*rowCells{}
	rows := make([]write.SeriesRow, len(points))
	for i := range points {
		p := &points[i]
		if err := p.Series.Check(r.o.Series.Len()); err != nil {
			return err
		}
		rows[i] = write.SeriesRow{ID: index.IDOf(p.Series), Base: p.Time - p.Time%schema.RowSeconds}
		table := p.Interval.TableOf(p.Group)
		if tables[table] == nil {
			tables[table] = map[string]*rowCells{}
		}
		key := string(r.o.Layout.AppendRowKey(nil, []byte(r.o.Series.TSUID(index.IDOf(p.Series))), p.base()))
		if tables[table][key] == nil {
			tables[table][key] = &rowCells{cells: map[string]schema.Point{}}
		}
		r.add(tables[table][key], p)
	}
	return r.o.Beside(ctx, rows, func() error {
		for table, rows := range tables {
			if err := r.o.DB.Apply(ctx, table, schema.FamilyData, r.mutations(rows)); err != nil {
				return fmt.Errorf("put into the rollup table %s: %w", table, err)
			}
		}
		return nil
	})
}

// A rowCells is the cells to put into one row, by their qualifiers with flags of 0.
type rowCells struct{ cells map[string]schema.Point }

func (r *Rollups) add(to *rowCells, p *Point) {
	qualifier := schema.RollupQualifier(r.o.Config.IDs[p.Aggregation], p.number(), 0)
	if p.Interval.Default { // the qualifier of a point
		qualifier = schema.Point{Offset: (p.Time - p.base()) * 1000}.AppendQualifier(nil)
	}
	to.cells[string(qualifier)] = p.Value
}

// mutations returns what puts rows. A value has the flags of its type in its qualifier, so that one of
// another type would stay beside it. On an engine of one process it is deleted; on shared tables the
// stamps tell which one is newer, and two processes that deleted the other's value would lose both.
func (r *Rollups) mutations(rows map[string]*rowCells) []kv.Mutation {
	list := make([]kv.Mutation, 0, len(rows))
	for key, row := range rows {
		m := kv.Mutation{Key: []byte(key)}
		for qualifier, v := range row.cells {
			m.Puts = append(m.Puts, kv.Put{Qualifier: withFlags(qualifier, v.Flags), Value: v.AppendValue(nil)})
			if r.o.DB.Local == nil {
				continue
			}
			for _, flags := range schema.ValueFlags() {
				if flags != v.Flags {
					m.Deletes = append(m.Deletes, kv.Delete{Qualifier: withFlags(qualifier, flags)})
				}
			}
		}
		slices.SortFunc(m.Puts, func(a, b kv.Put) int { return bytes.Compare(a.Qualifier, b.Qualifier) })
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b kv.Mutation) int { return cmp.Compare(string(a.Key), string(b.Key)) })
	return list
}

func withFlags(qualifier string, flags byte) []byte {
	q := []byte(qualifier)
	q[len(q)-1] |= flags
	return q
}
