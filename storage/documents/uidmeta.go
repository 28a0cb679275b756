package documents

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// editAttempts is how often an edit of a client is tried against others who edit the same document.
const editAttempts = 32

var (
	// ErrEdited means that others edited a document each time before an edit could.
	ErrEdited = errors.New("edited by others too often")
	// ErrNoDocument means that there is no document to edit.
	ErrNoDocument = errors.New("Requested TSMeta did not exist") //nolint:staticcheck // a TSD's words
)

// A NoUIDError is a UID without a name.
type NoUIDError = storage.NoNameOfUIDError

// UIDMeta returns the document of a UID, an empty one if nothing is stored.
func (d *Documents) UIDMeta(ctx context.Context, kind storage.NameKind, uid string) (schema.NamedUIDMeta, error) {
	list, err := d.uidMetas(ctx, kind, []string{uid})
	if err != nil {
		return schema.NamedUIDMeta{}, err
	}
	if list[0].Name == "" {
		return schema.NamedUIDMeta{}, NoUIDError{Kind: kind, UID: uid}
	}
	return list[0], nil
}

// uidMetas returns the documents of UIDs, in order. One without a name has no document either.
func (d *Documents) uidMetas(ctx context.Context, kind storage.NameKind, uids []string) ([]schema.NamedUIDMeta, error) {
	names, err := d.uids.Names(ctx, kind, uids)
	if err != nil {
		return nil, err
	}
	list := make([]schema.NamedUIDMeta, 0, len(uids))
	for chunk := range slices.Chunk(uids, metaRowsPerGet) {
		keys := make([][]byte, len(chunk))
		for i, uid := range chunk {
			keys[i] = []byte(uid)
		}
		rows, err := d.db.Get(ctx, d.o.Tables.UID, schema.FamilyName, keys)
		if err != nil {
			return nil, fmt.Errorf("read the documents of %d UIDs: %w", len(keys), err)
		}
		for i, row := range rows {
			m := schema.NamedUIDMeta{Kind: kind, UID: chunk[i], Name: names[len(list)]}
			if raw := valueOf(row, schema.UIDMetaQualifier(kind)); raw != nil && m.Name != "" {
				if m.UIDMeta, err = d.parseUIDMeta(kind, row.Key, raw); err != nil {
					return nil, fmt.Errorf("document of the %s %s: %w", kind, m.Name, err)
				}
			}
			list = append(list, m)
		}
	}
	return list, nil
}

// valueOf returns the value under a qualifier, nil without one.
func valueOf(row kv.Row, qualifier []byte) []byte {
	for _, c := range row.Cells {
		if string(c.Qualifier) == string(qualifier) {
			return c.Value
		}
	}
	return nil
}

// EditUIDMeta changes the document of a UID that has a name, durably. What was not sent stays, or
// becomes empty if the edit replaces. No edit of others at the same time is lost.
func (d *Documents) EditUIDMeta(ctx context.Context, uid string, e *schema.UIDMetaEdit, replace bool) error {
	moment := d.meta.moment()
	names, err := d.uids.Names(ctx, e.Kind, []string{uid})
	if err != nil {
		return err
	}
	if names[0] == "" {
		return NoUIDError{Kind: e.Kind, UID: uid}
	}
	defer d.meta.edit(d.db.Exclusive && e.Kind == storage.MetricName)()
	column := d.uidColumn(e.Kind, uid)
	var edited schema.UIDMeta
	err = d.edit(ctx, column, func(raw []byte) ([]byte, error) {
		stored := schema.UIDMeta{}
		if raw != nil {
			if stored, err = d.parseUIDMeta(e.Kind, []byte(uid), raw); err != nil {
				return nil, err
			}
		}
		edited = e.Apply(stored, replace)
		return edited.AppendTo(nil), nil
	})
	if err != nil {
		return fmt.Errorf("document of the %s %s: %w", e.Kind, names[0], err)
	}
	if e.Kind == storage.MetricName {
		d.meta.edited(names[0], metadataOf(edited), moment)
	}
	return d.flush(ctx, uid)
}

func (s *cells) uidColumn(kind storage.NameKind, uid string) kv.Column {
	return kv.Column{Table: s.o.Tables.UID, Family: schema.FamilyName, Row: []byte(uid), Qualifier: schema.UIDMetaQualifier(kind)}
}

// edit changes a cell to what change makes of it; nil is no cell. It compares the raw bytes, as a TSD
// does.
func (s *cells) edit(ctx context.Context, c kv.Column, change func(raw []byte) ([]byte, error)) error {
	for range editAttempts {
		rows, err := s.db.Get(ctx, c.Table, c.Family, [][]byte{c.Row})
		if err != nil {
			return err
		}
		raw := valueOf(rows[0], c.Qualifier)
		edited, err := change(raw)
		if err != nil {
			return err
		}
		if done, err := s.db.CheckAndPut(ctx, c, raw, edited); err != nil || done {
			return err
		}
	}
	return ErrEdited
}

// DeleteUIDMeta deletes the document of a UID, durably. That nothing is there is no error.
func (d *Documents) DeleteUIDMeta(ctx context.Context, kind storage.NameKind, uid string) error {
	moment := d.meta.moment()
	if len(uid) != d.layout.Width(kind) {
		return nil
	}
	defer d.meta.edit(d.db.Exclusive && kind == storage.MetricName)()
	gone := kv.Mutation{Key: []byte(uid), Deletes: []kv.Delete{{Qualifier: schema.UIDMetaQualifier(kind)}}}
	if err := d.db.Apply(ctx, d.o.Tables.UID, schema.FamilyName, []kv.Mutation{gone}); err != nil {
		return fmt.Errorf("delete the document of the %s UID %x: %w", kind, uid, err)
	}
	if kind != storage.MetricName {
		return nil
	}
	names, err := d.uids.Names(ctx, kind, []string{uid})
	if err != nil {
		return err
	}
	d.meta.edited(names[0], storage.Metadata{}, moment)
	return nil
}
