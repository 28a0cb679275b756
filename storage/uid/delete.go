package uid

import (
	"bytes"
	"context"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Delete deletes the UID of a name: its forward row, then its reverse row and its document. The counter
// stays, so that no other name gets the UID. After a crash in between, fsck gives the name its UID again,
// and Delete can be repeated. A row that others change meanwhile stays.
//
// Series that have the UID lose a name: who deletes asks before whether there are any.
func (d *Dictionary) Delete(ctx context.Context, m storage.Mapping) error {
	release, err := enter(ctx, d.assigning[m.Kind])
	if err != nil {
		return err
	}
	defer release()
	if err := d.before(ctx, m.Kind, 0); err != nil {
		return err
	}
	key, err := schema.EncodeName(m.Name)
	if err != nil {
		return fmt.Errorf("%w: %w", storage.ErrName, err)
	}
	defer d.caches[m.Kind].forget(string(m.UID), m.Name)
	if err := d.deleteCell(ctx, d.column(schema.FamilyID, key, m.Kind), m.UID); err != nil {
		return fmt.Errorf("delete the %s UID of %q: %w", m.Kind, m.Name, err)
	}
	if err := d.deleteReverse(ctx, m.Kind, m.UID, key); err != nil {
		return fmt.Errorf("delete the name of %s UID %X: %w", m.Kind, m.UID, err)
	}
	return nil
}

// deleteReverse deletes the reverse row of a UID that has a name, and its document.
func (t *mappings) deleteReverse(ctx context.Context, kind storage.NameKind, uid, name []byte) error {
	rows, err := t.db.Get(ctx, t.table, schema.FamilyName, [][]byte{uid})
	if err != nil {
		return err
	}
	held, ok := findCell(rows[0], schema.UIDQualifier(kind))
	if !ok || !bytes.Equal(held.Value, name) {
		return nil
	}
	gone := []kv.Delete{{Qualifier: []byte(noColumn)}, {Qualifier: held.Qualifier, Time: held.Time}}
	if document, ok := findCell(rows[0], schema.UIDMetaQualifier(kind)); ok {
		gone = append(gone, kv.Delete{Qualifier: document.Qualifier, Time: document.Time})
	}
	return t.db.Apply(ctx, t.table, schema.FamilyName, []kv.Mutation{{Key: uid, Deletes: gone}})
}
