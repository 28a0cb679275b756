package pebble

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/atomicfs"

	"github.com/tsdbridge/tsdbridge/storage"
)

func wallClock() int64 { return time.Now().UnixMilli() }

// Repair makes a store that no process has open whole again, without what is lost: marker files
// that a copy left out are made again, a log of Pebble's ends before its damage, and all rows of
// damaged tables that can be read are written to new ones, in whose range no older row reappears.
// Damaged files are kept in the folder "aside". It returns what was done, and what is lost. What it
// cannot repair stays as it is and is an error.
func Repair(ctx context.Context, o Options) (done []string, lost []Lost, err error) {
	return repairStore(ctx, o, onDisk())
}

func repairStore(ctx context.Context, o Options, files vfs.FS) (done []string, lost []Lost, err error) {
	r := repair{files: files, path: o.Path}
	o.accepting = true
	if err := r.repairFiles(); err != nil {
		return r.done, nil, err
	}
	e, made, err := openForRepair(o, r.files)
	if errors.Is(err, errOptions) {
		if err := r.aside(optionsFile(r.files, r.path)); err != nil {
			return r.done, nil, err
		}
		e, made, err = openForRepair(o, r.files)
	}
	if err != nil {
		return r.done, nil, err
	}
	for _, name := range made {
		r.did("%s was missing", name)
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	bad, err := e.badTables(ctx)
	if err != nil {
		return r.done, nil, err
	}
	for _, group := range overlapping(bad) {
		if err := e.replaceTables(ctx, group); err != nil {
			return r.done, nil, err
		}
		for _, b := range group {
			r.did("%s: what can be read of it is in a new table", b.name)
		}
	}
	return r.done, e.lost(bad), e.restoreLineage()
}

// repair is one Repair.
type repair struct {
	files vfs.FS
	path  string
	done  []string
}

func (r *repair) did(format string, args ...any) {
	r.done = append(r.done, fmt.Sprintf(format, args...))
}

// repairFiles repairs markers, logs and the mark, before the store is opened.
func (r *repair) repairFiles() error {
	lock, err := lockFolder(r.path, r.files, 0)
	if err != nil {
		return err
	}
	defer lock.Close()
	if _, err := inspect(r.path, r.files, false); err == nil || !errors.Is(err, storage.ErrDamaged) {
		return err
	}
	fact, _, err := readOwned(r.files, r.path)
	if err != nil || r.foreignMark(fact) {
		fact = ownedFact{}
		if err := r.aside(markName); err != nil {
			return err
		}
	}
	if err := r.repairMarkers(fact); err != nil {
		return err
	}
	for _, f := range fact.files {
		if !f.manifest {
			if err := r.repairLog(f); err != nil {
				return err
			}
		}
	}
	// What is left is a manifest: without it the tables that count are unknown.
	i := &inspection{path: r.path, files: r.files}
	if i.names, err = r.files.List(r.path); err != nil {
		return err
	}
	slices.Sort(i.names)
	i.owned.log = fact.log
	i.owned.files = slices.DeleteFunc(slices.Clone(fact.files), func(f ownedFile) bool { return !f.manifest })
	if err := i.checkOld(); err != nil {
		return fmt.Errorf("cannot be mended, restore a backup: %w", err)
	}
	own, err := keepOwned(r.files, r.path, i.owned, orDiscard(nil))
	if err != nil {
		return err
	}
	return own.close()
}

// foreignMark reports whether a mark is that of another store than the tables, as far as these can be
// read.
func (r *repair) foreignMark(fact ownedFact) (foreign bool) {
	if fact.tables.store == 0 {
		return false
	}
	err := peek(r.path, r.files, func(db *pebble.DB) error {
		s, err := readLineage(db)
		foreign = err == nil && s.Store != 0 && s.Store != fact.tables.store
		return nil
	})
	return foreign && err == nil
}

// aside keeps a file for the operator to look at.
func (r *repair) aside(name string) error {
	if err := moveAside(r.files, r.path, name); err != nil {
		return err
	}
	r.did("%s is kept in %s", name, r.files.PathJoin(r.path, asideName))
	return nil
}

// repairMarkers makes the empty files again that record which manifest counts and which format it
// has.
func (r *repair) repairMarkers(fact ownedFact) error {
	names, err := r.files.List(r.path)
	if err != nil {
		return err
	}
	has := func(prefix string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, prefix) })
	}
	var manifest string
	for _, f := range fact.files {
		if f.manifest && slices.Contains(names, f.name()) {
			manifest = max(manifest, f.name())
		}
	}
	if !has(manifestMarker) {
		if manifest == "" {
			return fmt.Errorf("%w: %s: which MANIFEST counts is not known, restore a backup", storage.ErrDamaged, r.files.PathJoin(r.path, manifestMarker+"*"))
		}
		if err := r.marker("manifest", manifest); err != nil {
			return err
		}
	}
	if !has(formatMarker) {
		// each start raises it to this
		return r.marker("format-version", pebble.FormatNewest.String())
	}
	return nil
}

