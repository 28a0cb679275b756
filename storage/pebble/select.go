package pebble

import (
	"bytes"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// selection says which cells of a row are wanted.
type selection struct {
	qualifier []byte // nil: any
	since     int64  // milliseconds
	keysOnly  bool   // whether there is one is enough
}

var everything = selection{}

func selectionOf(s *kv.Scan) selection {
	return selection{qualifier: s.Qualifier, since: s.Since, keysOnly: s.KeysOnly}
}

func (s *selection) takes(r *record) bool {
	return !r.deleted && r.time >= s.since && (len(s.qualifier) == 0 || bytes.Equal(r.qualifier, s.qualifier))
}

// cells returns the wanted cells of a row in memory of their own. With keysOnly it returns one cell without a value,
// and only if there is one to return.
func (s *selection) cells(row []byte) ([]kv.Cell, error) {
	r, err := parseRow(row)
	if err != nil {
		return nil, err
	}
	if r.left == 0 || r.last < s.since {
		return nil, nil
	}
	part := len(s.qualifier) > 0 || s.since > 0 || s.keysOnly
	if !part {
		r.rest = bytes.Clone(r.rest)
	}
	var cells []kv.Cell
	for {
		var rec record
		more, err := r.next(&rec)
		if err != nil || !more {
			return cells, err
		}
		switch {
		case !s.takes(&rec):
		case s.keysOnly:
			return []kv.Cell{{Qualifier: bytes.Clone(rec.qualifier), Time: rec.time}}, nil
		case part:
			cells = append(cells, kv.Cell{Qualifier: bytes.Clone(rec.qualifier), Value: bytes.Clone(rec.value), Time: rec.time})
		default:
			if cells == nil {
				cells = make([]kv.Cell, 0, r.left+1)
			}
			cells = append(cells, kv.Cell{Qualifier: rec.qualifier, Value: rec.value, Time: rec.time})
		}
	}
}
