package pipeline

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/tsdbridge/tsdbridge/internal/fsutil"
)

// A treeState is which files of a directory are durable. Files are imported about in the order of their paths, so
// it tells the path before which all are, and the few beyond. It is kept in a file, if it has a name.
type treeState struct {
	document
	doc treeDoc
	// of this run; guarded as the document is
	paths     []Piece
	finished  []bool
	first     int   // the first that is not finished
	marked    bool  // some have marks
	doneBytes int64 // of files that earlier runs have done
	earlier   treeDoc
}

// treeDoc is the file of a state, in JSON.
type treeDoc struct {
	Target  string   `json:"target"` // into what is imported
	Dir     string   `json:"dir"`
	What    string   `json:"what"`            // is imported
	Through string   `json:"through"`         // all files up to this path are durable
	Files   int      `json:"files"`           // their number
	Done    []string `json:"done,omitempty"`  // and these
	Marks   string   `json:"marks,omitempty"` // hash of the names and marks of all of them
	Points  int64    `json:"points"`
	Skipped int64    `json:"skipped"`
}

// openTreeState reads a state. Without a name it is not kept.
func openTreeState(o PiecesOptions) (*treeState, error) {
	s := &treeState{document: document{name: o.State}, doc: treeDoc{Target: o.Target, Dir: o.Source, What: o.What}}
	if o.State == "" {
		return s, nil
	}
	var doc treeDoc
	found, err := fsutil.ReadState(o.State, &doc)
	switch {
	case found && err != nil:
		return nil, fmt.Errorf("%s is not the state of an import of a directory: %w", o.State, err)
	case err != nil:
		return nil, err
	case !found:
		return s, s.save() // that it can be written shows before anything is imported
	case doc.Target == "" || doc.Dir == "":
		return nil, fmt.Errorf("%s is not the state of an import of a directory", o.State)
	case doc.Target != s.doc.Target || doc.Dir != o.Source || doc.What != o.What:
		return nil, fmt.Errorf("%s is the state of an import of %s (%s) into %s, not of %s (%s) into %s", o.State, doc.Dir, doc.What, doc.Target, o.Source, o.What, o.Target)
	}
	s.doc, s.earlier = doc, doc
	return s, nil
}

// begin notes the files of a run, which are in order, and which of them earlier runs have done.
func (s *treeState) begin(files []Piece) error {
	before := 0
	for before < len(files) && s.doc.Through != "" && files[before].Name <= s.doc.Through {
		before++
	}
	if before != s.doc.Files {
		return fmt.Errorf("state: %s: %d files up to %s were imported, and now there are %d: a repeated import with another state is harmless", s.name, s.doc.Files, s.doc.Through, before)
	}
	s.paths, s.finished = files, make([]bool, len(files))
	s.marked = slices.ContainsFunc(files, func(f Piece) bool { return f.Mark != "" })
	for i, f := range files {
		if i < before || slices.Contains(s.doc.Done, f.Name) {
			s.finished[i] = true
			s.doneBytes += f.Size
		}
	}
	s.advance()
	if marks := s.marks(); s.doc.Marks != "" && s.doc.Marks != marks {
		return fmt.Errorf("state: %s: something of what was imported has changed since then: import it with another state, which is harmless", s.name)
	}
	return nil
}

// marks returns the hash of the names and marks of what is durable; "": nothing has a mark.
func (s *treeState) marks() string {
	if !s.marked {
		return ""
	}
	sum := sha256.New()
	for i, f := range s.paths {
		if s.finished[i] {
			fmt.Fprintf(sum, "%q %q\n", f.Name, f.Mark)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func (s *treeState) isDone(i int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.finished[i]
}

// before returns what earlier runs have done.
func (s *treeState) before() (points, skipped int64) { return s.earlier.Points, s.earlier.Skipped }

// finish notes that a file is durable, or skipped.
func (s *treeState) finish(i int, points int64, skipped bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finished[i], s.dirty = true, true
	s.doc.Points += points
	if skipped {
		s.doc.Skipped++
	}
	s.advance()
}

// advance moves the path before which all files are durable.
func (s *treeState) advance() {
	for s.first < len(s.finished) && s.finished[s.first] {
		s.doc.Through = s.paths[s.first].Name
		s.first++
	}
	s.doc.Files = s.first
}

func (s *treeState) save() error {
	return s.document.save(func() any {
		s.doc.Done = s.doc.Done[:0]
		for i := s.first; i < len(s.finished); i++ {
			if s.finished[i] {
				s.doc.Done = append(s.doc.Done, s.paths[i].Name)
			}
		}
		s.doc.Marks = s.marks()
		return s.doc
	})
}

// saveChanged is save unless nothing has changed.
func (s *treeState) saveChanged() error { return s.changed(s.save) }
