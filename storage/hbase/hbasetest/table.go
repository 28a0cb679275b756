package hbasetest

import (
	"bytes"
	"maps"
	"slices"
	"time"
)

type table struct {
	name     string
	families []string
	regions  []*region // in the order of their keys
	rows     map[string]row
	keys     []string // of rows, ascending; nil when they have to be sorted again
}

// A row is its cells by family and qualifier.
type row map[string]map[string]cell

type region struct {
	name        string
	id          uint64
	table       *table
	start, stop []byte // an empty stop is the end of the table
	server      int
}

func (r *region) holds(key []byte) bool {
	return bytes.Compare(key, r.start) >= 0 && (len(r.stop) == 0 || bytes.Compare(key, r.stop) < 0)
}

func (t *table) regionOf(key []byte) *region {
	i := slices.IndexFunc(t.regions, func(r *region) bool { return r.holds(key) })
	return t.regions[i]
}

// sorted returns the keys in order.
func (t *table) sorted() []string {
	if t.keys == nil {
		t.keys = slices.Sorted(maps.Keys(t.rows))
	}
	return t.keys
}

// put writes a cell now.
func (t *table) put(c cell) {
	r := t.rows[string(c.row)]
	if r == nil {
		r = row{}
		t.rows[string(c.row)] = r
		t.keys = nil
	}
	if r[c.family] == nil {
		r[c.family] = map[string]cell{}
	}
	c.time = time.Now().UnixMilli()
	r[c.family][string(c.qualifier)] = c
}

// remove deletes a cell, or all of a family when that is what c says.
func (t *table) remove(c cell) {
	r := t.rows[string(c.row)]
	if r == nil {
		return
	}
	if c.kind == typeDeleteFamily {
		delete(r, c.family)
	} else {
		delete(r[c.family], string(c.qualifier))
		if len(r[c.family]) == 0 {
			delete(r, c.family)
		}
	}
	if len(r) == 0 {
		delete(t.rows, string(c.row))
		t.keys = nil
	}
}

// cells returns what a read of a family sees of a row: all cells, or those of one qualifier, that are not older than since.
func (t *table) cells(key []byte, family string, qualifiers [][]byte, since int64) []cell {
	var out []cell
	for _, q := range slices.Sorted(maps.Keys(t.rows[string(key)][family])) {
		c := t.rows[string(key)][family][q]
		wanted := len(qualifiers) == 0 || slices.ContainsFunc(qualifiers, func(w []byte) bool { return string(w) == q })
		if wanted && c.time >= since {
			out = append(out, c)
		}
	}
	return out
}
