// Package events keeps Graphite's events: notes of a moment, with tags. They are OpenTSDB's global
// annotations, so a TSD shows them, and annotations of a TSD are events. It knows the events of
// graphite-web 1.1.10 (events/views.py, events/models.py) and nothing of HTTP.
package events

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/tsdbridge/tsdbridge/storage"
)

// An Event is a note of a moment.
type Event struct {
	// ID is a number of its own; that of an annotation that a TSD wrote is its start.
	ID int64
	// When is in microseconds since 1970.
	When       int64
	What, Data string
	// Tags are as they were given; Words lists them.
	Tags string
	// Foreign means that it is an annotation that a TSD wrote.
	Foreign bool
}

// Words returns the tags as graphite-web shows them: what blanks separate.
func (e *Event) Words() []string { return strings.Fields(e.Tags) }

// Seconds returns the whole seconds since 1970.
func (e *Event) Seconds() int64 { return e.When / micros }

// micros are in a second.
const micros = 1_000_000

// ErrTags is graphite-web's answer to tags of another kind.
var ErrTags = errors.New(`"tags" must be an array or space-separated string`)

// Parse reads an event as clients post it: a JSON object with what, tags (a list or a text with
// blanks), when (seconds since 1970, with a fraction or without; now if it is missing) and data. Now
// is in microseconds. Other members are passed over. Errors are the sender's.
func Parse(body []byte, now int64) (Event, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		return Event{}, fmt.Errorf("an event is a JSON object: %w", err)
	}
	if members == nil {
		return Event{}, errors.New("an event is a JSON object, not null")
	}
	e := Event{When: now}
	for _, read := range []func(map[string]json.RawMessage) error{e.readWhat, e.readTags, e.readWhen, e.readData} {
		if err := read(members); err != nil {
			return Event{}, err
		}
	}
	return e, nil
}

func (e *Event) readWhat(members map[string]json.RawMessage) (err error) {
	raw, ok := members["what"]
	if !ok {
		return errors.New("an event needs a what")
	}
	e.What, err = textOf("what", raw)
	return err
}

func (e *Event) readData(members map[string]json.RawMessage) (err error) {
	raw, ok := members["data"]
	if !ok {
		return nil
	}
	e.Data, err = textOf("data", raw)
	return err
}

// textOf returns text as it is, and other values as their JSON.
func textOf(name string, raw json.RawMessage) (text string, err error) {
	switch raw[0] {
	case 'n':
		return "", fmt.Errorf("%s is null", name)
	case '"':
		err = json.Unmarshal(raw, &text)
		return text, err
	}
	var b bytes.Buffer
	err = json.Compact(&b, raw)
	return b.String(), err
}

func (e *Event) readTags(members map[string]json.RawMessage) error {
	raw, ok := members["tags"]
	if !ok || raw[0] == 'n' {
		return nil
	}
	if json.Unmarshal(raw, &e.Tags) == nil {
		return nil
	}
	var list []*string
	if err := json.Unmarshal(raw, &list); err != nil {
		return ErrTags
	}
	words := make([]string, len(list))
	for i, word := range list {
		if word == nil {
			return ErrTags
		}
		words[i] = *word
	}
	e.Tags = strings.Join(words, " ")
	return nil
}

func (e *Event) readWhen(members map[string]json.RawMessage) error {
	raw, ok := members["when"]
	if !ok {
		return nil
	}
	switch string(raw) { // numbers of Python
	case "true":
		raw = json.RawMessage("1")
	case "false":
		raw = json.RawMessage("0")
	}
	var seconds float64
	if raw[0] == 'n' || json.Unmarshal(raw, &seconds) != nil {
		return fmt.Errorf("when is not a number of seconds: %.40s", raw)
	}
	if seconds < 0 || seconds > storage.MaxTime/1000 {
		return fmt.Errorf("when is before 1970 or after the last time that can be stored: %.40s", raw)
	}
	e.When = int64(math.RoundToEven(seconds * micros))
	return nil
}
