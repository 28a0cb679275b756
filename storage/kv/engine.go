package kv

import "context"

// An Engine is the table engine of a store with all that it promises. NewEngine is the one place
// that asks for the contracts in addition to KV.
type Engine struct {
	KV
	// Exclusive means that no other process writes to the tables. Then Local is set if the engine
	// implements it, else Versioned if the engine implements that; the other one is nil.
	Exclusive bool
	Local     Local
	Versioned Versioned
	Coded     EncodedWriter // of Local, if it keeps cells coded; else nil
	Rows      RowViewer     // of Local or Versioned, else of the cells of KV
	Costs     Costs         // 0 where the engine knows none
}

// NewEngine finds out what db promises to a process that has the tables to itself (exclusive) or
// shares them.
func NewEngine(db KV, exclusive bool) *Engine {
	e := &Engine{KV: db, Exclusive: exclusive, Rows: CellViewer{KV: db}}
	if exclusive {
		if e.Local, _ = db.(Local); e.Local != nil {
			e.Rows = e.Local
			e.Coded, _ = db.(EncodedWriter)
		}
	} else {
		if e.Versioned, _ = db.(Versioned); e.Versioned != nil {
			e.Rows = e.Versioned
		}
	}
	if c, ok := db.(Coster); ok {
		e.Costs = c.Costs()
	}
	e.Rows = tracedViewer{e.Rows}
	return e
}

// Put is Apply for rows that another log has already, or that later writes make durable: on a Local
// engine it does not wait for the disk.
func (e *Engine) Put(ctx context.Context, table, family string, rows []Mutation) error {
	if e.Local != nil {
		return e.Local.ApplyUnlogged(ctx, table, family, rows)
	}
	return e.Apply(ctx, table, family, rows)
}

// Flush returns when what Put wrote is durable.
func (e *Engine) Flush(ctx context.Context) error {
	if e.Local == nil {
		return nil
	}
	return e.Local.Flush(ctx)
}

// LogKeeper returns the engine if it remembers the end of a log, else nil.
func (e *Engine) LogKeeper() LogKeeper {
	if e.Local == nil {
		return nil
	}
	return e.Local
}
