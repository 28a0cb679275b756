package uid

import (
	"context"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Each calls visit with the forward rows of some kinds, in the order of their names. An error of visit
// ends it.
func (t *mappings) Each(ctx context.Context, kinds []storage.NameKind, visit func(storage.Mapping) error) error {
	for row, err := range t.db.Scan(ctx, kv.Scan{Table: t.table, Family: schema.FamilyID, Start: append(schema.MaxIDRow(), 0)}) {
		if err != nil {
			return fmt.Errorf("list the names of UIDs: %w", err)
		}
		for _, kind := range kinds {
			if c, ok := findCell(row, schema.UIDQualifier(kind)); ok {
				if err := visit(storage.Mapping{Kind: kind, Name: schema.DecodeName(row.Key), UID: c.Value}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// MappingOf returns the mapping of a name in the table. A name without a UID is a NoNameError.
func (t *mappings) MappingOf(ctx context.Context, kind storage.NameKind, name string) (storage.Mapping, error) {
	key, err := schema.EncodeName(name)
	if err != nil {
		return storage.Mapping{}, fmt.Errorf("%w: %w", storage.ErrName, err)
	}
	uid, err := t.value(ctx, t.column(schema.FamilyID, key, kind))
	if err == nil && uid == nil {
		err = storage.NoNameError{Name: name}
	}
	return storage.Mapping{Kind: kind, Name: name, UID: uid}, err
}

// MappingOfUID returns the mapping of a UID by its reverse row in the table. ok is false if no name has it.
func (t *mappings) MappingOfUID(ctx context.Context, kind storage.NameKind, uid []byte) (m storage.Mapping, ok bool, err error) {
	name, err := t.named(ctx, kind, uid)
	return storage.Mapping{Kind: kind, Name: schema.DecodeName(name), UID: uid}, name != nil, err
}

// value reads a cell, nil without one.
func (t *mappings) value(ctx context.Context, c kv.Column) ([]byte, error) {
	held, ok, err := t.cell(ctx, c)
	if err != nil || !ok {
		return nil, err
	}
	if held.Value == nil {
		held.Value = []byte{}
	}
	return held.Value, nil
}

func (t *mappings) cell(ctx context.Context, c kv.Column) (held kv.Cell, ok bool, err error) {
	rows, err := t.db.Get(ctx, c.Table, c.Family, [][]byte{c.Row})
	if err != nil {
		return held, false, fmt.Errorf("read row %x of %s: %w", c.Row, c.Table, err)
	}
	held, ok = findCell(rows[0], c.Qualifier)
	return held, ok, nil
}
