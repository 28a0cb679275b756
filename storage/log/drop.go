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
func (c *contents) passOver(s *segment) (bool, error) {
	if c.opts.Left == (Owner{}) || s.owner != c.opts.Left {
		return false, nil
	}
	if c.readOnly {
		return true, nil
	}
	name := c.opts.path(s.number, suffixLog)
	if err := c.opts.FS.Remove(name); err != nil {
		return true, diskError("remove", name, err)
	}
	return true, nil
}

// readMark reads the mark. That of a log that was ended says nothing.
func (c *contents) readMark() (err error) {
	c.wanted, err = readMark(c.opts.FS, c.opts.MarkPath)
	if c.opts.Left != (Owner{}) && c.wanted.owner == c.opts.Left {
		c.wanted = extent{}
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
	c := contents{opts: opts, readOnly: true}
	found, err := c.list()
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
	err = c.recover(found[n-1])
	return err == nil && found[n-1].endPosition().Compare(at) <= 0, nil
}

// Check returns the error with which Open would refuse a log that no process has open. It changes
// nothing.
func Check(opts Options) (err error) {
	c := contents{opts: opts.withDefaults(), readOnly: true}
	if c.wanted, err = readMark(c.opts.FS, c.opts.MarkPath); err != nil {
		return err
	}
	return c.load()
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
