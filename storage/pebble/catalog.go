package pebble

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// formatVersion is the form of the store as a whole; a store of a later form is refused. An earlier
// form is read, and becomes this one when it is opened, so that no earlier version of tsdbridge
// opens the store any more:
//
//	1  rows hold all cells as they are
//	2  rows may hold column-coded cells
//	3  documents of new series may be coded, and tsdb-meta may contain in which days a series has rows: a version
//	   that does not know that would put rows that are never found
//	4  the first point of a coded cell may count milliseconds though it is a whole second
//	5  the store has a mark: after a version that does not keep it, a start would miss files that exist
//	6  the store has a name, and its tables record what they know of the log: after a version that does not keep
//	   that, a start would refuse the log
const formatVersion = 6

// formatMarked is the first that has a mark.
const formatMarked = 5

// ownKeys is the first byte of the keys in which the store keeps what it knows about itself:
//
//	00 "family" id(1)   table 00 family
//	00 "format"         version (uvarint)
//	00 "time"           no cell has a later time (uvarint ms)
//	00 "log"            whose tables they are, and what they know of their log (lineage.go)
//	00 "starts"         the processes that wrote files beside the tables (life.go)
const ownKeys = 0x00

func formatKey() []byte        { return []byte("\x00format") }
func timeKey() []byte          { return []byte("\x00time") }
func logKey() []byte           { return []byte("\x00log") }
func familyKey(id byte) []byte { return append([]byte("\x00family"), id) }
func familyPrefix() []byte     { return []byte("\x00family") }
func familyPrefixEnd() []byte  { return []byte("\x00familz") }
func rowKey(id byte, key []byte) []byte {
	return append(append(make([]byte, 0, 1+len(key)), id), key...)
}

type familyName struct{ table, family string }

// lookUp returns the byte of a family.
func (e *tableRows) lookUp(table, family string) (byte, error) {
	id, ok := e.families[familyName{table, family}]
	if !ok {
		return 0, fmt.Errorf("%w: %s:%s", kv.ErrNoTable, table, family)
	}
	return id, nil
}

// checkFormat refuses a store of a later form. Of a new one it returns 0.
func checkFormat(db *pebble.DB) (version uint64, err error) {
	version, found, err := readNumber(db, formatKey())
	switch {
	case err != nil:
		return 0, fmt.Errorf("format: %w", err)
	case found && version > formatVersion:
		return 0, fmt.Errorf("written by a later version of tsdbridge: format %d, this one knows up to %d", version, formatVersion)
	}
	return version, nil
}

// families are the bytes that were given to families, from 1 up.
type families map[familyName]byte

// loadFamilies reads them.
func loadFamilies(db *pebble.DB) (given families, err error) {
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: familyPrefix(), UpperBound: familyPrefixEnd()})
	if err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	given = make(families)
	for ok := it.First(); ok; ok = it.Next() {
		table, family, split := strings.Cut(string(it.Value()), "\x00")
		if len(it.Key()) != len(familyKey(0)) || !split {
			return nil, fmt.Errorf("catalog: %w: %x = %q", errCorrupt, it.Key(), it.Value())
		}
		given[familyName{table, family}] = it.Key()[len(familyPrefix())]
	}
	return given, nil
}

// add gives bytes to families that have none, and returns those.
func (f families) add(tables []kv.Table) (added []familyName) {
	for _, t := range tables {
		for _, family := range t.Families {
			name := familyName{t.Name, family}
			if _, ok := f[name]; ok {
				continue
			}
			f[name] = byte(len(f) + 1)
			added = append(added, name)
		}
	}
	return added
}

// saveFamily makes the byte of a family durable.
func saveFamily(db *pebble.DB, name familyName, id byte, durability *pebble.WriteOptions) error {
	if strings.Contains(name.table+name.family, "\x00") || id == 0 || id == 0xff {
		return fmt.Errorf("catalog: no place for family %s:%s", name.table, name.family)
	}
	if err := db.Set(familyKey(id), []byte(name.table+"\x00"+name.family), durability); err != nil {
		return fmt.Errorf("catalog: %w", err)
	}
	return nil
}

func readNumber(db *pebble.DB, key []byte) (n uint64, found bool, err error) {
	value, closer, err := db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	n, size := binary.Uvarint(value)
	if size <= 0 {
		err = errCorrupt
	}
	return n, true, errors.Join(err, closer.Close())
}
