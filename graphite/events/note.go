package events

import (
	"math"
	"strconv"
	"strings"

	"github.com/tsdbridge/tsdbridge/storage"
)

// The keys of an event in the custom fields of its annotation.
const (
	keyID   = "id"
	keyWhen = "when" // seconds, with up to six decimals
	keyTags = "tags"
)

// firstForeign is above all ids of events and at most the start of every annotation that is likely:
// 2001-09-09 in seconds.
const firstForeign = 1_000_000_000

// note returns the annotation of an event that starts somewhere.
func (e *Event) note(start int64) storage.Annotation {
	return storage.Annotation{
		Start: start, Description: e.What, Notes: e.Data,
		Custom: map[string]string{keyID: strconv.FormatInt(e.ID, 10), keyWhen: secondsText(e.When), keyTags: e.Tags},
	}
}

// eventOf returns the event of an annotation.
func eventOf(note *storage.Annotation) Event {
	e := Event{What: note.Description, Data: note.Notes, Tags: note.Custom[keyTags]}
	id, err := strconv.ParseInt(note.Custom[keyID], 10, 64)
	when, ok := parseSeconds(note.Custom[keyWhen])
	if err == nil && ok && id > 0 && id < firstForeign {
		e.ID, e.When = id, when
		return e
	}
	e.ID, e.When, e.Foreign = note.Start, millisOf(note.Start)*1000, true
	return e
}

// millisOf returns the start of an annotation in milliseconds: numbers of 32 bits are seconds.
func millisOf(start int64) int64 {
	if start > math.MaxUint32 {
		return start
	}
	return start * 1000
}

// secondsText prints microseconds as seconds.
func secondsText(when int64) string {
	text := strconv.FormatInt(when/micros, 10)
	if rest := when % micros; rest != 0 {
		text += "." + strings.TrimRight(strconv.FormatInt(micros+rest, 10)[1:], "0")
	}
	return text
}

// parseSeconds reads what secondsText prints.
func parseSeconds(text string) (when int64, ok bool) {
	whole, part, _ := strings.Cut(text, ".")
	seconds, err := strconv.ParseUint(whole, 10, 33)
	if err != nil || len(part) > 6 {
		return 0, false
	}
	rest, err := strconv.ParseUint((part + "000000")[:6], 10, 32)
	return int64(seconds*micros + rest), err == nil
}

// starts yields where the annotation of an event may start: at its moment, then at other
// milliseconds of its second. Numbers up to 32 bits are seconds, so in the first weeks of 1970 it
// is the seconds after it. Events of one second begin to look at different ones.
func (e *Event) starts(yield func(int64) bool) {
	second := e.Seconds()
	first := e.When / 1000
	if first%1000 == 0 || first <= math.MaxUint32 {
		first = second
	}
	if first > 0 && !yield(first) {
		return
	}
	for i := range int64(perSecond - 1) {
		next := 1 + (e.ID+i)%(perSecond-1)
		at := second*1000 + next
		if at <= math.MaxUint32 {
			at = second + next
		}
		if at != first && !yield(at) {
			return
		}
	}
}

// perSecond is how many events may have one second.
const perSecond = 1000

// window returns the starts that events between two moments (microseconds) may have, in milliseconds.
func window(from, until int64) storage.AnnotationRange {
	r := storage.AnnotationRange{From: max(from, 0) / micros * 1000, To: until/1000 + perSecond}
	if r.From <= math.MaxUint32 {
		r.To += perSecond * 1000
	}
	r.To = min(r.To, storage.MaxTime)
	return r
}
