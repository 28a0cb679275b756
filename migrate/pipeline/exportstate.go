package pipeline

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/tsdbridge/tsdbridge/internal/fsutil"
)

// An exportState is how far an export is. It is kept in a file, if it has a name: a later export with that
// file goes on where this one ends, however it ends.
type exportState struct {
	document
	saving sync.Mutex // held while the file is written
	doc    exportDoc
	open   map[string]*os.File // that are being written, by their names; guarded as the document is
}

// exportDoc is the file of an exportState, in JSON.
type exportDoc struct {
	Source string        `json:"source"` // what is exported
	Start  int64         `json:"start"`  // of the points, milliseconds
	End    int64         `json:"end"`
	After  Range         `json:"after"` // the last range that a file has
	Files  []*exportFile `json:"files"`
	Done   bool          `json:"done,omitempty"` // all points are exported
}

// An exportFile is what is durable of a file.
type exportFile struct {
	Name    string `json:"name"`
	Bytes   int64  `json:"bytes"`
	Points  int64  `json:"points"`
	LeftOut int64  `json:"leftOut,omitempty"`
	// Ranges are those that belong into the file behind these bytes.
	Ranges []Range `json:"ranges,omitempty"`
	Done   bool    `json:"done,omitempty"`
}

// openExportState reads a state, or begins one. Without a name it is not kept.
func openExportState(name string, begin exportDoc) (*exportState, error) {
	s := &exportState{document: document{name: name}, doc: begin, open: map[string]*os.File{}}
	if name == "" {
		return s, nil
	}
	var doc exportDoc
	found, err := fsutil.ReadState(name, &doc)
	switch {
	case found && err != nil:
		return nil, fmt.Errorf("%s is not the state of an export: %w", name, err)
	case err != nil:
		return nil, err
	case !found:
		return s, nil
	}
	if doc.Source == "" {
		return nil, fmt.Errorf("%s is not the state of an export", name)
	}
	if doc.Source != begin.Source {
		return nil, fmt.Errorf("%s is the state of an export of %s, not of %s", name, doc.Source, begin.Source)
	}
	for _, file := range doc.Files {
		if file == nil || file.Bytes < 0 || file.Name == "" {
			return nil, fmt.Errorf("%s is not the state of an export", name)
		}
	}
	s.doc = doc
	return s, nil
}

// of returns the state of a file, and whether it was known before.
func (s *exportState) of(name string) (file *exportFile, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.IndexFunc(s.doc.Files, func(f *exportFile) bool { return f.Name == name }); i >= 0 {
		return s.doc.Files[i], true
	}
	file = &exportFile{Name: name}
	s.doc.Files = append(s.doc.Files, file)
	return file, false
}

// change changes what is to be kept.
func (s *exportState) change(f func(doc *exportDoc)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.doc)
	s.dirty = true
}

// save makes the files durable and then writes the state.
func (s *exportState) save() error {
	if s.name == "" {
		return nil
	}
	s.saving.Lock()
	defer s.saving.Unlock()
	var files []*os.File
	text, err := s.text(func() any {
		files = slices.Collect(maps.Values(s.open))
		return s.doc
	})
	for _, f := range files { // they have at least the bytes that the text names
		err = errors.Join(err, f.Sync())
	}
	if err != nil {
		return err
	}
	return fsutil.WriteState(s.name, text)
}

// saveChanged is save unless nothing has changed.
func (s *exportState) saveChanged() error { return s.changed(s.save) }
