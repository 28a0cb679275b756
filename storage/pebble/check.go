package pebble

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"regexp"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// Lost is a range of rows that cannot be read. Only some of the rows between the two may have been
// there.
type Lost struct {
	Table, Family string // empty: what the store keeps about itself
	kv.KeyRange          // From is inclusive, To exclusive
	Files         []string
}

// span is a range of keys with their families' bytes, the end exclusive.
type span struct{ from, to []byte }

func (s span) overlaps(o span) bool {
	return bytes.Compare(s.from, o.to) < 0 && bytes.Compare(o.from, s.to) < 0
}

// badTable is a table of the store that cannot be read as a whole.
type badTable struct {
	name   string // with its folder
	all    span   // of the table
	broken []span // in it, ascending
	err    error
}

// after returns the first key after a key.
func after(key []byte) []byte { return append(bytes.Clone(key), 0) }

// badTables reads all tables that the store lists, and returns those that are damaged or missing.
func (e *folder) badTables(ctx context.Context) (bad []badTable, err error) {
	levels, err := e.db().SSTables()
	if err != nil {
		return nil, err
	}
	for _, tables := range levels {
		for _, t := range tables {
			b := badTable{
				name: e.files.PathJoin(e.path, tableName(uint64(t.BackingSSTNum))),
				all:  span{bytes.Clone(t.Smallest.UserKey), after(t.Largest.UserKey)},
			}
			if b.err = readTable(ctx, e.files, b.name, b.all, t.Virtual); b.err == nil {
				continue
			}
			if !errors.Is(b.err, storage.ErrDamaged) && !errors.Is(b.err, fs.ErrNotExist) {
				return nil, b.err
			}
			b.broken = brokenSpans(ctx, e.files, b.name, b.all)
			bad = append(bad, b)
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
	}
	slices.SortFunc(bad, func(a, b badTable) int { return bytes.Compare(a.all.from, b.all.from) })
	return bad, nil
}

// readTable reads all of a table. If only a part of the file belongs to it, it reads the rows of
// that, and what is no row: damaged rows of other parts harm nobody.
func readTable(ctx context.Context, files vfs.FS, name string, all span, part bool) error {
	if !part {
		return checkTable(ctx, files, name)
	}
	r, err := openTable(ctx, files, name)
	if err != nil {
		return err
	}
	w := tableWalk{r: r}
	w.read(all.from, all.to)
	if w.err == nil {
		if err := r.ValidateBlockChecksums(); err != nil && w.readsAll() {
			w.err = err // of the filter, for example, which reads of single rows need
		}
	}
	return errors.Join(damagedTable(name, w.err), r.Close())
}

// readsAll reports whether all rows of a file can be read.
func (w *tableWalk) readsAll() bool {
	it, err := w.r.NewIter(sstable.NoTransforms, nil, nil, sstable.AssertNoBlobHandles)
	if err != nil {
		return false
	}
	for row := it.First(); row != nil; row = it.Next() {
	}
	return errors.Join(it.Error(), it.Close()) == nil
}

// tableWalk steps through the rows of a table.
type tableWalk struct {
	r    *sstable.Reader
	last []byte // the last key that was read
	err  error
}

// read goes from a key up to another, or to the first damage.
func (w *tableWalk) read(from, to []byte) {
	it, err := w.r.NewIter(sstable.NoTransforms, nil, nil, sstable.AssertNoBlobHandles)
	if err != nil {
		w.err = err
		return
	}
	for row := it.SeekGE(from, 0); row != nil && bytes.Compare(row.K.UserKey, to) < 0; row = it.Next() {
		w.last = append(w.last[:0], row.K.UserKey...)
	}
	w.err = errors.Join(it.Error(), it.Close())
}

// at returns the first key not before a key; ok is false where the table cannot be read.
func (w *tableWalk) at(key []byte) (first []byte, ok bool) {
	it, err := w.r.NewIter(sstable.NoTransforms, nil, nil, sstable.AssertNoBlobHandles)
	if err != nil {
		return nil, false
	}
	if row := it.SeekGE(key, 0); row != nil {
		first = bytes.Clone(row.K.UserKey)
	}
	return first, errors.Join(it.Error(), it.Close()) == nil
}

// brokenSpans returns the ranges of a table that cannot be read. Each begins with the last row
// before the damage, at which a reader already meets it.
func brokenSpans(ctx context.Context, files vfs.FS, name string, all span) (broken []span) {
	r, err := openTable(ctx, files, name)
	if err != nil {
		return []span{all}
	}
	defer r.Close()
	for from := all.from; ; {
		w := tableWalk{r: r}
		if w.read(from, all.to); w.err == nil {
			return broken
		}
		begin := from
		if w.last != nil {
			begin = w.last
		}
		next := w.nextGood(begin, all.to)
		if next == nil {
			return append(broken, span{bytes.Clone(begin), all.to})
		}
		broken, from = append(broken, span{bytes.Clone(begin), next}), next
	}
}

// longestProbe is how many bytes of a key are looked for: enough for a row key of 9 tags, beyond
// which the range gets larger than need be.
const longestProbe = 64

// nextGood finds the first key after a damage that can be read, byte by byte: a seek fails as long
// as it leads into the damage. nil: there is none.
func (w *tableWalk) nextGood(begin, end []byte) (next []byte) {
	try := func(key []byte) bool {
		if bytes.Compare(key, begin) <= 0 {
			return false
		}
		first, ok := w.at(key)
		if ok && first != nil && bytes.Compare(first, begin) > 0 && bytes.Compare(first, end) < 0 && (next == nil || bytes.Compare(first, next) < 0) {
			next = first
		}
		return ok
	}
	var key []byte
	for len(key) < longestProbe {
		low, high := 0, 256 // the smallest byte that can be read is in between, or there is none
		for low < high {
			if middle := (low + high) / 2; try(append(key, byte(middle))) {
				high = middle
			} else {
				low = middle + 1
			}
		}
		if low == 0 {
			break
		}
		key = append(key, byte(low-1))
	}
	return next
}

// Check reads all of a store that no process has open and returns what of it is lost. It changes
// nothing except what every start changes.
func Check(ctx context.Context, o Options) ([]Lost, error) { return check(ctx, o, onDisk()) }

func check(ctx context.Context, o Options, files vfs.FS) (lost []Lost, err error) {
	e, made, err := openForRepair(o, files)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.Close(), removeAll(files, made)) }()
	bad, err := e.badTables(ctx)
	if err != nil {
		return nil, err
	}
	for i := range bad {
		if b := &bad[i]; len(b.broken) == 0 { // the filter is damaged: no row can be read by its key
			b.broken = []span{b.all}
		}
	}
	return e.lost(bad), nil
}

