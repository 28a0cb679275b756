package pebble

import (
	"bytes"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// selection is which cells of a row are wanted.
type selection struct {
	qualifier []byte // nil: any
	since     int64  // milliseconds
}

var everything = selection{}

func selectionOf(s *kv.Scan) selection {
	return selection{qualifier: s.Qualifier, since: s.Since}
}

func (s *selection) takes(r *record) bool {
	return !r.deleted && r.time >= s.since && (len(s.qualifier) == 0 || bytes.Equal(r.qualifier, s.qualifier))
}

// opens reports whether a record must be opened, because it is coded and may be wanted.
func (s *selection) opens(r *record) bool { return r.coded != nil && r.time >= s.since }

// all reports whether no cell is left out.
func (s *selection) all() bool { return len(s.qualifier) == 0 && s.since <= 0 }

// any reports whether a row has a cell that is wanted.
func (s *selection) any(row []byte, d *decoder) (bool, error) {
	r, err := parseRow(row)
	if err != nil || r.left == 0 || r.last < s.since {
		return false, err
	}
	if s.all() && !r.changes {
		return true, nil
	}
	for {
		var rec record
		if more, err := r.next(&rec); err != nil || !more {
			return false, err
		}
		if len(s.qualifier) > 0 && s.opens(&rec) {
			if err := d.open(&rec); err != nil {
				return false, err
			}
		}
		if s.takes(&rec) {
			return true, nil
		}
	}
}

// cells returns the wanted cells of a row in memory of their own.
func (s *selection) cells(row []byte, d *decoder) ([]kv.Cell, error) {
	r, err := parseRow(row)
	if err != nil || r.left == 0 || r.last < s.since {
		return nil, err
	}
	all := s.all()
	var cells []kv.Cell
	if all {
		r.rest = bytes.Clone(r.rest)
		cells = make([]kv.Cell, 0, r.left)
	}
	for {
		var rec record
		more, err := r.next(&rec)
		if err != nil || !more {
			return cells, err
		}
		if s.opens(&rec) {
			if err := d.open(&rec); err != nil {
				return nil, err
			}
		}
		switch {
		case !s.takes(&rec):
		case all && rec.coded == nil:
			cells = append(cells, kv.Cell{Qualifier: rec.qualifier, Value: rec.value, Time: rec.time})
		default:
			cells = append(cells, ownCell(&rec))
		}
	}
}

// ownCell copies a cell into one piece of memory.
func ownCell(r *record) kv.Cell {
	n := len(r.qualifier)
	b := make([]byte, n+len(r.value))
	copy(b, r.qualifier)
	copy(b[n:], r.value)
	return kv.Cell{Qualifier: b[:n:n], Value: b[n:], Time: r.time}
}

// cellOf returns the value of one cell of a row.
func cellOf(row, qualifier []byte) (value []byte, found bool, err error) {
	r, err := parseRow(row)
	if err != nil {
		return nil, false, err
	}
	var d decoder
	for {
		var rec record
		if more, err := r.next(&rec); err != nil || !more {
			return nil, false, err
		}
		if err := d.open(&rec); err != nil {
			return nil, false, err
		}
		if !rec.deleted && bytes.Equal(rec.qualifier, qualifier) {
			return rec.value, true, nil
		}
	}
}
