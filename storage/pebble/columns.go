package pebble

import (
	"cmp"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tsdbridge/tsdbridge/storage/columns"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// coder makes coded cells; it is the memory of one Apply.
type coder struct {
	columns columns.Encoder
	coded   []byte // of a row; what records hold of it stays when it grows
	key     []byte
	row     []byte
	records []record
}

// add adds the change of a row to a batch.
func (c *coder) add(batch *pebble.Batch, id byte, m *kv.Mutation, now int64) error {
	c.key = append(append(c.key[:0], id), m.Key...)
	if m.DeleteRow {
		return batch.Delete(c.key, nil)
	}
	defer c.trim()
	last := c.change(m, now)
	if len(c.records) == 0 {
		return nil
	}
	c.row = appendRow(c.row[:0], c.records, last)
	return batch.Merge(c.key, c.row, nil)
}

// addCoded adds a coded cell to a batch.
func (c *coder) addCoded(batch *pebble.Batch, id byte, r *kv.CodedRow, now int64) error {
	c.key = append(append(c.key[:0], id), r.Key...)
	one := [1]record{{coded: r.Cell, time: now}}
	c.row = appendRow(c.row[:0], one[:], now)
	return batch.Merge(c.key, c.row, nil)
}

// change sets the records to what a mutation does to the cells of its row, and returns the greatest
// of their times and now.
func (c *coder) change(m *kv.Mutation, now int64) (last int64) {
	last = now
	c.records, c.coded = c.records[:0], c.coded[:0]
	for i := range m.Puts {
		r := c.put(&m.Puts[i], now)
		last = max(last, r.time)
		c.records = append(c.records, r)
	}
	for i := range m.Deletes {
		c.records = append(c.records, record{qualifier: m.Deletes[i].Qualifier, deleted: true})
	}
	c.records = newest(c.records, false)
	return last
}

// put returns the record of a cell. Cells that are no columns of points, and small ones, are kept
// as they are.
func (c *coder) put(p *kv.Put, now int64) record {
	r := record{qualifier: p.Qualifier, value: p.Value, time: cmp.Or(p.Time, now)}
	at := len(c.coded)
	var ok bool
	if c.coded, ok = c.columns.Append(c.coded, p.Qualifier, p.Value); ok {
		r.coded = c.coded[at:len(c.coded):len(c.coded)]
	}
	return r
}

// trim releases the caller's memory, and what an unusual row has taken.
func (c *coder) trim() {
	clear(c.records)
	if cap(c.coded)+cap(c.row) > maxPooled {
		*c = coder{}
	}
}

// decoder makes cells of coded cells.
type decoder struct {
	columns          columns.Decoder
	qualifier, value []byte
}

// open sets the qualifier and the value of a record whose cell is coded; they are valid until the
// next call.
func (d *decoder) open(r *record) (err error) {
	if r.coded == nil {
		return nil
	}
	d.qualifier, d.value, err = d.columns.AppendCell(d.qualifier[:0], d.value[:0], r.coded)
	if err != nil {
		return fmt.Errorf("%w: %w", errCorrupt, err)
	}
	r.qualifier, r.value = d.qualifier, d.value
	return nil
}
