package pebble

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"

	"github.com/tsdbridge/tsdbridge/storage"
)

// The files in the folder of a store other than its tables.
const (
	manifestMarker = "marker.manifest."
	formatMarker   = "marker.format-version."
	optionsPrefix  = "OPTIONS-"
	logFolder      = "log" // of the adapter's write log, unless it is elsewhere
)

// ErrForeign means that a folder holds something and no store.
var ErrForeign = errors.New("is not empty and holds no store")

// inspection is what is found in the folder of a store before it is opened. Nothing is changed by
// looking.
type inspection struct {
	path    string
	files   vfs.FS
	names   []string
	owned   ownedFact
	marked  bool // owned is known
	current ownedFile
}

// inspect refuses a folder that Pebble would take for a new store, or an older one, though it is
// more: Pebble removes files that it does not know.
func inspect(path string, files vfs.FS, restoring bool) (*inspection, error) {
	f := &inspection{path: path, files: files}
	var err error
	if f.names, err = files.List(path); errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return nil, err
	}
	slices.Sort(f.names)
	if err := checkRestored(path, files); err != nil && !restoring {
		return nil, err
	}
	if f.owned, f.marked, err = readOwned(files, path); err != nil {
		return nil, f.damaged(markName, err.Error())
	}
	if !f.has(manifestMarker) {
		return f, f.checkNew()
	}
	return f, f.checkOld()
}

func (f *inspection) damaged(name, what string) error {
	return fmt.Errorf("%w: %s: %s; nothing was changed", storage.ErrDamaged, f.files.PathJoin(f.path, name), what)
}

func (f *inspection) has(prefix string) bool {
	return slices.ContainsFunc(f.names, func(n string) bool { return strings.HasPrefix(n, prefix) })
}

// isTable reports whether a name is one of a table, or of a file of values that belongs to one.
func isTable(name string) bool {
	return strings.HasSuffix(name, ".sst") || strings.HasSuffix(name, ".blob")
}

// checkNew returns an error unless a folder without a store is empty or contains only what an
// interrupted start leaves.
func (f *inspection) checkNew() error {
	for _, name := range f.names {
		_, grows := ownedOf(name)
		switch {
		case isTable(name), grows && !strings.HasPrefix(name, manifestPrefix), strings.HasPrefix(name, formatMarker), strings.HasPrefix(name, optionsPrefix):
			return f.damaged(manifestMarker+"*", "the file that names the current MANIFEST is missing, and there is "+name+
				" (the marker files are empty; some tools do not copy such)")
		}
	}
	if f.marked && len(f.owned.files) > 0 && !f.has(manifestPrefix) {
		return f.damaged(f.owned.files[0].name(), "is missing, with the tables")
	}
	for _, name := range f.names {
		if !f.mayBeNew(name) {
			return fmt.Errorf("%q %w: it has %s", f.path, ErrForeign, name)
		}
	}
	return nil
}

// mayBeNew reports whether a file may be where a store is begun.
func (f *inspection) mayBeNew(name string) bool {
	switch {
	case name == lockName, name == lostName, isTrial(name), strings.HasPrefix(name, markName), strings.HasPrefix(name, manifestPrefix), strings.HasSuffix(name, ".dbtmp"):
		return true
	case strings.HasPrefix(name, "log-") && strings.Contains(name, ".mark"): // of a log that is about to begin
		return true
	case name != logFolder:
		return false
	}
	return f.empty(f.files.PathJoin(f.path, name))
}

// empty reports whether there are no segments of a write log in a folder.
func (f *inspection) empty(dir string) bool {
	names, err := f.files.List(dir)
	if err != nil {
		return false
	}
	for _, name := range names {
		info, err := f.files.Stat(f.files.PathJoin(dir, name))
		if err != nil || !info.IsDir() && name != lockName || info.IsDir() && !f.empty(f.files.PathJoin(dir, name)) {
			return false
		}
	}
	return true
}

