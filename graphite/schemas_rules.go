package graphite

import (
	"fmt"

	"github.com/tsdbridge/tsdbridge/graphite/pyregexp"
)

// rules are the sections of a file of carbon's: the first whose pattern is found in a name says what holds for it. Safe for concurrent use.
type rules[T any] struct {
	list    []rule[T]
	skipped []error
	known   *recent[string, int] // number of the rule of a name; len(list): none
}

// maxNames bounds a generation of names whose rules are remembered.
const maxNames = 200_000

type rule[T any] struct {
	pattern *pyregexp.Regexp
	value   T
}

// parseRules reads a file. parse returns the value of a section, or an error with the key that it is about; a skippedError makes the
// section one that carbon passes over.
func parseRules[T any](file, text string, parse func(s confSection) (value T, key string, err error)) (*rules[T], error) {
	sections, err := parseConf(file, text)
	if err != nil {
		return nil, err
	}
	r := &rules[T]{known: newRecent[string, int](maxNames)}
	for _, s := range sections {
		value, key, err := parse(s)
		if skip, ok := err.(*skippedError); ok { //nolint:errorlint // Never wrapped.
			if s.name != defaultSection { // which is for the other sections
				r.skipped = append(r.skipped, fmt.Errorf("%s:%d: [%s] is passed over: %w", file, s.line, s.name, skip))
			}
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: [%s] %s: %w", file, s.options[key].line, s.name, key, err)
		}
		pattern := s.options["pattern"]
		re, err := pyregexp.Compile(pattern.value)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: [%s] pattern: %w", file, pattern.line, s.name, err)
		}
		r.list = append(r.list, rule[T]{re, value})
	}
	return r, nil
}

// skippedError says why carbon would go on without a section.
type skippedError struct{ reason string }

func (e *skippedError) Error() string { return e.reason }

// skipWithout is the error of a section that lacks a key.
func (s confSection) skipWithout(keys ...string) error {
	for _, key := range keys {
		if s.options[key].value == "" {
			return &skippedError{"it has no " + key}
		}
	}
	return nil
}

// of returns what holds for a name, false if no rule is about it. A pattern that takes too long to try is not found.
func (r *rules[T]) of(name string) (value T, ok bool) {
	if r == nil {
		return value, false
	}
	at, known := r.known.get(name)
	if !known {
		at = r.find(name)
		r.known.put(name, at)
	}
	if at == len(r.list) {
		return value, false
	}
	return r.list[at].value, true
}

func (r *rules[T]) find(name string) int {
	for i := range r.list {
		if found, err := r.list[i].pattern.Search(name); err == nil && found {
			return i
		}
	}
	return len(r.list)
}
