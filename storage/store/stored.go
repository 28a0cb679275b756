package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/row"
)

// DeleteEmpty deletes series of which nothing is stored but their names: no points, annotations, rolled
// up values or slots of archives. If anything is stored of one of them it deletes none and returns an
// ErrNotEmpty. A point that is acknowledged while DeleteEmpty runs stays, with its series. When it
// returns without an error, the deletion is durable.
func (s *Store) DeleteEmpty(ctx context.Context, refs []storage.Ref) (storage.Deleted, error) {
	known, ids := s.index.Len(), make([]index.ID, len(refs))
	for i, ref := range refs {
		if err := ref.Check(known); err != nil {
			return storage.Deleted{}, err
		}
		ids[i] = index.IDOf(ref)
	}
	stored, err := s.stored(ctx, ids, true) // before any append has to wait
	if err != nil {
		return storage.Deleted{}, err
	}
	for id := range stored {
		return storage.Deleted{}, fmt.Errorf("%w: %X", storage.ErrNotEmpty, s.index.TSUID(id))
	}
	return s.writer.DeleteEmpty(ctx, ids)
}

// stored returns those of some series of which anything is stored but their names; one of them if that
// suffices.
func (s *parts) stored(ctx context.Context, ids []index.ID, one bool) (map[index.ID]bool, error) {
	if err := errors.Join(s.ready(), s.writer.Replayed()); err != nil {
		return nil, err
	}
	found := map[index.ID]bool{}
	left := s.mayHaveRows(ids)
	err := s.findPoints(ctx, left, one, found)
	for _, table := range s.rolledTables() {
		if left = slices.DeleteFunc(left, func(id index.ID) bool { return found[id] }); err != nil || len(left) == 0 || one && len(found) > 0 {
			break
		}
		err = s.findRows(ctx, table, left, found)
	}
	return found, err
}

// mayHaveRows returns those of some series that may have rows in the tables or in the head, each once.
func (s *parts) mayHaveRows(ids []index.ID) []index.ID {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	if s.days == nil {
		return ids
	}
	return slices.DeleteFunc(ids, func(id index.ID) bool {
		_, _, ok := s.days.Hours(id)
		return !ok
	})
}

// rolledTables are the tables of what was made of points.
func (s *parts) rolledTables() (tables []string) {
	if s.archives != nil {
		tables = append(tables, s.o.ArchiveTable)
	}
	if s.o.Rollups == nil {
		return tables
	}
	for i := range s.o.Rollups.Intervals {
		for _, group := range []bool{false, true} {
			if interval := &s.o.Rollups.Intervals[i]; interval.Keeps(group) {
				tables = append(tables, interval.TableOf(group))
			}
		}
	}
	slices.Sort(tables)
	return slices.Compact(tables)
}

// findRows adds the series that have rows in a table.
func (s *parts) findRows(ctx context.Context, table string, ids []index.ID, found map[index.ID]bool) error {
	tsuids := s.index.TSUIDBytes(nil, ids)
	has, err := row.SeriesWithRows(ctx, s.db, s.layout, table, tsuids)
	if err != nil && !errors.Is(err, kv.ErrNoTable) {
		return fmt.Errorf("look for rows of series in %s: %w", table, err)
	}
	for i, tsuid := range tsuids {
		if has[string(tsuid)] {
			found[ids[i]] = true
		}
	}
	return nil
}

// errFound ends a look that one series suffices for.
var errFound = errors.New("found")

// findPoints adds the series that have points, objects or annotations.
func (s *parts) findPoints(ctx context.Context, ids []index.ID, one bool, found map[index.ID]bool) error {
	if len(ids) == 0 {
		return nil
	}
	q := storage.Query{End: storage.MaxTime, Samples: true, Exemplars: true, Histograms: true, Annotations: true}
	for _, id := range ids {
		q.Refs = append(q.Refs, index.RefOf(id))
	}
	finder := func() storage.PartWorker { return &pointFinder{found: found, one: one} }
	if err := s.SelectParts(ctx, q, finder); err != nil && !errors.Is(err, errFound) {
		return err
	}
	return nil
}

// pointFinder adds the series of parts that have anything.
type pointFinder struct {
	found map[index.ID]bool
	one   bool // suffices
	part  []index.ID
}

func (f *pointFinder) Take(_ context.Context, p storage.Part) error {
	f.part = f.part[:0]
	for i := range p.Points {
		if p.Points[i].Len()+len(p.Points[i].Annotations) > 0 {
			f.part = append(f.part, index.IDOf(p.Points[i].Ref))
		}
	}
	return nil
}

func (f *pointFinder) Commit(context.Context) error {
	for _, id := range f.part {
		f.found[id] = true
	}
	if f.one && len(f.part) > 0 {
		return errFound
	}
	return nil
}
