package pipeline

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/fsutil"
)

// A FilePlace is where in the order of its files an export is. The order is that of parts, and in a part of names.
type FilePlace struct {
	Part int    `json:"part"`
	Name string `json:"name"`
}

// Reached tells whether p is q, or comes before it.
func (p FilePlace) Reached(q FilePlace) bool {
	return p.Part < q.Part || p.Part == q.Part && p.Name <= q.Name
}

// FilesDone counts files that are durable.
type FilesDone struct {
	Files   int64 `json:"files"`
	Points  int64 `json:"points"`
	LeftOut int64 `json:"leftOut,omitempty"` // series that no file can have
	LeftObjects
}

// LeftObjects counts what the samples have and no file can have.
type LeftObjects struct {
	Histograms int64 `json:"leftHistograms,omitempty"`
	Exemplars  int64 `json:"leftExemplars,omitempty"`
	Starts     int64 `json:"leftStarts,omitempty"` // start times
}

// Add adds what others are.
func (d *FilesDone) Add(o FilesDone) { d.add(o, 1) }

// Remove takes away what others are.
func (d *FilesDone) Remove(o FilesDone) { d.add(o, -1) }

func (d *FilesDone) add(o FilesDone, times int64) {
	d.Files += times * o.Files
	d.Points += times * o.Points
	d.LeftOut += times * o.LeftOut
	d.Histograms += times * o.Histograms
	d.Exemplars += times * o.Exemplars
	d.Starts += times * o.Starts
}

// A FilesState is how far an export of one file for each series is. It is kept in a file, if it has a name: a later
// export with that file goes on where this one ends, however it ends.
type FilesState struct {
	document
	doc   filesDoc
	now   func() time.Time
	saved time.Time

	// what is done of the place that was done last: several series may have one name, and so one file
	last    FilePlace
	pending FilesDone
}

// filesDoc is the file of a FilesState, in JSON.
type filesDoc struct {
	Source string    `json:"source"` // what is exported
	Dir    string    `json:"dir"`
	After  FilePlace `json:"after"` // everything up to here is durable
	FilesDone
	Done bool `json:"done,omitempty"` // all is
}

// OpenFilesState reads a state, or begins one. Source names what is exported. Without a name it is not kept.
func OpenFilesState(name, source, dir string, now func() time.Time) (*FilesState, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	s := &FilesState{document: document{name: name}, doc: filesDoc{Source: source, Dir: dir}, now: now, saved: now()}
	if name == "" {
		return s, nil
	}
	var doc filesDoc
	found, err := fsutil.ReadState(name, &doc)
	switch {
	case found && err != nil:
		return nil, fmt.Errorf("%s is not the state of an export of files: %w", name, err)
	case found && (doc.Source == "" || doc.Dir == ""):
		return nil, fmt.Errorf("%s is not the state of an export of files", name)
	case err != nil:
		return nil, err
	case !found:
		return s, s.save() // that it can be written shows before anything is exported
	case doc.Source != source || doc.Dir != dir:
		return nil, fmt.Errorf("%s is the state of an export of %s into %s, not of %s into %s", name, doc.Source, doc.Dir, source, dir)
	}
	s.doc, s.last = doc, doc.After
	return s, nil
}

// Kept tells whether the state has a file.
func (s *FilesState) Kept() bool { return s.name != "" }

// Before returns up to where all is durable, and how much that is; all means that nothing is left to do.
func (s *FilesState) Before() (after FilePlace, done FilesDone, all bool) {
	return s.doc.After, s.doc.FilesDone, s.doc.Done
}

// Finish notes that the file of a place is durable, or left out. Places are finished in their order.
func (s *FilesState) Finish(at FilePlace, done FilesDone) error {
	if at != s.last {
		s.advance()
		s.last = at
	}
	s.pending.Add(done)
	if s.now().Sub(s.saved) < exportSaveEvery {
		return nil
	}
	return s.save()
}

// Back forgets what was finished after the place up to where all is durable, which is returned: from there on it is done again. Undone
// is what was finished there.
func (s *FilesState) Back() (after FilePlace, undone FilesDone) {
	undone, s.pending, s.last = s.pending, FilesDone{}, s.doc.After
	return s.doc.After, undone
}

// Close writes the state; all means that everything is exported.
func (s *FilesState) Close(all bool) error {
	if all {
		s.advance()
		s.doc.Done = true
	}
	return s.save()
}

func (s *FilesState) advance() {
	s.doc.After = s.last
	s.doc.Add(s.pending)
	s.pending = FilesDone{}
}

func (s *FilesState) save() error {
	s.saved = s.now()
	return s.document.save(func() any { return s.doc })
}
