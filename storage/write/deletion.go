package write

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/index"
)

// A Deletion names points of series.
type Deletion struct {
	IDs        []index.ID // of the series
	Start, End int64      // milliseconds, inclusive
	// Whole means that all points are deleted and the series themselves too. Start and End are 0
	// and storage.MaxTime then; on shared tables also 0 and -1: see onlyEmpty.
	Whole bool
	// Repeated means that shared tables have no record of it, and that rolled up values and slots of
	// archives stay, which are there to outlast their points; see storage.Deletion.
	Repeated bool
	until    int64 // on shared tables: what was acknowledged later stays, milliseconds
}

// onlyEmpty reports whether a deletion from shared tables deletes no points, and only series of which
// nothing is stored.
func (d *Deletion) onlyEmpty() bool { return d.Whole && d.Start > d.End }

// The first byte of the records of the log that are no batches; see recordVersion. A deletion has a
// key of its own, by which its end names it.
const (
	recordDeletion      = 0x20 // points are deleted: key | start | end | TSUIDs, each after its length
	recordDeletionWhole = 0x21 // series are deleted: key | TSUIDs
	recordDeletionDone  = 0x22 // the table has followed: key
)

func isDeletion(record []byte) bool {
	return len(record) > 0 && record[0] >= recordDeletion && record[0] <= recordDeletionDone
}

// deletionRecord returns the record of a deletion. A start that replays it deletes what stands
// before it in the log, and, unless its end stands after it, from the table.
func deletionRecord(key uint64, d *Deletion, x *index.Index) []byte {
	dst := []byte{recordDeletionWhole}
	if !d.Whole {
		dst[0] = recordDeletion
	}
	if dst = binary.AppendUvarint(dst, key); !d.Whole {
		dst = binary.AppendUvarint(dst, uint64(d.Start))
		dst = binary.AppendUvarint(dst, uint64(d.End))
	}
	for ids := range slices.Chunk(d.IDs, 1024) {
		for _, tsuid := range x.TSUIDs(nil, ids) {
			dst = append(binary.AppendUvarint(dst, uint64(len(tsuid))), tsuid...)
		}
	}
	return dst
}

// parseDeletion reads the record of a deletion. find returns the series of a TSUID.
func parseDeletion(record []byte, find func(tsuid []byte) (index.ID, error)) (key uint64, d Deletion, err error) {
	r := recordReader{rest: record}
	d.End = storage.MaxTime
	d.Whole = r.byte() == recordDeletionWhole
	if key = r.uvarint(); !d.Whole {
		d.Start, d.End = int64(r.uvarint()), int64(r.uvarint())
	}
	for r.err == nil && len(r.rest) > 0 {
		tsuid := r.bytes(r.uvarint())
		if r.err != nil {
			break
		}
		id, err := find(tsuid)
		if err != nil {
			return 0, d, fmt.Errorf("series %x: %w", tsuid, err)
		}
		d.IDs = append(d.IDs, id)
	}
	if r.err == nil && (d.Start < 0 || d.Start > d.End || d.End > storage.MaxTime) {
		r.fail()
	}
	return key, d, r.err
}

// deletionDoneRecord returns the record of the end of a deletion.
func deletionDoneRecord(key uint64) []byte {
	return binary.AppendUvarint([]byte{recordDeletionDone}, key)
}

func parseDeletionDone(record []byte) (key uint64, err error) {
	r := recordReader{rest: record[1:]}
	if key = r.uvarint(); len(r.rest) > 0 {
		r.fail()
	}
	return key, r.err
}
