package kv

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
)

// Mem is a local engine in plain memory: the engine of tests, and the one whose answers the others
// are held to. It copies what it is given and what it gives.
type Mem struct {
	*tables
	logMu  sync.Mutex // guards the two below
	logEnd LogEnd
	logs   LogState
}

var _ Local = (*Mem)(nil)

// NewMem returns empty tables.
func NewMem(list ...Table) *Mem {
	first := Generation{1, rand.Uint64()}
	return &Mem{tables: newTables(list), logs: LogState{Store: rand.Uint64() | 1, Generation: first}}
}

// GetStored implements Local.
func (m *Mem) GetStored(
	ctx context.Context, table, family string, keys [][]byte, near bool, visit func(i int, cells []StoredCell) error,
) error {
	return CellViewer{m}.GetStored(ctx, table, family, keys, near, visit)
}

// ScanStored implements Local.
func (m *Mem) ScanStored(ctx context.Context, s Scan, visit func(key []byte, cells []StoredCell) error) error {
	return CellViewer{m}.ScanStored(ctx, s, visit)
}

// ApplyUnlogged implements Local.
func (m *Mem) ApplyUnlogged(ctx context.Context, table, family string, rows []Mutation) error {
	return m.Apply(ctx, table, family, rows)
}

// DiskBytes implements Local.
func (m *Mem) DiskBytes() uint64 { return 0 }

// Compact implements Local. Deleted rows take no space.
func (m *Mem) Compact(ctx context.Context, table string) error {
	for name := range m.families {
		if name.table == table {
			return ctx.Err()
		}
	}
	return fmt.Errorf("compact %s: %w", table, ErrNoTable)
}

// Flush implements Local.
func (m *Mem) Flush(ctx context.Context) error { return ctx.Err() }

// DeleteRange implements Local.
func (m *Mem) DeleteRange(ctx context.Context, table string, ranges ...KeyRange) (held int, err error) {
	for _, r := range ranges {
		if err := r.Check(); err != nil {
			return 0, fmt.Errorf("delete ranges of %s: %w", table, err)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	found := false
	for name, f := range m.families {
		if name.table != table {
			continue
		}
		found = true
		for _, r := range ranges {
			if f.deleteRange(r) {
				held++
			}
		}
	}
	if !found {
		return 0, fmt.Errorf("delete ranges: %w: %s", ErrNoTable, table)
	}
	return held, nil
}

// deleteRange deletes the rows of a range and reports whether there were any.
func (f *memFamily) deleteRange(r KeyRange) bool {
	from, _ := slices.BinarySearch(f.keys, string(r.From))
	to, _ := slices.BinarySearch(f.keys, string(r.To))
	for _, key := range f.keys[from:to] {
		delete(f.rows, key)
	}
	f.keys = slices.Delete(f.keys, from, to)
	return from < to
}

// Split implements Local.
func (m *tables) Split(ctx context.Context, s Scan, n int) ([]Scan, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	f, err := m.family(ctx, s.Table, s.Family)
	if err != nil {
		return nil, fmt.Errorf("split: %w", err)
	}
	from, _ := slices.BinarySearch(f.keys, string(s.Start))
	to := len(f.keys)
	if len(s.Stop) > 0 {
		to, _ = slices.BinarySearch(f.keys, string(s.Stop))
	}
	var cuts [][]byte
	if keys := f.keys[from:max(from, to)]; len(keys) > 1 {
		for _, i := range EvenCuts(len(keys)-1, n) {
			cuts = append(cuts, bytes.Clone([]byte(keys[i+1])))
		}
	}
	return SplitAt(s, cuts), nil
}

// Costs implements Local and Versioned. Tests use memory in place of other engines; with these
// figures a store uses each of its ways to read. They are not measured.
func (*tables) Costs() Costs {
	return Costs{Get: 30, Row: 4, Scan: 1000, Suffix: 3, Tag: 1.5, Leap: 60, Leaps: 512}
}

// DiskSpace implements Local.
func (*Mem) DiskSpace() error { return nil }

// Damaged implements Local.
func (*Mem) Damaged() []string { return nil }

// Checkpoint implements Local.
func (*Mem) Checkpoint(context.Context, string) error { return ErrNoFiles }

// LogEnd implements Local.
func (m *Mem) LogEnd() LogEnd {
	m.logMu.Lock()
	defer m.logMu.Unlock()
	return m.logEnd
}

// NoteLog implements Local.
func (m *Mem) NoteLog(end LogEnd, _ bool) error {
	m.logMu.Lock()
	defer m.logMu.Unlock()
	m.logEnd = end
	return nil
}

// LogState implements Local.
func (m *Mem) LogState() LogState {
	m.logMu.Lock()
	defer m.logMu.Unlock()
	return m.logs
}

// RecordLog implements Local.
func (m *Mem) RecordLog(state LogState) error {
	m.logMu.Lock()
	defer m.logMu.Unlock()
	m.logs = state
	return nil
}
