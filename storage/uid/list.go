package uid

import (
	"context"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// A Mapping is a name with its UID.
type Mapping struct {
	Kind schema.Kind
	Name string
	UID  []byte
}

// String is a TSD's line of a mapping.
func (m Mapping) String() string {
	return fmt.Sprintf("%s %s: %s", m.Kind.Qualifier(), m.Name, JavaBytes(m.UID))
}

// A NoNameOfUIDError is a UID that has no name: the table has no reverse row of it.
type NoNameOfUIDError struct {
	Kind schema.Kind
	UID  string // raw bytes
}

// Error has the words of a TSD, which shows the bytes as Java's: -128 to 127.
func (e NoNameOfUIDError) Error() string {
	return fmt.Sprintf("No such unique ID for '%s': %s", e.Kind.Qualifier(), JavaBytes([]byte(e.UID)))
}

// Each calls visit with the forward rows of some kinds, in the order of their names. An error of visit
// ends it.
func (d *Dictionary) Each(ctx context.Context, kinds []schema.Kind, visit func(Mapping) error) error {
	for row, err := range d.db.Scan(ctx, kv.Scan{Table: d.table, Family: schema.FamilyID, Start: append(schema.MaxIDRow(), 0)}) {
		if err != nil {
			return fmt.Errorf("list the names of UIDs: %w", err)
		}
		for _, kind := range kinds {
			if c, ok := findCell(row, kind.Qualifier()); ok {
				if err := visit(Mapping{kind, schema.DecodeName(row.Key), c.Value}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// MappingOf returns the mapping of a name in the table. A name without a UID is a NoNameError.
func (d *Dictionary) MappingOf(ctx context.Context, kind schema.Kind, name string) (Mapping, error) {
	key, err := schema.EncodeName(name)
	if err != nil {
		return Mapping{}, fmt.Errorf("%w: %w", ErrName, err)
	}
	uid, err := d.value(ctx, d.column(schema.FamilyID, key, kind))
	if err == nil && uid == nil {
		err = NoNameError{name}
	}
	return Mapping{kind, name, uid}, err
}

// MappingOfUID returns the mapping of a UID by its reverse row in the table. ok is false if no name has it.
func (d *Dictionary) MappingOfUID(ctx context.Context, kind schema.Kind, uid []byte) (m Mapping, ok bool, err error) {
	name, err := d.named(ctx, kind, uid)
	return Mapping{kind, schema.DecodeName(name), uid}, name != nil, err
}

// value reads a cell, nil without one.
func (d *Dictionary) value(ctx context.Context, c kv.Column) ([]byte, error) {
	held, ok, err := d.cell(ctx, c)
	if err != nil || !ok {
		return nil, err
	}
	if held.Value == nil {
		held.Value = []byte{}
	}
	return held.Value, nil
}

func (d *Dictionary) cell(ctx context.Context, c kv.Column) (held kv.Cell, ok bool, err error) {
	rows, err := d.db.Get(ctx, c.Table, c.Family, [][]byte{c.Row})
	if err != nil {
		return held, false, fmt.Errorf("read row %x of %s: %w", c.Row, c.Table, err)
	}
	held, ok = findCell(rows[0], c.Qualifier)
	return held, ok, nil
}
