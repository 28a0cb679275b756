package pipeline

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/tsdbridge/tsdbridge/internal/fsutil"
)

// A state is how much of each file is durable. It is kept in a file, if it has a name: a later import
// with that file goes on where this one ends, however it ends.
type state struct {
	document
	doc stateDoc
}

// stateDoc is the file of a state, in JSON.
type stateDoc struct {
	Target string       `json:"target"` // into what is imported
	Files  []*fileState `json:"files"`
}

// fileState is how much of a file is durable.
type fileState struct {
	Name   string `json:"name"`
	Size   int64  `json:"size,omitempty"` // of the file when it was done
	Head   string `json:"head,omitempty"` // hash of the first bytes of its text, by which it is known again
	Length int    `json:"length"`         // of these
	Bytes  int64  `json:"bytes"`          // of text that are durable
	Lines  int64  `json:"lines"`          // in them
	Points int64  `json:"points"`         // in them
	Bad    int64  `json:"bad,omitempty"`  // lines that were skipped
	Done   bool   `json:"done,omitempty"` // all of it is durable
}

// openState reads a state. Without a name it is not kept.
func openState(name, target string) (*state, error) {
	s := &state{document: document{name: name}, doc: stateDoc{Target: target}}
	if name == "" {
		return s, nil
	}
	var doc stateDoc
	found, err := fsutil.ReadState(name, &doc)
	if found && err != nil {
		return nil, fmt.Errorf("%s is not the state of an import: %w", name, err)
	}
	if err != nil {
		return nil, err
	}
	if !found {
		return s, s.save() // that it can be written shows before anything is imported
	}
	if doc.Target == "" {
		return nil, fmt.Errorf("%s is not the state of an import", name)
	}
	if doc.Target != target {
		return nil, fmt.Errorf("%s is the state of an import into %s, not into %s", name, doc.Target, target)
	}
	for _, file := range doc.Files {
		if file == nil || file.Bytes < 0 || file.Length < 0 || file.Length > headBytes {
			return nil, fmt.Errorf("%s is not the state of an import", name)
		}
	}
	s.doc = doc
	return s, nil
}

// of returns the state of a file.
func (s *state) of(name string) (*fileState, error) {
	if name != Stdin {
		var err error
		if name, err = filepath.Abs(name); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, file := range s.doc.Files {
		if file.Name == name {
			return file, nil
		}
	}
	file := &fileState{Name: name}
	s.doc.Files = append(s.doc.Files, file)
	return file, nil
}

// change changes what is durable.
func (s *state) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	s.dirty = true
}

func (s *state) save() error { return s.document.save(func() any { return s.doc }) }

// saveChanged is save unless nothing has changed.
func (s *state) saveChanged() error { return s.changed(s.save) }

// headBytes is by how many bytes of its text a file is known again.
const headBytes = 4 << 10

// head returns the hash of the first bytes of a text.
func head(text *bufio.Reader, length int) (hash string, n int, err error) {
	b, err := text.Peek(length)
	if err != nil && !errors.Is(err, io.EOF) && len(b) == 0 { // else it comes again
		return "", 0, err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), len(b), nil
}

var errOtherFile = errors.New("it is not the file that the state is about: it begins otherwise")

// recognize compares the beginning of a text with that of the file when it was imported first.
func (f *fileState) recognize(text *bufio.Reader) error {
	length := headBytes
	if f.Head != "" {
		length = f.Length
	}
	hash, n, err := head(text, length)
	switch {
	case err != nil:
		return err
	case f.Head == "":
		f.Head, f.Length = hash, n
	case f.Head != hash:
		return errOtherFile
	}
	return nil
}
