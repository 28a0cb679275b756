package events

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/tsdbridge/tsdbridge/storage"
)

// Notes keeps annotations; those of a store are one.
type Notes interface {
	Put(ctx context.Context, mode storage.AnnotationMode, list []storage.Annotation) ([]storage.Annotation, error)
	Delete(ctx context.Context, tsuid string, start int64) error
	// List returns the annotations of a time. It takes their memory from the budget.
	List(ctx context.Context, r storage.AnnotationRange, limit int) ([]storage.Annotation, error)
	Each(ctx context.Context, r storage.AnnotationRange, see func(storage.Annotation) error) error
	// Number returns a number above a bound that nobody else gets.
	Number(ctx context.Context, above int64) (int64, error)
}

// Events are those of a store. They are safe for concurrent use.
type Events struct {
	notes Notes

	mu      sync.Mutex // guards the rest
	counted bool
	highest int64 // of the ids that were there when this process made its first event
}

// New returns the events among annotations.
func New(notes Notes) *Events { return &Events{notes: notes} }

// Create stores an event, durably, and returns it with its id. The ID of e is ignored.
func (v *Events) Create(ctx context.Context, e Event) (Event, error) {
	above, err := v.highestID(ctx)
	if err != nil {
		return Event{}, err
	}
	if e.ID, err = v.notes.Number(ctx, above); err != nil {
		return Event{}, err
	}
	if e.ID >= firstForeign {
		return Event{}, fmt.Errorf("%w: there were %d events, no more can be numbered", storage.ErrLimit, firstForeign-1)
	}
	for start := range e.starts {
		_, err := v.notes.Put(ctx, storage.CreateAnnotation, []storage.Annotation{e.note(start)})
		if !errors.Is(err, storage.ErrAnnotationExists) {
			return e, err
		}
	}
	return Event{}, fmt.Errorf("%w: a second may have %d events", storage.ErrLimit, perSecond)
}

// highestID returns an id that new events must be above: imports and restores may have brought events
// that the counter does not know.
func (v *Events) highestID(ctx context.Context) (int64, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.counted {
		return v.highest, nil
	}
	highest := int64(0)
	err := v.each(ctx, func(e *Event) error {
		if !e.Foreign {
			highest = max(highest, e.ID)
		}
		return nil
	})
	if err == nil {
		v.counted, v.highest = true, highest
	}
	return highest, err
}

// each calls see for every event.
func (v *Events) each(ctx context.Context, see func(*Event) error) error {
	return v.notes.Each(ctx, storage.AnnotationRange{To: storage.MaxTime}, func(note storage.Annotation) error {
		e := eventOf(&note)
		return see(&e)
	})
}

// errFound ends a search.
var errFound = errors.New("found")

// Get returns the event with an id; false: there is none. It reads all events.
func (v *Events) Get(ctx context.Context, id int64) (Event, bool, error) {
	e, _, ok, err := v.find(ctx, id)
	return e, ok, err
}

// find also returns where the event starts.
func (v *Events) find(ctx context.Context, id int64) (found Event, start int64, ok bool, err error) {
	err = v.notes.Each(ctx, storage.AnnotationRange{To: storage.MaxTime}, func(note storage.Annotation) error {
		if e := eventOf(&note); e.ID == id {
			found, start = e, note.Start
			return errFound
		}
		return nil
	})
	if errors.Is(err, errFound) {
		return found, start, true, nil
	}
	return Event{}, 0, false, err
}

// ErrForeign is returned when an annotation is to be deleted that a TSD wrote.
var ErrForeign = errors.New("this event is an annotation of OpenTSDB, and is deleted there")

// Delete deletes the event with an id, durably, and returns it; false: there is none.
func (v *Events) Delete(ctx context.Context, id int64) (Event, bool, error) {
	e, start, ok, err := v.find(ctx, id)
	switch {
	case err != nil || !ok:
		return Event{}, false, err
	case e.Foreign:
		return Event{}, false, ErrForeign
	}
	return e, true, v.notes.Delete(ctx, "", start)
}

// A Query asks for events.
type Query struct {
	From, Until int64    // microseconds, both included
	Tags        []string // nil: all events; empty: none
	Set         Set
	Limit       int // more events in the time are a storage.ErrLimit; 0: none
}

// Find returns events in the order of their moments, then of their ids.
func (v *Events) Find(ctx context.Context, q Query) ([]Event, error) {
	if q.Until < q.From || q.Tags != nil && len(q.Tags) == 0 {
		return nil, nil
	}
	notes, err := v.notes.List(ctx, window(q.From, q.Until), q.Limit)
	if err != nil {
		return nil, err
	}
	all := make([]Event, 0, len(notes))
	for i := range notes {
		if e := eventOf(&notes[i]); e.When >= q.From && e.When <= q.Until {
			all = append(all, e)
		}
	}
	if q.Tags != nil {
		if all, err = v.tagged(ctx, all, q); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b Event) int { return cmp.Or(cmp.Compare(a.When, b.When), cmp.Compare(a.ID, b.ID)) })
	return all, nil
}

// tagged keeps the events that have the tags of a query.
func (v *Events) tagged(ctx context.Context, all []Event, q Query) ([]Event, error) {
	tags := q.Tags
	if q.Set == Known {
		known, err := v.known(ctx, all, tags)
		if err != nil || len(known) == 0 {
			return nil, err
		}
		tags = known
	}
	return slices.DeleteFunc(all, func(e Event) bool { return !e.matches(q.Set, tags) }), nil
}

// known returns those of some tags that any event has, at whatever time. Only tags that no event of
// the list has need a look at all others.
func (v *Events) known(ctx context.Context, all []Event, tags []string) ([]string, error) {
	missing := map[string]bool{}
	for _, tag := range tags {
		missing[tag] = true
	}
	for i := range all {
		strike(missing, &all[i])
	}
	if len(missing) > 0 && len(missing) < len(tags) {
		err := v.each(ctx, func(e *Event) error {
			if strike(missing, e); len(missing) == 0 {
				return errFound
			}
			return nil
		})
		if err != nil && !errors.Is(err, errFound) {
			return nil, err
		}
	}
	return slices.DeleteFunc(slices.Clone(tags), func(tag string) bool { return missing[tag] }), nil
}

// strike removes the tags that an event has.
func strike(tags map[string]bool, e *Event) {
	for _, label := range labels(e.Tags) {
		delete(tags, label)
	}
}
