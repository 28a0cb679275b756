package uid

import (
	"context"
	"fmt"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// manyNames is from how many new names on they are written together.
const manyNames = 8

// assignTogether gives some of the new names, in order, the ids from first on. No other process
// writes to the table, so there is nothing to check and put. All reverse rows are written before the
// first forward row. ok is false when one of the ids is in use, since the counter is smaller than an
// id of the table; then nothing was written.
func (d *Dictionary) assignTogether(ctx context.Context, kind schema.Kind, n *newNames, some []int, first int64) (ok bool, err error) {
	names, uids := make([]string, len(some)), make([]string, len(some))
	reverse, forward := make([]kv.Mutation, len(some)), make([]kv.Mutation, len(some))
	puts := make([]kv.Put, 2*len(some))
	for at, i := range some {
		raw, err := schema.EncodeName(n.names[i])
		if err != nil {
			return false, fmt.Errorf("%w: %w", ErrName, err)
		}
		uid, err := schema.EncodeUID(first+int64(at), d.layout.Width(kind))
		if err != nil {
			return false, nil // assigning one by one finds out which
		}
		names[at], uids[at] = n.names[i], string(uid)
		puts[2*at], puts[2*at+1] = kv.Put{Qualifier: kind.Qualifier(), Value: raw}, kv.Put{Qualifier: kind.Qualifier(), Value: uid}
		reverse[at] = kv.Mutation{Key: uid, Puts: puts[2*at : 2*at+1 : 2*at+1]}
		forward[at] = kv.Mutation{Key: raw, Puts: puts[2*at+1 : 2*at+2 : 2*at+2]}
	}
	if used, err := d.anyUsed(ctx, kind, reverse[0].Key, reverse[len(reverse)-1].Key); used || err != nil {
		return false, err
	}
	if err := d.db.Put(ctx, d.table, schema.FamilyName, reverse); err != nil {
		return false, fmt.Errorf("write the names of %d %s UIDs: %w", len(names), kind, err)
	}
	if err := d.db.Put(ctx, d.table, schema.FamilyID, forward); err != nil {
		return false, fmt.Errorf("write the %s UIDs of %d names: %w", kind, len(names), err)
	}
	d.caches[kind].putAll(names, uids)
	for at, i := range some {
		n.uids[i] = uids[at]
	}
	return true, nil
}

// anyUsed reports whether a UID of a kind from first to last has a name.
func (d *Dictionary) anyUsed(ctx context.Context, kind schema.Kind, first, last []byte) (bool, error) {
	scan := kv.Scan{Table: d.table, Family: schema.FamilyName, Start: first, Stop: append(slices.Clone(last), 0), Qualifier: kind.Qualifier(), Limit: 1}
	for _, err := range d.db.Scan(ctx, scan) {
		return err == nil, err
	}
	return false, nil
}
