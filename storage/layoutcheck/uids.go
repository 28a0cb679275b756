package layoutcheck

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

const (
	// maxWidth is the greatest width of a UID.
	maxWidth = 8
	// firstIDs is how many of the ids from 1 on are looked up in each width: OpenTSDB counts them
	// up.
	firstIDs = 8
	// scannedUIDs is how many rows are read of each family, for tables whose first UIDs are gone or
	// were drawn at random.
	scannedUIDs = 64
)

// A uidSeen is a UID of tsdb-uid and its name.
type uidSeen struct {
	uid  []byte
	name string
}

func (u uidSeen) number() uint64 {
	var b [8]byte
	copy(b[8-len(u.uid):], u.uid)
	return binary.BigEndian.Uint64(b[:])
}

// uidsFound are, by kind and by width, the smallest UIDs that were found.
type uidsFound [3]map[int]uidSeen

func (f *uidsFound) add(kind storage.NameKind, uid []byte, name string) {
	if len(uid) < 1 || len(uid) > maxWidth {
		return
	}
	if f[kind] == nil {
		f[kind] = map[int]uidSeen{}
	}
	seen := uidSeen{uid, name}
	if old, ok := f[kind][len(uid)]; !ok || seen.number() < old.number() {
		f[kind][len(uid)] = seen
	}
}

// findUIDs reads a bounded number of rows of tsdb-uid.
func (c *Checker) findUIDs(ctx context.Context) (found uidsFound, err error) {
	rows, err := c.db.Get(ctx, c.o.UID, schema.FamilyName, firstUIDs())
	if err != nil {
		return found, err
	}
	for _, row := range rows {
		found.addReverse(row)
	}
	scan := kv.Scan{Table: c.o.UID, Family: schema.FamilyName, Limit: scannedUIDs}
	for row, err := range c.db.Scan(ctx, scan) {
		if err != nil {
			return found, err
		}
		found.addReverse(row)
	}
	scan.Family, scan.Start = schema.FamilyID, []byte{1} // after the counters
	for row, err := range c.db.Scan(ctx, scan) {
		if err != nil {
			return found, err
		}
		found.addForward(row)
	}
	return found, nil
}

func firstUIDs() [][]byte {
	var keys [][]byte
	for width := 1; width <= maxWidth; width++ {
		for id := int64(1); id <= firstIDs; id++ {
			if uid, err := schema.EncodeUID(id, width); err == nil {
				keys = append(keys, uid)
			}
		}
	}
	return keys
}

func (f *uidsFound) addReverse(row kv.Row) {
	for kind, value := range kindCells(row) {
		f.add(kind, row.Key, schema.DecodeName(value))
	}
}

func (f *uidsFound) addForward(row kv.Row) {
	for kind, value := range kindCells(row) {
		f.add(kind, value, schema.DecodeName(row.Key))
	}
}

// kindCells returns the cells of a row that belong to a kind of UIDs; others are documents.
func kindCells(row kv.Row) map[storage.NameKind][]byte {
	cells := map[storage.NameKind][]byte{}
	for _, kind := range storage.NameKinds() {
		for _, cell := range row.Cells {
			if string(cell.Qualifier) == string(schema.UIDQualifier(kind)) {
				cells[kind] = cell.Value
			}
		}
	}
	return cells
}

// validateUIDs returns what is wrong with the width of a kind, and sets it in layout to what the
// table has. Where the table has several, since it was written with a wrong flag before, the one of
// the smallest UID counts: ids are counted up.
func (c *Checker) validateUIDs(kind storage.NameKind, found map[int]uidSeen, layout *schema.Layout) string {
	if len(found) == 0 {
		return ""
	}
	var first uidSeen
	for _, seen := range found {
		if first.uid == nil || seen.number() < first.number() || seen.number() == first.number() && len(seen.uid) == c.o.Layout.Width(kind) {
			first = seen
		}
	}
	width, flag := c.o.Layout.Width(kind), "--storage.uid-width."+kind.String()
	setWidth(layout, kind, len(first.uid))
	if len(first.uid) == width {
		if len(found) > 1 {
			c.warnOnce(c.o.UID, fmt.Sprintf("%s UIDs of %v bytes", kind, widths(found)))
		}
		return ""
	}
	return fmt.Sprintf("%s=%d, but the %s UIDs in table %s have %d bytes (that of %q is %x): %s=%d fits",
		flag, width, kind, c.o.UID, len(first.uid), clip(first.name), first.uid, flag, len(first.uid))
}

func widths(found map[int]uidSeen) []int {
	var all []int
	for width := range found {
		all = append(all, width)
	}
	slices.Sort(all)
	return all
}

func setWidth(l *schema.Layout, kind storage.NameKind, width int) {
	switch kind {
	case storage.MetricName:
		l.MetricWidth = width
	case storage.TagKeyName:
		l.TagkWidth = width
	case storage.TagValueName:
		l.TagvWidth = width
	}
}

// clip keeps a name in an error text short.
func clip(name string) string {
	if len(name) > 60 {
		return name[:60] + "..."
	}
	return name
}
