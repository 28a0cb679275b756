package log

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
)

// Drop removes what is left of a log that was ended in order at a position: its owner has all its
// records elsewhere, and was perhaps killed before the files were gone. It leaves files of other
// owners, and a log that goes on after that position, which Open reports. No process may have the
// log open. Where the disk takes no writes left is the owner, for Options.Left.
func Drop(opts Options, ended Owner, at Position) (left Owner, err error) {
	opts = opts.withDefaults()
	is, err := HasEnded(opts, ended, at)
	if !is || err != nil {
		return Owner{}, err
	}
	opts.Logger.Info("a log that was ended in order is removed: the tables have all of it", "path", opts.Dir)
	if err = Remove(opts); takesNoWrites(err) {
		return ended, nil
	}
	return Owner{}, err
}

// passOver reports whether a segment is left of a log that was ended, and removes it if the disk takes
// writes.
func (l *Log) passOver(s *segment) (bool, error) {
	if l.opts.Left == (Owner{}) || s.owner != l.opts.Left {
		return false, nil
	}
	if l.Waits() != nil {
		return true, nil
	}
	name := l.path(s.number, suffixLog)
	if err := l.opts.FS.Remove(name); err != nil {
		return true, diskError("remove", name, err)
	}
	return true, nil
}

// readMark reads the mark. That of a log that was ended says nothing.
func (l *Log) readMark() (err error) {
	l.wanted, err = readMark(l.opts.FS, l.opts.MarkPath)
	if l.opts.Left != (Owner{}) && l.wanted.owner == l.opts.Left {
		l.wanted = extent{}
	}
	return err
}

// HasEnded reports whether there are files of a log that was ended in order at a position, and none
// of another one. It changes nothing.
func HasEnded(opts Options, ended Owner, at Position) (bool, error) {
	opts = opts.withDefaults()
	mark, err := readMark(opts.FS, opts.MarkPath)
	if errors.Is(err, ErrCorrupt) || mark.owner != (Owner{}) && mark.owner != ended {
		return false, nil // Open reports it
	}
	if err != nil {
		return false, err
	}
	l := &Log{opts: opts}
	why := errors.New("only looked at")
	l.waits.Store(&why)
	found, err := l.list()
	if errors.Is(err, ErrCorrupt) || errors.Is(err, errVersion) {
		return false, nil
	}
	n := len(found)
	switch {
	case err != nil || n == 0 && mark.owner == (Owner{}):
		return false, err
	case n == 0:
		return true, nil
	case slices.ContainsFunc(found, func(s *segment) bool { return s.owner != ended }):
		return false, nil
	}
	err = l.recover(found[n-1])
	return err == nil && found[n-1].endPosition().Compare(at) <= 0, nil
}

// Check returns the error with which Open would refuse a log that no process has open. It changes
// nothing.
func Check(opts Options) (err error) {
	l := &Log{opts: opts.withDefaults()}
	if l.wanted, err = readMark(l.opts.FS, l.opts.MarkPath); err != nil {
		return err
	}
	why := errors.New("only looked at")
	l.waits.Store(&why)
	return l.load()
}

// Remove removes the files of a log that no process has open, and what its mark contains. A crash
// leaves the mark empty, with some of the files.
func Remove(opts Options) error {
	opts = opts.withDefaults()
	if err := Unmark(opts.FS, opts.MarkPath); err != nil {
		return err
	}
	names, err := opts.FS.List(opts.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return diskError("list", opts.Dir, err)
	}
	slices.Sort(names)
	for _, name := range names {
		name = filepath.Join(opts.Dir, name)
		if err := opts.FS.Remove(name); err != nil {
			return diskError("remove", name, err)
		}
	}
	if err := opts.FS.SyncDir(opts.Dir); err != nil {
		return diskError("sync", opts.Dir, err)
	}
	return nil
}
