package hbasetest

import (
	"bytes"
	"cmp"
	"maps"
	"math"
	"slices"
	"time"
)

type table struct {
	name     string
	families []string
	disabled bool
	regions  []*region // in the order of their keys
	rows     map[string]row
	keys     []string // of rows, ascending; nil when they have to be sorted again
}

// A row is everything that was put and deleted, by family, in the order of CellComparator.
type row map[string][]cell

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

// add takes a put or a deletion.
func (t *table) add(c cell) {
	r := t.rows[string(c.row)]
	if r == nil {
		r = row{}
		t.rows[string(c.row)] = r
		t.keys = nil
	}
	if c.time == math.MaxInt64 {
		c.time = time.Now().UnixMilli()
	}
	at, same := slices.BinarySearchFunc(r[c.family], c, compareCells)
	if same {
		r[c.family][at] = c
	} else {
		r[c.family] = slices.Insert(r[c.family], at, c)
	}
}

func compareCells(a, b cell) int {
	return cmp.Or(bytes.Compare(a.qualifier, b.qualifier), cmp.Compare(b.time, a.time), cmp.Compare(b.kind, a.kind))
}

// cells returns what a read of a family returns for a row: all cells, or those of one qualifier,
// that are not older than since.
func (t *table) cells(key []byte, family string, qualifiers [][]byte, since int64) []cell {
	var out []cell
	all := t.rows[string(key)][family]
	deletes := slices.DeleteFunc(slices.Clone(all), func(c cell) bool { return c.kind == typePut })
	for _, c := range all {
		wanted := len(qualifiers) == 0 || slices.ContainsFunc(qualifiers, func(w []byte) bool { return bytes.Equal(w, c.qualifier) })
		older := len(out) > 0 && bytes.Equal(out[len(out)-1].qualifier, c.qualifier)
		deleted := slices.ContainsFunc(deletes, func(d cell) bool { return d.hides(c) })
		if c.kind == typePut && wanted && !older && !deleted && c.time >= since {
			out = append(out, c)
		}
	}
	return out
}

// hides reports whether a deletion hides a put.
func (c cell) hides(put cell) bool {
	switch c.kind {
	case typeDelete:
		return bytes.Equal(c.qualifier, put.qualifier) && put.time == c.time
	case typeDeleteFamilyVersion:
		return put.time == c.time
	case typeDeleteColumn:
		return bytes.Equal(c.qualifier, put.qualifier) && put.time <= c.time
	case typeDeleteFamily:
		return put.time <= c.time
	}
	return false
}

// raw returns all deletions, and at most a number of puts for each qualifier.
func (t *table) raw(key []byte, family string, versions int) []cell {
	var out []cell
	n := 0
	for _, c := range t.rows[string(key)][family] {
		if len(out) > 0 && !bytes.Equal(out[len(out)-1].qualifier, c.qualifier) {
			n = 0
		}
		if c.kind == typePut {
			n++
		}
		if n <= versions {
			out = append(out, c)
		}
	}
	return out
}
