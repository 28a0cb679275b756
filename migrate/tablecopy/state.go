package tablecopy

import (
	"fmt"
	"slices"
	"sync"

	"github.com/tsdbridge/tsdbridge/internal/fsutil"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
)

// A state is how far a copy is. It is kept in a file, if it has a name: a later copy with that file goes on where this one
// ends, however it ends. It is safe for concurrent use.
type state struct {
	name string

	mu    sync.Mutex // guards what follows
	dirty bool       // doc is not that of the file
	doc   stateDoc
}

// stateDoc is the file of a state, in JSON.
type stateDoc struct {
	From string `json:"from"`
	To   string `json:"to"`
	What string `json:"what"`
	// After is the last range that was begun, Open are those of its part that are not durable, or what is left of them.
	After pipeline.Range    `json:"after"`
	Open  []*pipeline.Range `json:"open,omitempty"`
	Done  bool              `json:"done,omitempty"` // all is copied
	// Moment is that of the source since which changes are not copied, of a copy that follows.
	Moment string `json:"moment,omitempty"`
	// Again are times that are copied again, because something in them is deleted in the target.
	Again []Span `json:"again,omitempty"`
	Total
	Lost []Loss `json:"lost,omitempty"` // the first ones
}

// A Total counts what was copied.
type Total struct {
	Points int64 `json:"points"` // and objects, annotations, slots, rolled up values
	Series int64 `json:"series"` // that are registered
	LostN  int64 `json:"lostCount,omitempty"`
}

// mostLost is how many losses a state keeps.
const mostLost = 1000

// openState reads a state, or begins one. Without a name it is not kept.
func openState(name string, begin stateDoc) (*state, error) {
	s := &state{name: name, doc: begin}
	if name == "" {
		return s, nil
	}
	var doc stateDoc
	found, err := fsutil.ReadState(name, &doc)
	switch {
	case found && err != nil:
		return nil, fmt.Errorf("%s is not the state of a copy: %w", name, err)
	case err != nil:
		return nil, err
	case !found:
		return s, s.write(begin) // that it can be written shows before anything is copied
	case doc.From == "" || doc.To == "" || slices.Contains(doc.Open, nil):
		return nil, fmt.Errorf("%s is not the state of a copy", name)
	case doc.From != begin.From || doc.To != begin.To || doc.What != begin.What:
		return nil, fmt.Errorf("%s is the state of a copy of %s from %s to %s, not of %s from %s to %s", name, doc.What, doc.From, doc.To, begin.What, begin.From, begin.To)
	}
	s.doc = doc
	return s, nil
}

// change changes what is to be kept.
func (s *state) change(f func(doc *stateDoc)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.doc)
	s.dirty = true
}

// lose notes losses, and returns those of them that are new.
func (s *state) lose(lost []Loss) (news []Loss) {
	if len(lost) == 0 {
		return nil
	}
	s.change(func(doc *stateDoc) {
		for _, one := range lost {
			if slices.Contains(doc.Lost, one) {
				continue // the same range was read again
			}
			news = append(news, one)
			if doc.LostN++; len(doc.Lost) < mostLost {
				doc.Lost = append(doc.Lost, one)
			}
		}
	})
	return news
}

// total returns what was copied, by all runs.
func (s *state) total() Total {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.doc.Total
}

// again returns the times that are copied again.
func (s *state) again() []Span {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.doc.Again)
}

// save writes the file if something has changed.
func (s *state) save() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.dirty {
		return nil
	}
	err := s.write(s.doc)
	s.dirty = err != nil
	return err
}

func (s *state) write(doc stateDoc) error {
	if s.name == "" {
		return nil
	}
	return fsutil.WriteState(s.name, doc)
}
