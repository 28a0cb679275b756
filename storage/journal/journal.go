package journal

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

const (
	// Lease is how long a process that does not renew its lease keeps others from a deletion.
	Lease = 2 * time.Minute
	// Keep is how long the journal keeps a deletion that is over: for processes that come back after
	// that long with acknowledged points of before.
	Keep = 30 * 24 * time.Hour
	// partSeries is how many TSUIDs stand in one row: some 200 KB.
	partSeries = 1 << 13
)

// Journal is the journal of the tables of a cluster. It is safe for concurrent use.
type Journal struct {
	db    *kv.Engine
	table string
	owner string // this process
	now   func() time.Time
}

// New returns the journal in a table, which is that of the trees.
func New(db *kv.Engine, table string, now func() time.Time) *Journal {
	id := make([]byte, 8)
	_, _ = rand.Read(id) // never fails
	return &Journal{db: db, table: table, owner: hex.EncodeToString(id), now: now}
}

// An Entry is a deletion as it was read, or written by this process last.
type Entry struct {
	own.Deletion
	Key    []byte
	Time   int64 // when the record was written, by the engine's clock
	record []byte
}

// ErrLost means that rows with the series of a deletion are missing or damaged.
var ErrLost = errors.New("series of a deletion are lost")

// Begin records a deletion of series, which this process carries out. It is durable when Begin
// returns. The journal sets the state, the parts and the owner.
func (j *Journal) Begin(ctx context.Context, d own.Deletion, tsuids [][]byte) (*Entry, error) {
	id := make([]byte, 8)
	_, _ = rand.Read(id)
	e := &Entry{Deletion: d, Key: own.DeletionKey(d.Until, binary.BigEndian.Uint64(id))}
	e.Parts = 0
	for part := range slices.Chunk(tsuids, partSeries) {
		if err := j.put(ctx, own.DeletionSeriesKey(e.Key, e.Parts), own.DeletionSeriesQualifier, own.AppendDeletedSeries(nil, part)); err != nil {
			return nil, err
		}
		e.Parts++
	}
	e.State, e.Owner, e.Lease = own.DeletionBegun, j.owner, j.leaseEnd()
	e.record = e.Record()
	return e, j.put(ctx, e.Key, own.DeletionQualifier, e.record)
}

func (j *Journal) leaseEnd() int64 { return j.now().Add(Lease).UnixMilli() }

func (j *Journal) put(ctx context.Context, key []byte, qualifier string, value []byte) error {
	m := kv.Mutation{Key: key, Puts: []kv.Put{{Qualifier: []byte(qualifier), Value: value}}}
	if err := j.db.Apply(ctx, j.table, schema.FamilyData, []kv.Mutation{m}); err != nil {
		return fmt.Errorf("write the journal of deletions in %s: %w", j.table, err)
	}
	return nil
}

// Entries returns the deletions that were changed at or after a time of the engine's clock
// (milliseconds; 0: all), in the order of their begins. A record that cannot be read is left out
// and listed in bad.
func (j *Journal) Entries(ctx context.Context, since int64) (entries []*Entry, bad []error, err error) {
	scan := kv.Scan{Table: j.table, Family: schema.FamilyData, Qualifier: []byte(own.DeletionQualifier), Since: since}
	scan.Start, scan.Stop = own.Deletions()
	for row, err := range j.db.Scan(ctx, scan) {
		if err != nil {
			return nil, nil, fmt.Errorf("read the journal of deletions in %s: %w", j.table, err)
		}
		if !own.IsDeletionKey(row.Key) || len(row.Cells) == 0 {
			continue
		}
		d, err := own.ParseDeletion(row.Cells[0].Value)
		if err != nil {
			bad = append(bad, err)
			continue
		}
		entries = append(entries, &Entry{Deletion: d, Key: row.Key, Time: row.Cells[0].Time, record: row.Cells[0].Value})
	}
	return entries, bad, nil
}

// Series calls visit with the TSUIDs of a deletion, some at a time. Of a deletion that has lost some
// it visits the others, and returns an error that wraps ErrLost.
func (j *Journal) Series(ctx context.Context, e *Entry, visit func(tsuids [][]byte) error) error {
	var lost error
	for part := range e.Parts {
		tsuids, err := j.part(ctx, own.DeletionSeriesKey(e.Key, part))
		switch {
		case err == nil:
			if err := visit(tsuids); err != nil {
				return err
			}
		case !errors.Is(err, ErrLost):
			return err
		case lost == nil:
			lost = err
		}
	}
	return lost
}

