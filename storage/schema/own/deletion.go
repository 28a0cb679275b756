package own

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// The journal of deletions lies in tsdb-tree, in rows that begin as those of a tree with the id 0,
// as leases do. A deletion has a row of its own and, for the TSUIDs of its series, rows of a second
// kind.
const (
	deletionPrefix       = "\x00\x00tsdbridge.deletion:"
	deletionSeriesPrefix = "\x00\x00tsdbridge.deletion.series:"
	// DeletionQualifier is the column of a deletion.
	DeletionQualifier = "tsdbridge.deletion"
	// DeletionSeriesQualifier is the column of TSUIDs.
	DeletionSeriesQualifier = "tsdbridge.series"
	deletionKeyWidth        = 16
)

// DeletionState is how far a deletion is.
type DeletionState string

// The states, in their order.
const (
	DeletionBegun   DeletionState = "begun"   // adapters drop what they hold; the tables still have points
	DeletionDone    DeletionState = "done"    // the tables have followed
	DeletionSettled DeletionState = "settled" // the rows were looked at once more
)

// A Deletion is a record of the journal.
type Deletion struct {
	State DeletionState
	// Start and End are the times of the points that are deleted, milliseconds, inclusive. With a Start
	// after End there are none: of the series only those are deleted of which nothing is stored.
	Start, End int64
	Whole      bool // the series are deleted too
	// What was acknowledged until then is deleted, milliseconds.
	Until int64
	// Parts is the number of rows with TSUIDs.
	Parts uint32
	Done  int64 // when the tables had followed, milliseconds
	// Owner is the process that carries the deletion out, until its lease ends (milliseconds).
	Owner string
	Lease int64
}

// DeletionKey is the row of a deletion: the journal is in the order of the times at which deletions
// began.
func DeletionKey(began int64, id uint64) []byte {
	key := binary.BigEndian.AppendUint64([]byte(deletionPrefix), uint64(began))
	return binary.BigEndian.AppendUint64(key, id)
}

// Deletions returns the first row of the journal and the first key after it.
func Deletions() (start, stop []byte) {
	return []byte(deletionPrefix), schema.Successor([]byte(deletionPrefix))
}

// IsDeletionKey reports whether a row is that of a deletion.
func IsDeletionKey(key []byte) bool {
	return bytes.HasPrefix(key, []byte(deletionPrefix)) && len(key) == len(deletionPrefix)+deletionKeyWidth
}

// DeletionSeriesKey is the row of a part of the TSUIDs of a deletion, whose row has the key.
func DeletionSeriesKey(deletion []byte, part uint32) []byte {
	key := append([]byte(deletionSeriesPrefix), bytes.TrimPrefix(deletion, []byte(deletionPrefix))...)
	return binary.BigEndian.AppendUint32(key, part)
}

// AppendDeletedSeries appends TSUIDs, each after its length.
func AppendDeletedSeries(dst []byte, tsuids [][]byte) []byte {
	for _, tsuid := range tsuids {
		dst = append(binary.AppendUvarint(dst, uint64(len(tsuid))), tsuid...)
	}
	return dst
}

var errDeletedSeries = errors.New("series of a deletion: damaged")

// ParseDeletedSeries returns the TSUIDs of a part.
func ParseDeletedSeries(value []byte) (tsuids [][]byte, err error) {
	for len(value) > 0 {
		n, width := binary.Uvarint(value)
		if width <= 0 || n > uint64(len(value)-width) {
			return nil, errDeletedSeries
		}
		value = value[width:]
		tsuids, value = append(tsuids, value[:n:n]), value[n:]
	}
	return tsuids, nil
}

// Record returns the deletion in the form that ParseDeletion reads.
func (d *Deletion) Record() []byte {
	return fmt.Appendf(nil, "state=%s start=%d end=%d whole=%t until=%d parts=%d done=%d owner=%s lease=%d",
		d.State, d.Start, d.End, d.Whole, d.Until, d.Parts, d.Done, d.Owner, d.Lease)
}

// ParseDeletion reads a record. Fields of later versions are passed over.
func ParseDeletion(record []byte) (d Deletion, err error) {
	for field := range strings.FieldsSeq(string(record)) {
		key, value, ok := strings.Cut(field, "=")
		if ok {
			err = d.set(key, value)
		}
		if !ok || err != nil {
			return Deletion{}, fmt.Errorf("deletion %q: field %q is not understood", schema.Clip(record), field)
		}
	}
	if d.State == "" {
		return Deletion{}, fmt.Errorf("deletion %q: no state", schema.Clip(record))
	}
	return d, nil
}

func (d *Deletion) set(key, value string) (err error) {
	number := func(to *int64) { *to, err = strconv.ParseInt(value, 10, 64) }
	switch key {
	case "state":
		d.State = DeletionState(value)
	case "start":
		number(&d.Start)
	case "end":
		number(&d.End)
	case "whole":
		d.Whole, err = strconv.ParseBool(value)
	case "until":
		number(&d.Until)
	case "parts":
		var n uint64
		n, err = strconv.ParseUint(value, 10, 32)
		d.Parts = uint32(n)
	case "done":
		number(&d.Done)
	case "owner":
		d.Owner = value
	case "lease":
		number(&d.Lease)
	}
	return err
}
