package uid

import (
	"context"
	"fmt"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// manyNames is from how many new names on they are written together.
const manyNames = 8

// assignTogether gives the open ones of new names, in order, the ids from first on. No other process
// writes to the table, so there is nothing to check and put. All reverse rows are written before the
// first forward row. ok is false when one of the ids is in use, since the counter is smaller than an
// id of the table; then nothing was written.
func (d *Dictionary) assignTogether(ctx context.Context, kind storage.NameKind, n *newNames, open []int, first int64) (ok bool, err error) {
	rows, ok := n.rows(kind, open, first, d.layout.Width(kind))
	if !ok {
		return false, nil // assigning one by one finds out which id has no UID
	}
	if used, err := d.anyUsed(ctx, kind, rows.reverse[0].Key, rows.reverse[len(rows.reverse)-1].Key); used || err != nil {
		return false, err
	}
	if err := d.db.Put(ctx, d.table, schema.FamilyName, rows.reverse); err != nil {
		return false, fmt.Errorf("write the names of %d %s UIDs: %w", len(open), kind, err)
	}
	if err := d.db.Put(ctx, d.table, schema.FamilyID, rows.forward); err != nil {
		return false, fmt.Errorf("write the %s UIDs of %d names: %w", kind, len(open), err)
	}
	names := make([]string, len(open))
	for at, i := range open {
		names[at], n.uids[i] = n.names[i], rows.uids[at]
	}
	d.caches[kind].putAll(names, rows.uids, d.caches[kind].moment()) // no rename takes its steps meanwhile
	return true, nil
}

// newRows are the rows of names that get their UIDs together.
type newRows struct {
	uids             []string // of the open names, in order
	reverse, forward []kv.Mutation
}

// rows makes the rows of the open names, each table's in the order of its keys. ok is false when an
// id has no UID of the width.
func (n *newNames) rows(kind storage.NameKind, open []int, first int64, width int) (r newRows, ok bool) {
	r = newRows{uids: make([]string, len(open)), reverse: make([]kv.Mutation, len(open)), forward: make([]kv.Mutation, 0, len(open))}
	puts, qualifier := make([]kv.Put, 2*len(open)), schema.UIDQualifier(kind)
	place := make([]int, len(n.names)) // of an open name among them
	for at, i := range open {
		uid, err := schema.EncodeUID(first+int64(at), width)
		if err != nil {
			return newRows{}, false
		}
		r.uids[at], place[i] = string(uid), at
		puts[2*at], puts[2*at+1] = kv.Put{Qualifier: qualifier, Value: n.keys[i]}, kv.Put{Qualifier: qualifier, Value: uid}
		r.reverse[at] = kv.Mutation{Key: uid, Puts: puts[2*at : 2*at+1 : 2*at+1]}
	}
	for _, i := range n.order {
		if n.isOpen(i) {
			put := 2*place[i] + 1
			r.forward = append(r.forward, kv.Mutation{Key: n.keys[i], Puts: puts[put : put+1 : put+1]})
		}
	}
	return r, true
}

// anyUsed reports whether a UID of a kind from first to last has a name.
func (t *mappings) anyUsed(ctx context.Context, kind storage.NameKind, first, last []byte) (bool, error) {
	scan := kv.Scan{Table: t.table, Family: schema.FamilyName, Start: first, Stop: append(slices.Clone(last), 0), Qualifier: schema.UIDQualifier(kind), Limit: 1}
	for _, err := range t.db.Scan(ctx, scan) {
		return err == nil, err
	}
	return false, nil
}
