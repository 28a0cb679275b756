package own

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Leases of the rows that are being compacted lie in tsdb-tree, in rows that begin as those of a
// tree with the id 0, which no tree has. OpenTSDB finds trees in rows of exactly two bytes and
// branches by the ids of trees: it reads no such row.
const (
	leasePrefix = "\x00\x00tsdbridge.closed:"
	// LeaseQualifier is the column of a lease.
	LeaseQualifier = "tsdbridge.lease"
)

// A Lease is who compacts the rows of the data table from a key on, and how far that is.
type Lease struct {
	Owner string // a process; empty: none
	Until int64  // when the lease ends, milliseconds
	// The rows of base times (seconds) before Done were looked at once, those before Again twice.
	Done, Again uint32
	// The hours from From to before To are being looked at; At is the next row key. With To 0 none
	// are.
	From, To uint32
	At       []byte
	// The rows before Again that have cells of a stamp before Walked (milliseconds) were looked at
	// since. With Walk above 0 such rows are being looked at since then; WalkAt is the next row key.
	Walked, Walk int64
	WalkAt       []byte
	End          []byte // the first row key that is another lease's; empty: there is none
}

// LeaseKey is the row of the lease of the rows from a key of the data table on.
func LeaseKey(start []byte) []byte { return append([]byte(leasePrefix), start...) }

// LeasesEnd is the first key after all leases.
func LeasesEnd() []byte { return schema.Successor([]byte(leasePrefix)) }

// ParseLeaseKey returns the key of the data table that a lease begins with.
func ParseLeaseKey(key []byte) (start []byte, ok bool) {
	return bytes.CutPrefix(key, []byte(leasePrefix))
}

// Record returns the lease in the form that ParseLease reads.
func (l Lease) Record() []byte {
	return fmt.Appendf(nil, "owner=%s until=%d done=%d again=%d from=%d to=%d at=%x walked=%d walk=%d walkat=%x end=%x",
		l.Owner, l.Until, l.Done, l.Again, l.From, l.To, l.At, l.Walked, l.Walk, l.WalkAt, l.End)
}

// ParseLease reads a record. Fields of later versions are passed over.
func ParseLease(record []byte) (l Lease, err error) {
	for field := range strings.FieldsSeq(string(record)) {
		key, value, ok := strings.Cut(field, "=")
		if ok {
			err = l.set(key, value)
		}
		if !ok || err != nil {
			return Lease{}, fmt.Errorf("lease %q: field %q is not understood", schema.Clip(record), field)
		}
	}
	return l, nil
}

func (l *Lease) set(key, value string) (err error) {
	seconds := func(to *uint32) {
		var n uint64
		n, err = strconv.ParseUint(value, 10, 32)
		*to = uint32(n)
	}
	millis := func(to *int64) { *to, err = strconv.ParseInt(value, 10, 64) }
	bytes := func(to *[]byte) { *to, err = hex.DecodeString(value) }
	switch key {
	case "owner":
		l.Owner = value
	case "until":
		millis(&l.Until)
	case "done":
		seconds(&l.Done)
	case "again":
		seconds(&l.Again)
	case "from":
		seconds(&l.From)
	case "to":
		seconds(&l.To)
	case "at":
		bytes(&l.At)
	case "walked":
		millis(&l.Walked)
	case "walk":
		millis(&l.Walk)
	case "walkat":
		bytes(&l.WalkAt)
	case "end":
		bytes(&l.End)
	}
	return err
}
