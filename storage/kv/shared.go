package kv

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
)

// Shared is memory with the stamps, versions and deletions of HBase: the tables that several stores
// of a test write to, as several adapters and TSDs write to one HBase. Its clock (SetClock) is the
// server's.
type Shared struct {
	*tables
	past map[*memFamily]map[string]*past // guarded by mu, as all of tables
}

// past is everything that was done to a row and has not been dropped, in the order that NewHistory
// wants.
type past struct {
	versions []Cell
	deletes  []Tombstone
}

var (
	_ KV        = (*Shared)(nil)
	_ Versioned = (*Shared)(nil)
)

// NewShared returns empty tables.
func NewShared(list ...Table) *Shared {
	s := &Shared{tables: newTables(list), past: make(map[*memFamily]map[string]*past)}
	for _, f := range s.families {
		s.past[f] = make(map[string]*past)
	}
	s.write = s.stamp
	return s
}

// GetStored implements Versioned.
func (s *Shared) GetStored(
	ctx context.Context, table, family string, keys [][]byte, near bool, visit func(i int, cells []StoredCell) error,
) error {
	return CellViewer{s}.GetStored(ctx, table, family, keys, near, visit)
}

// ScanStored implements Versioned.
func (s *Shared) ScanStored(ctx context.Context, scan Scan, visit func(key []byte, cells []StoredCell) error) error {
	return CellViewer{s}.ScanStored(ctx, scan, visit)
}

// History implements Versioned.
func (s *Shared) History(ctx context.Context, table, family string, keys [][]byte) ([]History, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	f, err := s.family(ctx, table, family)
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	all := make([]History, len(keys))
	for i, key := range keys {
		all[i] = s.past[f][string(key)].history(bytes.Clone(key))
	}
	return all, nil
}

// Supported implements Versioned.
func (s *Shared) Supported(context.Context, string, string) error { return nil }

// ApplyUnchanged implements Versioned.
func (s *Shared) ApplyUnchanged(ctx context.Context, table, family string, rows []Conditional) ([]bool, error) {
	if err := CheckConditionals(rows); err != nil {
		return nil, fmt.Errorf("apply to %s: %w", table, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := s.family(ctx, table, family)
	if err != nil {
		return nil, fmt.Errorf("apply: %w", err)
	}
	made := make([]bool, len(rows))
	for i := range rows {
		if made[i] = rows[i].unchanged(f.rows[string(rows[i].Key)]); made[i] {
			s.write(f, []Mutation{rows[i].Mutation})
		}
	}
	return made, nil
}

// DeleteExact deletes the version of a cell that has exactly this time, which Apply cannot do but
// other clients of HBase can; with a nil qualifier, it deletes those versions of all cells of the
// row.
func (s *Shared) DeleteExact(table, family string, key, qualifier []byte, time int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := s.family(context.Background(), table, family)
	if err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	f.apply([]Mutation{{Key: key}}, func([]Cell, *Mutation) []Cell {
		p := s.row(f, string(key))
		p.delete(Tombstone{Qualifier: bytes.Clone(qualifier), Time: time, Exact: true})
		return p.history(nil).Cells
	})
	return nil
}

// Flush drops the hidden versions of all tables and keeps the deletions, as HBase does when it
// writes its memory to files.
func (s *Shared) Flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for f, rows := range s.past {
		for key, p := range rows {
			p.versions = cloneCells(f.rows[key])
		}
	}
}

// Compact drops the hidden versions and the deletions of all tables, as major compactions do.
func (s *Shared) Compact() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for f, rows := range s.past {
		clear(rows)
		for key, cells := range f.rows {
			rows[key] = &past{versions: cloneCells(cells)}
		}
	}
}

// stamp applies mutations as HBase does. After a deletion by the clock the clock advances by a
// millisecond, which the engine on HBase waits for.
func (s *Shared) stamp(f *memFamily, rows []Mutation) {
	now := s.now()
	f.apply(rows, func(_ []Cell, m *Mutation) []Cell {
		p := s.row(f, string(m.Key))
		if p.change(m, now) {
			s.last = now + 1
		}
		return p.history(nil).Cells
	})
}

// row returns the past of a row, beginning it if there is none.
func (s *Shared) row(f *memFamily, key string) *past {
	p := s.past[f][key]
	if p == nil {
		p = new(past)
		s.past[f][key] = p
	}
	return p
}

// change adds a mutation and reports whether it deleted by the clock.
func (p *past) change(m *Mutation, now int64) (byClock bool) {
	for _, put := range m.Puts {
		p.put(Cell{Qualifier: bytes.Clone(put.Qualifier), Value: bytes.Clone(put.Value), Time: cmp.Or(put.Time, now)})
	}
	for _, d := range m.Deletes {
		p.delete(Tombstone{Qualifier: append([]byte{}, d.Qualifier...), Time: cmp.Or(d.Time, now)})
		byClock = byClock || d.Time == 0
	}
	if m.DeleteRow {
		p.delete(Tombstone{Time: cmp.Or(m.RowTime, now)})
		byClock = m.RowTime == 0
	}
	return byClock
}

// put adds a version, in place of one with the same time.
func (p *past) put(c Cell) {
	at, same := slices.BinarySearchFunc(p.versions, c, func(a, b Cell) int {
		return cmp.Or(bytes.Compare(a.Qualifier, b.Qualifier), cmp.Compare(b.Time, a.Time))
	})
	if same {
		p.versions[at] = c
	} else {
		p.versions = slices.Insert(p.versions, at, c)
	}
}

func (p *past) delete(t Tombstone) {
	at, same := slices.BinarySearchFunc(p.deletes, t, compareTombstones)
	if !same {
		p.deletes = slices.Insert(p.deletes, at, t)
	}
}

func compareTombstones(a, b Tombstone) int {
	// nil is before the empty qualifier, which bytes.Compare treats as equal
	order := func(t Tombstone) int {
		if t.Qualifier == nil {
			return 0
		}
		return 1
	}
	kind := func(t Tombstone) int {
		if t.Exact {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(order(a), order(b)), bytes.Compare(a.Qualifier, b.Qualifier), cmp.Compare(b.Time, a.Time), cmp.Compare(kind(a), kind(b)))
}

// history returns the row's history, in memory of its own.
func (p *past) history(key []byte) History {
	if p == nil {
		return History{Row: Row{Key: key}}
	}
	deletes := slices.Clone(p.deletes)
	for i := range deletes {
		deletes[i].Qualifier = slices.Clone(deletes[i].Qualifier) // nil stays nil
	}
	return NewHistory(key, cloneCells(p.versions), deletes)
}
