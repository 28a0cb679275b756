package storage

import (
	"context"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// engine is the table engine of a store with all that it promises. The contracts in addition to kv.KV
// are asked for once, here.
type engine struct {
	kv.KV
	local     kv.Local     // nil: other processes write to the tables, or the engine promises kv.KV alone
	versioned kv.Versioned // nil: no other process writes to the tables, or likewise
	rows      kv.RowViewer // of local, else of kv.KV
	costs     kv.Costs
}

// openEngine finds out what db promises to a process that has the tables to itself (exclusive) or
// shares them.
func openEngine(db kv.KV, exclusive bool) engine {
	e := engine{KV: db, rows: kv.CellViewer{KV: db}}
	if exclusive {
		if e.local, _ = db.(kv.Local); e.local != nil {
			e.rows = e.local
		}
	} else {
		e.versioned, _ = db.(kv.Versioned)
	}
	if c, ok := db.(kv.Coster); ok {
		e.costs = c.Costs()
	}
	return e
}

// put writes rows that another log has already, or that later writes make durable. Local engines do
// not wait for the disk.
func (e *engine) put(ctx context.Context, table, family string, rows []kv.Mutation) error {
	if e.local != nil {
		return e.local.ApplyUnlogged(ctx, table, family, rows)
	}
	return e.Apply(ctx, table, family, rows)
}

// flush makes what put wrote durable.
func (e *engine) flush(ctx context.Context) error {
	if e.local == nil {
		return nil
	}
	return e.local.Flush(ctx)
}

// logKeeper returns the engine where it remembers the end of the log, else nil.
func (e *engine) logKeeper() kv.LogKeeper {
	if e.local == nil {
		return nil
	}
	return e.local
}
