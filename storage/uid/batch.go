package uid

import (
	"context"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// manyNames is from how many new names on they are written together.
const manyNames = 8

// assignTogether gives names, which have no UID, the ids from first on. No other process writes to
// the table, so there is nothing to check and put. All reverse rows are written before the first
// forward row. ok is false when one of the ids is in use, since the counter is smaller than an id
// of the table; then nothing was written.
func (d *Dictionary) assignTogether(ctx context.Context, kind schema.Kind, names []string, first int64) (uids []string, ok bool, err error) {
	uids = make([]string, len(names))
	reverse, forward := make([]kv.Mutation, len(names)), make([]kv.Mutation, len(names))
	keys := make([][]byte, len(names))
	for i, name := range names {
		raw, err := schema.EncodeName(name)
		if err != nil {
			return nil, false, fmt.Errorf("%w: %w", ErrName, err)
		}
		uid, err := schema.EncodeUID(first+int64(i), d.layout.Width(kind))
		if err != nil {
			return nil, false, nil // assigning one by one finds out which
		}
		uids[i], keys[i] = string(uid), uid
		reverse[i] = kv.Mutation{Key: uid, Puts: []kv.Put{{Qualifier: kind.Qualifier(), Value: raw}}}
		forward[i] = kv.Mutation{Key: raw, Puts: []kv.Put{{Qualifier: kind.Qualifier(), Value: uid}}}
	}
	rows, err := d.db.Get(ctx, d.table, schema.FamilyName, keys)
	if err != nil {
		return nil, false, err
	}
	for _, row := range rows {
		if cell(row, kind.Qualifier()) != nil {
			return nil, false, nil
		}
	}
	if err := d.db.Put(ctx, d.table, schema.FamilyName, reverse); err != nil {
		return nil, false, fmt.Errorf("write the names of %d %s UIDs: %w", len(names), kind, err)
	}
	if err := d.db.Put(ctx, d.table, schema.FamilyID, forward); err != nil {
		return nil, false, fmt.Errorf("write the %s UIDs of %d names: %w", kind, len(names), err)
	}
	return uids, true, nil
}
