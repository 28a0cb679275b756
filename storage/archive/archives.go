// Package archive keeps the coarse archives of Graphite's series: values of longer steps, as whisper files
// have them, in a table of their own. What made the values, and how far back each step reaches, is in the
// document of a series; this package never knows it.
package archive

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/columns"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// Options are what Archives need.
type Options struct {
	DB     *kv.Engine
	Table  string // shared tables may lack it: then there are no archives
	Layout schema.Layout
	Series *index.Index
	// Beside calls put while no deletion of the rows begins; see write.Writer.Beside.
	Beside func(ctx context.Context, rows []write.SeriesRow, put func() error) error
	// Ready returns an error while the tables cannot be used yet.
	Ready func() error
	// Unreadable, if set, is told why a cell that a query meets cannot be read.
	Unreadable func(err error)
}

// Archives are those of a table. They are safe for concurrent use.
type Archives struct {
	o Options
	// What is put is joined with what is there: puts of one series must not be at once, and no
	// deletion may be between reading and putting.
	deleting sync.RWMutex
	putting  [64]sync.Mutex // by series
}

// New returns the archives of a table.
func New(o Options) *Archives { return &Archives{o: o} }

// unreadable returns the error of a row, and tells of it.
func (a *Archives) unreadable(why error) error {
	if a.o.Unreadable != nil {
		a.o.Unreadable(why)
	}
	return storage.RowError{Err: why}
}

// checkSlots returns what is wrong with slots, an ErrInvalid.
func checkSlots(s *storage.ArchiveSlots) error {
	if s.Step == 0 || len(s.Times) != len(s.Values) {
		return fmt.Errorf("%w: an archive of %d s with %d slots of %d values", storage.ErrInvalid, s.Step, len(s.Times), len(s.Values))
	}
	before := int64(-1)
	for i, t := range s.Times {
		if t <= before || t > math.MaxUint32 || t%int64(s.Step) != 0 || math.IsNaN(s.Values[i]) {
			return fmt.Errorf("%w: archive of %d s: value %v at %d", storage.ErrInvalid, s.Step, s.Values[i], t)
		}
		before = t
	}
	return nil
}

// rowsAtOnce is how many rows are read, or written, together.
const rowsAtOnce = 256

// Put stores the values of some steps of one series durably. A value replaces the one of its slot; other slots
// stay. What was written to the document of the series before is durable with it, also without a value. After an
// error some may be stored; putting all again is safe.
func (a *Archives) Put(ctx context.Context, ref storage.Ref, all []storage.ArchiveSlots) error {
	if err := a.o.Ready(); err != nil {
		return err
	}
	if err := ref.Check(a.o.Series.Len()); err != nil {
		return err
	}
	p := putter{archives: a, tsuid: []byte(a.o.Series.TSUID(index.IDOf(ref)))}
	var reach []write.SeriesRow
	for i := range all {
		if err := checkSlots(&all[i]); err != nil {
			return err
		}
		if n := len(all[i].Times); n > 0 {
			for _, t := range []int64{all[i].Times[0], all[i].Times[n-1]} {
				reach = append(reach, write.SeriesRow{ID: index.IDOf(ref), Base: uint32(t - t%schema.RowSeconds)})
			}
		}
	}
	if len(reach) == 0 {
		return a.o.DB.Flush(ctx)
	}
	one := &a.putting[uint64(ref)%uint64(len(a.putting))]
	one.Lock()
	defer one.Unlock()
	err := a.o.Beside(ctx, reach, func() error {
		a.deleting.RLock() // within Beside: a deletion that keeps others out of it deletes here too
		defer a.deleting.RUnlock()
		for i := range all {
			if err := p.slots(ctx, &all[i]); err != nil {
				return err
			}
		}
		return a.o.DB.Flush(ctx)
	})
	if errors.Is(err, kv.ErrNoTable) {
		return fmt.Errorf("%w: table %s is missing: create the tables with \"tsdbridge tables create\"", storage.ErrNotReady, a.o.Table)
	}
	if err != nil {
		return fmt.Errorf("put archives: %w", err)
	}
	return nil
}

// A putter puts slots of one series.
type putter struct {
	archives *Archives
	tsuid    []byte
	encoder  columns.Encoder
	decoder  columns.Decoder
	joined   storage.ArchiveSlots
}

// slots puts slots of one step.
func (p *putter) slots(ctx context.Context, s *storage.ArchiveSlots) error {
	var keys [][]byte
	var ends []int // of the slots of each row
	for n := 0; n < len(s.Times); {
		base := columns.ArchiveBase(uint32(s.Times[n]), s.Step)
		end := int64(base) + int64(s.Step)*columns.ArchiveSlots
		for n < len(s.Times) && s.Times[n] < end {
			n++
		}
		keys, ends = append(keys, p.archives.o.Layout.AppendRowKey(nil, p.tsuid, base)), append(ends, n)
	}
	begin := 0
	for len(keys) > 0 {
		n := min(len(keys), rowsAtOnce)
		if err := p.rows(ctx, s, begin, keys[:n], ends[:n]); err != nil {
			return err
		}
		begin, keys, ends = ends[n-1], keys[n:], ends[n:]
	}
	return nil
}

// rows puts some rows. begin is the first of their slots.
func (p *putter) rows(ctx context.Context, s *storage.ArchiveSlots, begin int, keys [][]byte, ends []int) error {
	o := &p.archives.o
	rows, err := o.DB.Get(ctx, o.Table, schema.FamilyData, keys)
	if err != nil {
		return err
	}
	qualifier := columns.ArchiveQualifier(s.Step)
	list := make([]kv.Mutation, len(keys))
	for i, key := range keys {
		some := storage.ArchiveSlots{Step: s.Step, Times: s.Times[begin:ends[i]], Values: s.Values[begin:ends[i]]}
		begin = ends[i]
		base := columns.ArchiveBase(uint32(some.Times[0]), s.Step)
		if cell := cellOf(rows[i], qualifier); cell != nil {
			if some, err = p.join(some, cell, base); err != nil {
				return err
			}
		}
		value := p.encoder.AppendArchive(nil, some.Times, some.Values, base, s.Step)
		list[i] = kv.Mutation{Key: key, Puts: []kv.Put{{Qualifier: qualifier, Value: value}}}
	}
	return o.DB.Put(ctx, o.Table, schema.FamilyData, list)
}

func cellOf(row kv.Row, qualifier []byte) []byte {
	for _, c := range row.Cells {
		if string(c.Qualifier) == string(qualifier) {
			return c.Value
		}
	}
	return nil
}

// join returns new slots and those of a cell that are not among them. They are valid until the next call.
func (p *putter) join(some storage.ArchiveSlots, cell []byte, base uint32) (storage.ArchiveSlots, error) {
	times, values, err := p.decoder.AppendArchive(nil, nil, cell, base, some.Step)
	if err != nil {
		return some, err
	}
	to := &p.joined
	to.Step, to.Times, to.Values = some.Step, to.Times[:0], to.Values[:0]
	for n := 0; n < len(times) || len(some.Times) > 0; {
		switch {
		case n < len(times) && (len(some.Times) == 0 || times[n] < some.Times[0]):
			to.Times, to.Values = append(to.Times, times[n]), append(to.Values, values[n])
			n++
		default:
			if n < len(times) && times[n] == some.Times[0] {
				n++
			}
			to.Times, to.Values = append(to.Times, some.Times[0]), append(to.Values, some.Values[0])
			some.Times, some.Values = some.Times[1:], some.Values[1:]
		}
	}
	return *to, nil
}
