package compact

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

const (
	// leaseTime is how long a lease lasts; renewEvery is how often its owner renews it and notes how
	// far it is. The clocks of processes may differ. Two owners at once do no harm: each row is
	// changed only while it is as it was read.
	leaseTime  = 5 * time.Minute
	renewEvery = time.Minute
	// partsMost bounds the parts that a table is cut into.
	partsMost = 1 << 12
)

// A part is a range of row keys of the data table, within one salt bucket and one region.
type part struct{ start, stop []byte }

// parts cuts the table where regions and salt buckets begin.
func (c *Compactor) parts(ctx context.Context) ([]part, error) {
	whole := kv.Scan{Table: c.o.Data, Family: schema.FamilyData}
	regions, err := c.o.DB.Versioned.Split(ctx, whole, partsMost)
	if err != nil {
		return nil, err
	}
	var cuts [][]byte
	for _, r := range regions {
		cuts = append(cuts, r.Start)
	}
	for bucket := 1; bucket < c.o.Layout.Buckets(); bucket++ {
		cuts = append(cuts, c.o.Layout.AppendSalt(nil, bucket))
	}
	slices.SortFunc(cuts, bytes.Compare)
	var parts []part
	for _, s := range kv.SplitAt(whole, slices.CompactFunc(cuts, bytes.Equal)) {
		parts = append(parts, part{s.Start, s.Stop})
	}
	return parts, nil
}

// A lease is the record of a part as it was read.
type lease struct {
	own.Lease
	start  []byte
	record []byte // nil: there is none
}

// leases are all records, in the order of their keys.
type leases []lease

// readLeases reads all records.
func (c *Compactor) readLeases(ctx context.Context) (leases, error) {
	var book leases
	scan := kv.Scan{Table: c.o.Leases, Family: schema.FamilyData, Start: own.LeaseKey(nil), Stop: own.LeasesEnd()}
	for row, err := range c.o.DB.Scan(ctx, scan) {
		if err != nil {
			return nil, fmt.Errorf("read the leases of closed rows in %s: %w", c.o.Leases, err)
		}
		if l, ok := newLease(row); ok {
			book = append(book, l)
		}
	}
	return book, nil
}

// newLease reads the record of a row. A record that cannot be read counts as one without an
// owner and without work done.
func newLease(row kv.Row) (l lease, ok bool) {
	start, ok := own.ParseLeaseKey(row.Key)
	if !ok {
		return lease{}, false
	}
	for _, cell := range row.Cells {
		if string(cell.Qualifier) == own.LeaseQualifier {
			l.start, l.record = start, cell.Value
			l.Lease, _ = own.ParseLease(cell.Value)
			return l, true
		}
	}
	return lease{}, false
}

// of returns the lease of a part. A part that is new, since its region was split, is as far as the
// one that it was cut from; one of regions that were merged is as far as the last of them.
func (b leases) of(p part) lease {
	l := lease{start: p.start}
	at, found := slices.BinarySearchFunc(b, p.start, func(l lease, start []byte) int { return bytes.Compare(l.start, start) })
	switch {
	case found:
		l = b[at]
		at++
	case at > 0 && (len(b[at-1].End) == 0 || bytes.Compare(p.start, b[at-1].End) < 0):
		l.Done, l.Again, l.Walked = b[at-1].Done, b[at-1].Again, b[at-1].Walked
		if b[at-1].To > 0 { // the hours of an unfinished pass may be undone here
			l.Done, l.Again = min(l.Done, b[at-1].From), min(l.Again, b[at-1].From)
		}
	}
	for _, inside := range b[at:] {
		if len(p.stop) > 0 && bytes.Compare(inside.start, p.stop) >= 0 {
			break
		}
		l.Done, l.Again, l.Walked = min(l.Done, inside.Done), min(l.Again, inside.Again), min(l.Walked, inside.Walked)
	}
	return l
}

// heldBy reports whether another process has the lease.
func (l *lease) heldByOther(owner string, now time.Time) bool {
	return l.Owner != "" && l.Owner != owner && l.Until > now.UnixMilli()
}

// write puts a record in place of the one that was read, or written last. It is false if another
// process was faster.
func (c *Compactor) write(ctx context.Context, l *lease, next own.Lease) (bool, error) {
	column := kv.Column{Table: c.o.Leases, Family: schema.FamilyData, Row: own.LeaseKey(l.start), Qualifier: []byte(own.LeaseQualifier)}
	record := next.Record()
	if bytes.Equal(record, l.record) {
		return true, nil
	}
	put, err := c.o.DB.CheckAndPut(ctx, column, l.record, record)
	if err == nil && !put { // the answer to a first attempt may have been lost
		put, err = c.holds(ctx, column, record)
	}
	if err != nil {
		return false, fmt.Errorf("write the lease of closed rows from %x: %w", l.start, err)
	}
	if put {
		l.Lease, l.record = next, record
	}
	return put, nil
}

// holds reports whether a column has a value.
func (c *Compactor) holds(ctx context.Context, column kv.Column, value []byte) (bool, error) {
	rows, err := c.o.DB.Get(ctx, column.Table, column.Family, [][]byte{column.Row})
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(rows[0].Cells, func(cell kv.Cell) bool {
		return bytes.Equal(cell.Qualifier, column.Qualifier) && bytes.Equal(cell.Value, value)
	}), nil
}
