package kv

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"
)

// tables are tables in plain memory, for Mem and Shared. They copy what they are given and what
// they give.
type tables struct {
	mu       sync.RWMutex // guards all below
	families map[memName]*memFamily
	clock    func() int64
	last     int64 // greatest Time given so far
	// write carries out mutations whose keys differ; the caller holds mu for writing.
	write func(f *memFamily, rows []Mutation)
}

type memName struct{ table, family string }

// memFamily is one family of a table. keys are those of rows, in ascending order.
type memFamily struct {
	rows map[string][]Cell
	keys []string
}

func newTables(list []Table) *tables {
	m := &tables{
		families: make(map[memName]*memFamily),
		clock:    func() int64 { return time.Now().UnixMilli() },
	}
	m.write = m.overwrite
	for _, t := range list {
		for _, f := range t.Families {
			m.families[memName{t.Name, f}] = &memFamily{rows: make(map[string][]Cell)}
		}
	}
	return m
}

// SetClock replaces the wall clock (milliseconds since 1970). A clock that goes back is held at its
// latest.
func (m *tables) SetClock(clock func() int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clock = clock
}

func (m *tables) family(ctx context.Context, table, family string) (*memFamily, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, ok := m.families[memName{table, family}]
	if !ok {
		return nil, fmt.Errorf("%w: %s:%s", ErrNoTable, table, family)
	}
	return f, nil
}

// now returns the Time of a write; the caller holds mu for writing.
func (m *tables) now() int64 {
	m.last = max(m.last, m.clock())
	return m.last
}

// Get implements KV.
func (m *tables) Get(ctx context.Context, table, family string, keys [][]byte) ([]Row, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	f, err := m.family(ctx, table, family)
	if err != nil {
		return nil, fmt.Errorf("get: %w", err)
	}
	rows := make([]Row, len(keys))
	for i, key := range keys {
		rows[i] = Row{Key: bytes.Clone(key), Cells: cloneCells(f.rows[string(key)])}
	}
	return rows, nil
}

// memPage is the number of keys that a scan looks at under one hold of the lock.
const memPage = 256

// Scan implements KV. Rows written while the scan runs may or may not be in it.
func (m *tables) Scan(ctx context.Context, s Scan) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		start, left := string(s.Start), s.Limit
		for {
			rows, next, err := m.page(ctx, s, start)
			if err != nil {
				yield(Row{}, fmt.Errorf("scan: %w", err))
				return
			}
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
				if left--; left == 0 {
					return
				}
			}
			if next == "" {
				return
			}
			start = next
		}
	}
}

// page returns the rows of the scan among the next keys from start on, and where to continue; "" is
// the end.
func (m *tables) page(ctx context.Context, s Scan, start string) (rows []Row, next string, err error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	f, err := m.family(ctx, s.Table, s.Family)
	if err != nil {
		return nil, "", err
	}
	at, _ := slices.BinarySearch(f.keys, start)
	for i, key := range f.keys[at:] {
		if len(s.Stop) > 0 && key >= string(s.Stop) {
			return rows, "", nil
		}
		if i == memPage {
			return rows, key, nil
		}
		if s.RowsRead != nil {
			s.RowsRead.Add(1)
		}
		if s.Match != nil && !s.Match.Matches([]byte(key)) {
			continue
		}
		if cells := s.wanted(f.rows[key]); len(cells) > 0 {
			rows = append(rows, Row{Key: []byte(key), Cells: cloneCells(cells)})
		}
	}
	return rows, "", nil
}

// wanted returns the cells that the scan asks for.
func (s *Scan) wanted(cells []Cell) []Cell {
	if len(s.Qualifier) == 0 && s.Since <= 0 {
		return cells
	}
	var wanted []Cell
	for _, c := range cells {
		if c.Time >= s.Since && (len(s.Qualifier) == 0 || bytes.Equal(c.Qualifier, s.Qualifier)) {
			wanted = append(wanted, c)
		}
	}
	return wanted
}

