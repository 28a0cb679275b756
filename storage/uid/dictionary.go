// Package uid is the dictionary of names and UIDs that OpenTSDB keeps in tsdb-uid: forward rows
// (name to UID), reverse rows (UID to name) and a counter for each kind. It reads, caches, assigns
// and renames. It knows no series: who renames has their names changed elsewhere too.
package uid

import (
	"context"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Options of a Dictionary.
type Options struct {
	// Table is the tsdb-uid table.
	Table  string
	Layout schema.Layout
	// CacheEntries bounds each of the three caches (one for each kind), which hold both directions.
	CacheEntries int
	// RandomMetrics gives metrics UIDs at random instead of counting up, so that their rows are spread
	// over the regions of a table.
	RandomMetrics bool
	// BeforeAssign, if set, may refuse an assignment. It is called before ids are drawn (id 0) and
	// again with the first id that was drawn.
	BeforeAssign func(ctx context.Context, kind storage.NameKind, id int64) error
	// Unreadable, if set, is told why a row that is looked up cannot be used.
	Unreadable func(err error)
}

// Dictionary maps names to UIDs and back. UIDs are raw bytes of the layout's width, kept in
// strings. Safe for concurrent use.
type Dictionary struct {
	mappings

	layout  schema.Layout
	random  bool // UIDs of metrics
	before  func(ctx context.Context, kind storage.NameKind, id int64) error
	tell    func(err error) // of what cannot be used
	caches  [3]*cache       // by kind
	renames renames
	usage
	// assigning lets one assignment of a kind run at a time in this process, so that two requests
	// with the same new name do not race each other; between processes the check-and-puts decide.
	assigning [3]chan struct{}
	// renaming lets one rename of a kind run at a time in this process.
	renaming [3]chan struct{}
}

// New returns a dictionary over a table of db.
func New(db *kv.Engine, o Options) *Dictionary {
	d := &Dictionary{mappings: mappings{db: db, table: o.Table}, layout: o.Layout, random: o.RandomMetrics, before: o.BeforeAssign, tell: o.Unreadable}
	d.usage.mappings, d.usage.layout = &d.mappings, o.Layout
	if d.before == nil {
		d.before = func(context.Context, storage.NameKind, int64) error { return nil }
	}
	for k := range d.caches {
		d.caches[k] = newCache(o.CacheEntries)
		d.assigning[k], d.renaming[k] = make(chan struct{}, 1), make(chan struct{}, 1)
	}
	return d
}

// Cached returns the number of entries in all caches.
func (d *Dictionary) Cached() int {
	n := 0
	for k := range d.caches {
		n += d.caches[k].len()
	}
	return n
}

// Lookup returns the UIDs of names, in order; an unknown name, or one that OpenTSDB cannot hold,
// gives "". Unknown names are not remembered: another process may assign them at any time.
func (d *Dictionary) Lookup(ctx context.Context, kind storage.NameKind, names []string) ([]string, error) {
	uids, missing := d.known(kind, names)
	return uids, d.fetchForward(ctx, kind, names, uids, missing)
}

// known returns the UIDs that are in the cache, and for which of the names there is none.
func (d *Dictionary) known(kind storage.NameKind, names []string) (uids []string, missing []int) {
	uids = make([]string, len(names))
	width := d.layout.Width(kind)
	for i, name := range names {
		var ok bool
		if uids[i], ok = d.caches[kind].forward(name, width); !ok {
			missing = append(missing, i)
		}
	}
	return uids, missing
}

// fetchForward reads the forward rows of names[i] for each i of missing into uids[i].
func (d *Dictionary) fetchForward(ctx context.Context, kind storage.NameKind, names, uids []string, missing []int) error {
	var keys [][]byte
	var at []int
	for _, i := range missing {
		if key, err := schema.EncodeName(names[i]); err == nil {
			keys, at = append(keys, key), append(at, i)
		}
	}
	return d.fetchKeys(ctx, kind, names, uids, keys, at)
}

// fetchKeys is fetchForward for the names at these places, whose keys are given.
func (d *Dictionary) fetchKeys(ctx context.Context, kind storage.NameKind, names, uids []string, keys [][]byte, at []int) error {
	if len(keys) == 0 {
		return nil
	}
	moment := d.caches[kind].moment()
	rows, err := d.db.Get(ctx, d.table, schema.FamilyID, keys)
	if err != nil {
		return fmt.Errorf("read UIDs of %d names: %w", len(keys), err)
	}
	qualifier := schema.UIDQualifier(kind)
	for r, row := range rows {
		uid := cell(row, qualifier)
		if uid == nil {
			continue
		}
		name := names[at[r]]
		if len(uid) != d.layout.Width(kind) {
			return d.badWidth(kind, name, uid)
		}
		uids[at[r]] = string(uid)
		d.caches[kind].putBoth(name, string(uid), moment)
	}
	return nil
}

// badWidth is a UID in the table that is not of the configured width.
func (d *Dictionary) badWidth(kind storage.NameKind, name string, uid []byte) error {
	err := fmt.Errorf("row %q of %s: the %s UID %X of %q is %d bytes, the configured width is %d: see --storage.uid-width; "+
		"if this row alone differs, tsdbridge uid fsck finds it", name, d.table, kind, uid, name, len(uid), d.layout.Width(kind))
	if d.tell != nil {
		d.tell(err)
	}
	return storage.RowError{Err: err}
}

// Names returns the names of UIDs, in order; a UID without a reverse row gives "".
func (d *Dictionary) Names(ctx context.Context, kind storage.NameKind, uids []string) ([]string, error) {
	names := make([]string, len(uids))
	var keys [][]byte
	var at []int
	width := d.layout.Width(kind)
	for i, uid := range uids {
		ok := false
		if len(uid) == width { // the cache knows no others
			names[i], ok = d.caches[kind].reverse(uid)
		}
		if !ok {
			keys, at = append(keys, []byte(uid)), append(at, i)
		}
	}
	if len(keys) == 0 {
		return names, nil
	}
	moment := d.caches[kind].moment()
	rows, err := d.db.Get(ctx, d.table, schema.FamilyName, keys)
	if err != nil {
		return nil, fmt.Errorf("read names of %d UIDs: %w", len(keys), err)
	}
	for r, row := range rows {
		if raw := cell(row, schema.UIDQualifier(kind)); raw != nil {
			if names[at[r]] = schema.DecodeName(raw); len(row.Key) != width {
				continue
			}
			// Only this direction is certain: a reverse row may be the leftover of a lost race.
			d.caches[kind].putReverse(uids[at[r]], names[at[r]], moment)
		}
	}
	return names, nil
}

// cell returns the value under a qualifier, nil when there is none.
func cell(row kv.Row, qualifier []byte) []byte {
	c, ok := findCell(row, qualifier)
	if ok && c.Value == nil {
		return []byte{}
	}
	return c.Value
}

func findCell(row kv.Row, qualifier []byte) (found kv.Cell, ok bool) {
	for _, c := range row.Cells {
		if string(c.Qualifier) == string(qualifier) {
			return c, true
		}
	}
	return kv.Cell{}, false
}

// mappings are the rows that map names and UIDs to each other.
type mappings struct {
	db    *kv.Engine
	table string
}