// part returns the TSUIDs of one row.
func (j *Journal) part(ctx context.Context, key []byte) ([][]byte, error) {
	rows, err := j.db.Get(ctx, j.table, schema.FamilyData, [][]byte{key})
	if err != nil {
		return nil, fmt.Errorf("read the journal of deletions in %s: %w", j.table, err)
	}
	if len(rows[0].Cells) == 0 {
		return nil, fmt.Errorf("%w: row %x of %s is missing", ErrLost, key, j.table)
	}
	tsuids, err := own.ParseDeletedSeries(rows[0].Cells[0].Value)
	if err != nil {
		return nil, fmt.Errorf("%w: row %x of %s: %w", ErrLost, key, j.table, err)
	}
	return tsuids, nil
}

// Mine reports whether this process carries out a deletion.
func (j *Journal) Mine(e *Entry) bool { return e.Owner == j.owner }

// Free reports whether this process may carry out a deletion: it does already, or the lease of the
// process that did has ended.
func (j *Journal) Free(e *Entry) bool {
	return j.Mine(e) || e.Lease <= j.now().UnixMilli()
}

// Renew takes or renews the lease of a deletion. It is false if another process was faster.
func (j *Journal) Renew(ctx context.Context, e *Entry) (bool, error) {
	return j.write(ctx, e, e.Deletion)
}

// Change records how far a deletion is, and renews its lease. It is false if another process was
// faster: the deletion is no longer this one's.
func (j *Journal) Change(ctx context.Context, e *Entry, change func(d *own.Deletion)) (bool, error) {
	next := e.Deletion
	change(&next)
	return j.write(ctx, e, next)
}

func (j *Journal) write(ctx context.Context, e *Entry, next own.Deletion) (bool, error) {
	next.Owner, next.Lease = j.owner, j.leaseEnd()
	record := next.Record()
	column := kv.Column{Table: j.table, Family: schema.FamilyData, Row: e.Key, Qualifier: []byte(own.DeletionQualifier)}
	put, err := j.db.CheckAndPut(ctx, column, e.record, record)
	if err == nil && !put { // the answer to a first attempt may have been lost
		var cell *kv.Cell
		cell, err = j.cell(ctx, e)
		put = cell != nil && bytes.Equal(cell.Value, record)
	}
	if err != nil {
		return false, fmt.Errorf("write the journal of deletions in %s: %w", j.table, err)
	}
	if put {
		e.Deletion, e.record = next, record
	}
	return put, nil
}

// Changed returns when the record of a deletion was written last, by the engine's clock.
func (j *Journal) Changed(ctx context.Context, e *Entry) (int64, error) {
	cell, err := j.cell(ctx, e)
	if err != nil || cell == nil {
		return 0, err
	}
	return cell.Time, nil
}

func (j *Journal) cell(ctx context.Context, e *Entry) (*kv.Cell, error) {
	rows, err := j.db.Get(ctx, j.table, schema.FamilyData, [][]byte{e.Key})
	if err != nil {
		return nil, fmt.Errorf("read the journal of deletions in %s: %w", j.table, err)
	}
	for i, c := range rows[0].Cells {
		if string(c.Qualifier) == own.DeletionQualifier {
			return &rows[0].Cells[i], nil
		}
	}
	return nil, nil
}

// Old reports whether a deletion is over for so long that no process needs it any more.
func (j *Journal) Old(e *Entry) bool {
	return e.State == own.DeletionSettled && e.Done < j.now().Add(-Keep).UnixMilli()
}

// Remove removes a deletion that is over. The record goes first: what an interruption leaves are
// series without a record, which nothing reads.
func (j *Journal) Remove(ctx context.Context, e *Entry) error {
	parts := make([]kv.Mutation, 0, e.Parts)
	for part := range e.Parts {
		parts = append(parts, kv.Mutation{Key: own.DeletionSeriesKey(e.Key, part), DeleteRow: true})
	}
	for _, rows := range [][]kv.Mutation{{{Key: e.Key, DeleteRow: true}}, parts} {
		if err := j.db.Apply(ctx, j.table, schema.FamilyData, rows); err != nil {
			return fmt.Errorf("clean the journal of deletions in %s: %w", j.table, err)
		}
	}
	return nil
}