// Apply implements KV.
func (m *tables) Apply(ctx context.Context, table, family string, rows []Mutation) error {
	if err := CheckMutations(rows); err != nil {
		return fmt.Errorf("apply to %s: %w", table, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	f, err := m.family(ctx, table, family)
	if err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	m.write(f, rows)
	return nil
}

// overwrite puts and deletes now.
func (m *tables) overwrite(f *memFamily, rows []Mutation) {
	now := m.now()
	f.apply(rows, func(before []Cell, row *Mutation) []Cell { return changed(before, row, now) })
}

func (m *tables) put(f *memFamily, c Column, value []byte) {
	m.write(f, []Mutation{{Key: c.Row, Puts: []Put{{Qualifier: c.Qualifier, Value: value}}}})
}

// Increment implements KV.
func (m *tables) Increment(ctx context.Context, c Column, delta int64) (int64, error) {
	if err := CheckKey(c.Row); err != nil {
		return 0, fmt.Errorf("increment in %s: %w", c.Table, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	f, err := m.family(ctx, c.Table, c.Family)
	if err != nil {
		return 0, fmt.Errorf("increment: %w", err)
	}
	var sum int64
	if value, ok := f.value(c); ok {
		if len(value) != 8 {
			return 0, fmt.Errorf("increment %s %x: %w: counter of %d bytes", c.Table, c.Row, ErrInvalid, len(value))
		}
		sum = int64(binary.BigEndian.Uint64(value))
	}
	sum += delta
	m.put(f, c, binary.BigEndian.AppendUint64(nil, uint64(sum)))
	return sum, nil
}

// CheckAndPut implements KV.
func (m *tables) CheckAndPut(ctx context.Context, c Column, expected, value []byte) (bool, error) {
	if err := CheckKey(c.Row); err != nil {
		return false, fmt.Errorf("check and put in %s: %w", c.Table, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	f, err := m.family(ctx, c.Table, c.Family)
	if err != nil {
		return false, fmt.Errorf("check and put: %w", err)
	}
	held, ok := f.value(c)
	if ok != (expected != nil) || !bytes.Equal(held, expected) {
		return false, nil
	}
	m.put(f, c, value)
	return true, nil
}

func (f *memFamily) value(c Column) ([]byte, bool) {
	cells := f.rows[string(c.Row)]
	if at, ok := findCell(cells, c.Qualifier); ok {
		return cells[at].Value, true
	}
	return nil, false
}

// apply changes the rows and then the list of keys, once for all of them. change returns the cells
// of a row after a mutation.
func (f *memFamily) apply(rows []Mutation, change func(before []Cell, m *Mutation) []Cell) {
	var added []string
	gone := false
	for i := range rows {
		key := string(rows[i].Key)
		before, existed := f.rows[key]
		switch after := change(before, &rows[i]); {
		case len(after) > 0:
			f.rows[key] = after
			if !existed {
				added = append(added, key)
			}
		case existed:
			delete(f.rows, key)
			gone = true
		}
	}
	if gone {
		f.keys = slices.DeleteFunc(f.keys, func(key string) bool { return f.rows[key] == nil })
	}
	f.keys = insertSorted(f.keys, added)
}

// changed returns the cells of a row after a mutation; it may reuse cells.
func changed(cells []Cell, m *Mutation, now int64) []Cell {
	if m.DeleteRow {
		return nil
	}
	for _, d := range m.Deletes {
		if at, ok := findCell(cells, d.Qualifier); ok {
			cells = slices.Delete(cells, at, at+1)
		}
	}
	for _, p := range m.Puts {
		cell := Cell{Qualifier: bytes.Clone(p.Qualifier), Value: bytes.Clone(p.Value), Time: cmp.Or(p.Time, now)}
		if at, ok := findCell(cells, p.Qualifier); ok {
			cells[at] = cell
		} else {
			cells = slices.Insert(cells, at, cell)
		}
	}
	return cells
}

func findCell(cells []Cell, qualifier []byte) (int, bool) {
	return slices.BinarySearchFunc(cells, qualifier, func(c Cell, q []byte) int { return bytes.Compare(c.Qualifier, q) })
}

// insertSorted adds keys that are not there yet: each stretch of the old keys moves once, from the
// back.
func insertSorted(keys, added []string) []string {
	slices.Sort(added)
	end := len(keys)
	keys = append(keys, added...)
	for i, a := range slices.Backward(added) {
		at, _ := slices.BinarySearch(keys[:end], a)
		copy(keys[at+i+1:], keys[at:end])
		keys[at+i] = a
		end = at
	}
	return keys
}

func cloneCells(cells []Cell) []Cell {
	if len(cells) == 0 {
		return nil
	}
	out := make([]Cell, len(cells))
	for i, c := range cells {
		out[i] = Cell{Qualifier: bytes.Clone(c.Qualifier), Value: bytes.Clone(c.Value), Time: c.Time}
	}
	return out
}
