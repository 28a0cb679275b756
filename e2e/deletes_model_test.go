package e2e_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// Kinds of what a series has at an instant.
const (
	kindFloat      = "float"
	kindHistogram  = "histogram"
	kindExemplar   = "exemplar"
	kindRollup     = "rolled up value"
	kindAnnotation = "annotation"
)

// A slot is an instant of a series, at which there may be something of a kind.
type slot struct {
	kind   string
	series int
	at     int64 // milliseconds
}

// A change is a write, or a deletion, that was asked for.
type change struct {
	value      string // of a write
	begin, end int64  // when it was sent and answered, in steps of the model
	acked      bool   // false: nobody knows what has become of it
	// first and last are the milliseconds that a deletion covers
	first, last int64
	// sent and answered are when; answered is zero until then
	sent, answered time.Time
}

func (c *change) String() string {
	return fmt.Sprintf("%q[%d,%d] steps %d to %d, acknowledged %v", c.value, c.first, c.last, c.begin, c.end, c.acked)
}

// A deletesModel knows which values each slot may have, after writes and deletions at the same time, of which some were
// never answered.
type deletesModel struct {
	mu        sync.Mutex // guards all below
	step      int64
	writes    map[slot][]*change
	deletions map[int][]*change // by series
	// others is how long it takes until an adapter finds a series that it has deleted as a whole while another one wrote to
	// it; 0: there is one adapter
	others time.Duration
}

func newDeletesModel() *deletesModel {
	return &deletesModel{writes: map[slot][]*change{}, deletions: map[int][]*change{}}
}

// writing notes that values are sent, which are acknowledged when done is called with true.
func (m *deletesModel) writing(value string, slots ...slot) (done func(acked bool)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.step++
	c := &change{value: value, begin: m.step, sent: time.Now()}
	for _, s := range slots {
		m.writes[s] = append(m.writes[s], c)
	}
	return m.answered(c)
}

// deleting notes that a deletion is sent.
func (m *deletesModel) deleting(first, last int64, series ...int) (done func(acked bool)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.step++
	c := &change{first: first, last: last, begin: m.step, sent: time.Now()}
	for _, s := range series {
		m.deletions[s] = append(m.deletions[s], c)
	}
	return m.answered(c)
}

func (m *deletesModel) answered(c *change) func(acked bool) {
	return func(acked bool) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.step++
		c.end, c.acked, c.answered = m.step, acked, time.Now()
	}
}

// covering returns the deletions that delete a slot. A rolled up value goes if its whole interval does.
func (m *deletesModel) covering(s slot) (all []*change) {
	length := int64(1)
	if s.kind == kindRollup {
		length = hourMillis
	}
	for _, d := range m.deletions[s.series] {
		if d.first <= s.at && s.at+length-1 <= d.last {
			all = append(all, d)
		}
	}
	return all
}

// registered reports whether a series was surely known when a deletion began. An annotation is written to a TSUID, and does
// not make its series known again, so a deletion by matchers does not find one that stands alone.
func (m *deletesModel) registered(series int, at *change) bool {
	for s, writes := range m.writes {
		if s.series != series || s.kind == kindAnnotation {
			continue
		}
		for _, w := range writes {
			if w.acked && w.end < at.begin && !slices.ContainsFunc(m.deletions[series], func(d *change) bool {
				return d != at && d.first == 0 && d.end > w.begin && d.begin < at.end
			}) {
				return true
			}
		}
	}
	return false
}

// finds reports whether a deletion by matchers surely finds a series.
func (m *deletesModel) finds(series int, at *change) bool {
	return m.others == 0 || !slices.ContainsFunc(m.deletions[series], func(d *change) bool {
		return d != at && d.first == 0 && d.begin < at.end && (!d.acked || d.answered.Add(m.others).After(at.sent))
	})
}

// check returns an error if a slot cannot have a value, or nothing ("").
func (m *deletesModel) check(s slot, got string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	writes, deletions := m.writes[s], m.covering(s)
	var why []*change
	if got == "" {
		why = deletions
		if !slices.ContainsFunc(writes, func(w *change) bool { return w.acked }) {
			return nil
		}
	} else {
		for _, w := range writes {
			if w.value == got {
				why = append(why, w)
			}
		}
	}
	later := slices.Clone(writes)
	for _, d := range deletions {
		if m.finds(s.series, d) && (s.kind != kindAnnotation || m.registered(s.series, d)) {
			later = append(later, d)
		}
	}
	for _, w := range why {
		if !slices.ContainsFunc(later, func(c *change) bool { return c.acked && c.begin > w.end }) {
			return nil
		}
	}
	return fmt.Errorf("%s of series %d at %d is %q: writes %v, deletions %v", s.kind, s.series, s.at, got, writes, deletions)
}

func (m *deletesModel) steps() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.step
}

// slots returns all that was ever written.
func (m *deletesModel) slots() (all []slot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for s := range m.writes {
		all = append(all, s)
	}
	return all
}

func TestDeletesModel(t *testing.T) {
	m := newDeletesModel()
	s := slot{kindFloat, 1, 1000}
	ok := func(what string, values ...string) {
		t.Helper()
		for _, v := range []string{"", "1", "2", "3"} {
			if err := m.check(s, v); (err == nil) != slices.Contains(values, v) {
				t.Errorf("%s: check(%q) = %v, want one of %q", what, v, err, values)
			}
		}
	}
	ok("nothing", "")
	m.writing("1", s)(true)
	ok("a write", "1")
	m.deleting(1001, 2000, 1)(true)
	m.deleting(0, 2000, 2)(true)
	ok("deletions of others", "1")
	m.deleting(0, 1000, 1)(false)
	ok("a deletion without an answer", "", "1")
	m.deleting(0, 1000, 1)(true)
	ok("a deletion", "")
	written, deleted := m.writing("2", s), m.deleting(0, 1000, 1)
	written(true)
	deleted(true)
	ok("both at once", "", "2")
	m.writing("3", s)(false)
	ok("a write without an answer", "", "2", "3")
	m.deleting(0, 1<<62, 1)(true)
	ok("a deletion of the series", "")
	m.writing("1", s)(true)
	m.deleting(0, 1000, 1)(true)
	ok("another one", "")
	m.others = time.Hour
	ok("another one, by an adapter that may not know the series", "", "1")
}