// checkOld compares the files of a store with its mark.
func (f *inspection) checkOld() error {
	i := slices.IndexFunc(f.names, func(n string) bool { return strings.HasPrefix(n, manifestMarker) })
	marker := f.names[i]
	manifest := marker[strings.LastIndexByte(marker, '.')+1:]
	current, ok := ownedOf(manifest)
	if !ok || !current.manifest {
		return f.damaged(marker, "names no MANIFEST")
	}
	if !slices.Contains(f.names, manifest) {
		return f.damaged(manifest, "is missing")
	}
	if !f.has(formatMarker) {
		return f.damaged(formatMarker+"*", "the file with the format of the tables is missing (the marker files are empty; some tools do not copy such)")
	}
	f.current = current
	for _, want := range f.owned.files {
		var err error
		switch {
		case !want.manifest:
			err = f.checkLog(want)
		case want.number == current.number:
			err = f.checkManifest(want)
		}
		if err != nil {
			return err
		}
	}
	return f.checkCurrent()
}

// checkCurrent wants the manifest that counts to be none from before all that the mark knows.
func (f *inspection) checkCurrent() error {
	for _, known := range f.owned.files {
		if known.manifest && known.number <= f.current.number {
			return nil
		}
	}
	if !slices.ContainsFunc(f.owned.files, func(known ownedFile) bool { return known.manifest }) {
		return nil
	}
	return f.damaged(f.current.name(), "is older than those that the store had last")
}

// checkManifest wants the bytes that were synced.
func (f *inspection) checkManifest(want ownedFile) error {
	got, err := manifestSum(f.files, f.files.PathJoin(f.path, want.name()), want.size)
	switch {
	case err != nil:
		return err
	case got.size < want.size:
		return f.damaged(want.name(), fmt.Sprintf("has %d bytes of %d: tables would be missing", got.size, want.size))
	case got.sum != want.sum:
		return f.damaged(want.name(), fmt.Sprintf("its first %d bytes are not those that were written", want.size))
	}
	return nil
}

// manifestSum reads up to so many bytes.
func manifestSum(files vfs.FS, name string, most int64) (got ownedFile, err error) {
	file, err := files.Open(name)
	if err != nil {
		return got, err
	}
	sum := crc32.New(castagnoli())
	got.size, err = io.Copy(sum, io.LimitReader(file, most))
	got.sum = sum.Sum32()
	return got, errors.Join(err, file.Close())
}

// checkLog wants all changes of a log of Pebble's that were acknowledged.
func (f *inspection) checkLog(want ownedFile) error {
	if want.size == 0 {
		return nil
	}
	name := f.files.PathJoin(f.path, want.name())
	info, err := f.files.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return f.damaged(want.name(), fmt.Sprintf("is missing, with %d bytes of acknowledged changes", want.size))
	}
	if err != nil {
		return err
	}
	if info.Size() < want.size {
		return f.damaged(want.name(), fmt.Sprintf("has %d bytes of %d: acknowledged changes are missing", info.Size(), want.size))
	}
	end, whole, err := walEnd(f.files, f.path, want.number)
	if err != nil {
		return err
	}
	if !whole && want.size-end >= leastChange {
		return f.damaged(want.name(), fmt.Sprintf("is broken at byte %d: acknowledged changes up to byte %d cannot be read", end, want.size))
	}
	return nil
}

// leastChange is the least number of bytes that a change takes in a log: the header of a record, and
// that of a batch. Fewer bytes after the last record are what Pebble fills a block up with, where a
// header has no place; they are synced with the record before, and hold nothing.
const leastChange = 11 + 12

// walEnd reads a log of Pebble's. It returns where it ends, and whether it was ended in order
// there.
func walEnd(files vfs.FS, path string, number uint64) (end int64, whole bool, err error) {
	logs, err := wal.Scan(wal.Dir{FS: files, Dirname: path})
	if err != nil {
		return 0, false, err
	}
	log, ok := logs.Get(wal.NumWAL(number))
	if !ok {
		return 0, false, fs.ErrNotExist
	}
	r := log.OpenForRead()
	defer func() { err = errors.Join(err, r.Close()) }()
	for {
		record, at, err := r.NextRecord()
		end = at.Physical
		switch {
		case errors.Is(err, io.EOF):
			return end, true, nil
		case err != nil: // a broken record of any kind
			return end, false, nil
		}
		if _, err := io.Copy(io.Discard, record); err != nil {
			return end, false, nil
		}
	}
}
