// Package statefile keeps how far a long command is in a file, as JSON, so that the next run goes on
// there. It knows no command.
package statefile

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/tsdbridge/tsdbridge/folder"
)

// maxBytes bounds a file that is read.
const maxBytes = 256 << 20

// Read reads a file into doc; false: there is none, or it cannot be opened. With true, an error means
// that the file is something else.
func Read(name string, doc any) (found bool, err error) {
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

// Write replaces the file. After a crash it is the new one or the one before.
func Write(name string, doc any) error {
	text, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		return err
	}
	next := name + ".new"
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644) //nolint:gosec // no secret is in it
	if err != nil {
		return err
	}
	folder.GiveToOwner(next)
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(next, name)
}
