package kv

import (
	"context"
)

// Engine is the table engine of a store with all that it promises. The contracts in addition to KV
// are asked for once, here.
type Engine struct {
	KV
	Local     Local     // nil: other processes write to the tables, or the engine promises KV alone
	Versioned Versioned // nil: no other process writes to the tables, or likewise
	Rows      RowViewer // of local, else of KV
	Costs     Costs
}

// NewEngine finds out what db promises to a process that has the tables to itself (exclusive) or
// shares them.
func NewEngine(db KV, exclusive bool) *Engine {
	e := &Engine{KV: db, Rows: CellViewer{KV: db}}
	if exclusive {
		if e.Local, _ = db.(Local); e.Local != nil {
			e.Rows = e.Local
		}
	} else {
		e.Versioned, _ = db.(Versioned)
	}
	if c, ok := db.(Coster); ok {
		e.Costs = c.Costs()
	}
	return e
}

// Put writes rows that another log has already, or that later writes make durable. Local engines do
// not wait for the disk.
func (e *Engine) Put(ctx context.Context, table, family string, rows []Mutation) error {
	if e.Local != nil {
		return e.Local.ApplyUnlogged(ctx, table, family, rows)
	}
	return e.Apply(ctx, table, family, rows)
}

// Flush makes what put wrote durable.
func (e *Engine) Flush(ctx context.Context) error {
	if e.Local == nil {
		return nil
	}
	return e.Local.Flush(ctx)
}

// LogKeeper returns the engine where it remembers the end of the log, else nil.
func (e *Engine) LogKeeper() LogKeeper {
	if e.Local == nil {
		return nil
	}
	return e.Local
}
