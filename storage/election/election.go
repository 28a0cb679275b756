// Package election keeps in a table who was elected for a name, where all processes that share the
// tables see it. It elects nobody.
package election

import (
	"bytes"
	"context"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

// A Book holds the elections in a table, which is that of the trees. It is safe for concurrent use.
type Book struct {
	db    *kv.Engine
	table string
}

// New returns the book in a table.
func New(db *kv.Engine, table string) *Book { return &Book{db: db, table: table} }

// Read returns the election of a name, the zero value if there was none. A record that is damaged
// counts as one of nobody.
func (b *Book) Read(ctx context.Context, name string) (storage.ElectionEntry, error) {
	rows, err := b.db.Get(ctx, b.table, schema.FamilyData, [][]byte{own.ElectionKey(name)})
	if err != nil {
		return storage.ElectionEntry{}, fmt.Errorf("read the election of %q in %s: %w", name, b.table, err)
	}
	for _, cell := range rows[0].Cells {
		if string(cell.Qualifier) == own.ElectionQualifier {
			e, _ := own.ParseElection(cell.Value)
			return storage.ElectionEntry{Election: e, Record: cell.Value}, nil
		}
	}
	return storage.ElectionEntry{}, nil
}

// Replace puts an election in place of the one that was read. It is false if another process was
// faster. Who is elected is durable when it returns; when the elected one was heard need not be.
func (b *Book) Replace(ctx context.Context, name string, read storage.ElectionEntry, next storage.Election) (storage.ElectionEntry, bool, error) {
	column := kv.Column{Table: b.table, Family: schema.FamilyData, Row: own.ElectionKey(name), Qualifier: []byte(own.ElectionQualifier)}
	entry := storage.ElectionEntry{Election: next, Record: own.ElectionRecord(next)}
	put, err := b.db.CheckAndPut(ctx, column, read.Record, entry.Record)
	if err == nil && !put { // the answer to a first attempt may have been lost
		var is storage.ElectionEntry
		is, err = b.Read(ctx, name)
		put = bytes.Equal(is.Record, entry.Record)
	}
	if err == nil && put && next.Elected != read.Elected {
		err = b.db.Flush(ctx) // a local engine owes that for a check-and-put
	}
	if err != nil {
		return storage.ElectionEntry{}, false, fmt.Errorf("write the election of %q in %s: %w", name, b.table, err)
	}
	return entry, put, nil
}

// Forget removes the election of a name.
func (b *Book) Forget(ctx context.Context, name string) error {
	rows := []kv.Mutation{{Key: own.ElectionKey(name), DeleteRow: true}}
	if err := b.db.Apply(ctx, b.table, schema.FamilyData, rows); err != nil {
		return fmt.Errorf("remove the election of %q in %s: %w", name, b.table, err)
	}
	return nil
}
