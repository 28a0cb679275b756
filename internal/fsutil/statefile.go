package fsutil

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
)

// maxBytes bounds a file that is read.
const maxBytes = 256 << 20

// ReadState reads a file into doc; false: there is none, or it cannot be opened. With true, an error means
// that the file is something else.
func ReadState(name string, doc any) (found bool, err error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	return true, json.NewDecoder(io.LimitReader(f, maxBytes)).Decode(doc)
}

// WriteState replaces the file. After a crash it is the new one or the one before.
func WriteState(name string, doc any) error {
	text, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		return err
	}
	next := name + ".new"
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644) //nolint:gosec // no secret is in it
	if err != nil {
		return err
	}
	GiveToOwner(next)
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(next, name)
}