func (r *repair) marker(name, value string) error {
	m, _, err := atomicfs.LocateMarker(r.files, r.path, name)
	if err != nil {
		return err
	}
	if err := errors.Join(m.Move(value), m.Close()); err != nil {
		return err
	}
	r.did("the marker of %s is made anew: %s", name, value)
	return nil
}

// repairLog ends a log of Pebble's before its damage, and keeps a copy of it as it was.
func (r *repair) repairLog(want ownedFile) error {
	name := r.files.PathJoin(r.path, want.name())
	end, _, err := walEnd(r.files, r.path, want.number)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.did("%s, with %d bytes of acknowledged changes, is missing", want.name(), want.size)
		return nil
	case err != nil:
		return err
	}
	if look := (&inspection{path: r.path, files: r.files}).checkLog(want); !errors.Is(look, storage.ErrDamaged) {
		return look
	}
	if err := r.aside(want.name()); err != nil {
		return err
	}
	if err := copyStart(r.files, r.files.PathJoin(r.path, asideName, want.name()), name, end); err != nil {
		return err
	}
	r.did("%s ends at byte %d; %d bytes of acknowledged changes are lost", want.name(), end, want.size-end)
	return nil
}

// copyStart makes a file of the first bytes of another.
func copyStart(files vfs.FS, from, to string, size int64) error {
	src, err := files.Open(from)
	if err != nil {
		return err
	}
	b := make([]byte, size)
	_, err = src.ReadAt(b, 0)
	if err := errors.Join(err, src.Close()); err != nil {
		return err
	}
	dst, err := files.Create(to, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = dst.Write(b)
	if err := errors.Join(err, dst.Sync(), dst.Close()); err != nil {
		return err
	}
	return syncFolder(files, files.PathDir(to))
}

// overlapping puts tables together whose ranges overlap.
func overlapping(bad []badTable) (groups [][]badTable) {
	var end []byte
	for _, b := range bad { // ascending by their begin
		if n := len(groups); n > 0 && bytes.Compare(b.all.from, end) < 0 {
			groups[n-1] = append(groups[n-1], b)
		} else {
			groups, end = append(groups, []badTable{b}), nil
		}
		if bytes.Compare(b.all.to, end) > 0 {
			end = b.all.to
		}
	}
	return groups
}

// replaceTables writes the rows of a range that can be read to a new table, which takes the place
// of everything there, on all levels, in one step.
func (e *folder) replaceTables(ctx context.Context, group []badTable) error {
	all := group[0].all
	var broken []span
	for _, b := range group {
		if bytes.Compare(b.all.to, all.to) > 0 {
			all.to = b.all.to
		}
		broken = append(broken, b.broken...)
		base := e.files.PathBase(b.name)
		dir := e.files.PathJoin(e.path, asideName)
		if err := e.files.MkdirAll(dir, folderMode); err != nil {
			return err
		}
		if err := e.files.Link(b.name, e.files.PathJoin(dir, base)); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	slices.SortFunc(broken, func(a, b span) int { return bytes.Compare(a.from, b.from) })
	fresh := e.files.PathJoin(e.path, asideName, "new-table")
	rows, err := e.copyRows(ctx, fresh, all, broken)
	if err != nil {
		return err
	}
	cut := pebble.KeyRange{Start: all.from, End: all.to}
	if rows == 0 {
		return errors.Join(e.db().Excise(ctx, cut), e.files.Remove(fresh))
	}
	_, err = e.db().IngestAndExcise(ctx, []string{fresh}, nil, nil, cut)
	return err
}

// copyRows writes the rows of a range, except for broken ones, to a file.
func (e *folder) copyRows(ctx context.Context, name string, all span, broken []span) (rows int, err error) {
	file, err := e.files.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return 0, err
	}
	options := tuned(Options{}, e.files)
	options.EnsureDefaults()
	w := sstable.NewWriter(objstorageprovider.NewFileWritable(file), options.MakeWriterOptions(6, e.db().TableFormat()))
	defer func() { err = errors.Join(err, w.Close()) }()
	from := all.from
	for _, b := range append(slices.Clone(broken), span{all.to, all.to}) {
		if bytes.Compare(from, b.from) < 0 {
			n, err := e.copySpan(ctx, w, span{from, b.from})
			if err != nil {
				return 0, err
			}
			rows += n
		}
		if bytes.Compare(b.to, from) > 0 {
			from = b.to
		}
	}
	return rows, nil
}

func (e *folder) copySpan(ctx context.Context, w *sstable.Writer, s span) (rows int, err error) {
	it, err := e.db().NewIter(&pebble.IterOptions{LowerBound: s.from, UpperBound: s.to})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; ok = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return 0, explain(err)
		}
		if err := w.Set(it.Key(), value); err != nil {
			return 0, err
		}
		if rows++; rows%4096 == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
	}
	return rows, explain(it.Error())
}