// repairing returns the options with which a damaged store is looked at: nothing is compacted, and
// missing tables are no reason not to open it.
func repairing(o Options) Options {
	o.repairing = true
	return o
}

// openForRepair opens a store in which tables may be missing. Pebble reports nothing about a
// missing table, so an empty file takes its place; the names of these files are returned.
func openForRepair(o Options, files vfs.FS) (e *Engine, made []string, err error) {
	for {
		if e, err = open(repairing(o), files, wallClock); err == nil {
			if _, err = e.db().SSTables(); err == nil {
				return e, made, nil
			}
			err = errors.Join(err, e.Close())
		}
		name, ok := missingIn(err, files, o.Path)
		if !ok {
			return nil, nil, errors.Join(err, removeAll(files, made))
		}
		if err := touch(files, name); err != nil {
			return nil, nil, errors.Join(err, removeAll(files, made))
		}
		made = append(made, name)
	}
}

// missingIn finds the name of a missing table in Pebble's error.
func missingIn(err error, files vfs.FS, path string) (name string, ok bool) {
	for _, m := range regexp.MustCompile(`file (\d{6,})`).FindAllStringSubmatch(err.Error(), -1) {
		name = files.PathJoin(path, m[1]+".sst")
		if _, err := files.Stat(name); errors.Is(err, fs.ErrNotExist) {
			return name, true
		}
	}
	return "", false
}

func removeAll(files vfs.FS, names []string) (err error) {
	for _, name := range names {
		if e := files.Remove(name); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}

func (o Options) forRepair(p *pebble.Options) {
	p.DisableAutomaticCompactions, p.DisableConsistencyCheck = o.repairing, o.repairing
}

// lost describes by tables what cannot be read.
func (e *tableRows) lost(bad []badTable) (list []Lost) {
	for _, b := range bad {
		for _, s := range b.broken {
			list = append(list, e.inFamilies(s, b.name)...)
		}
	}
	return list
}

// inFamilies cuts a range of keys at the borders of families.
func (e *tableRows) inFamilies(s span, file string) (list []Lost) {
	own := Lost{KeyRange: kv.KeyRange{From: s.from, To: s.to}, Files: []string{file}}
	if len(s.from) == 0 || s.from[0] == ownKeys {
		list = append(list, own)
	}
	for name, id := range e.families {
		f := span{[]byte{id}, []byte{id + 1}}
		if !f.overlaps(s) {
			continue
		}
		l := Lost{Table: name.table, Family: name.family, Files: []string{file}}
		if bytes.Compare(s.from, f.from) > 0 {
			l.From = bytes.Clone(s.from[1:])
		}
		if bytes.Compare(s.to, f.to) < 0 {
			l.To = bytes.Clone(s.to[1:])
		}
		list = append(list, l)
	}
	slices.SortFunc(list, func(a, b Lost) int { return bytes.Compare([]byte(a.Table+a.Family), []byte(b.Table+b.Family)) })
	return list
}
