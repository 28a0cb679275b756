package conf

import (
	"fmt"

	"github.com/tsdbridge/tsdbridge/graphite/pyregexp"
	"github.com/tsdbridge/tsdbridge/internal/cache"
)

// rules are the sections of one of carbon's files. The first section whose pattern is found in a
// name holds for the name. They are safe for concurrent use.
type rules[T any] struct {
	list    []rule[T]
	skipped []error
	known   *cache.LRU[string, int] // number of the rule of a name, len(list) without one
}

// maxNames is how many names each generation of the cache of rules holds.
const maxNames = 200_000

type rule[T any] struct {
	pattern *pyregexp.Regexp
	value   T
}

// parseRules reads a file. parse returns the value of a section, or an error and its key. A
// skippedError means that carbon ignores the section.
func parseRules[T any](file, text string, parse func(s section) (value T, key string, err error)) (*rules[T], error) {
	sections, err := parseINI(file, text)
	if err != nil {
		return nil, err
	}
	r := &rules[T]{known: cache.NewLRU[string, int](maxNames)}
	for _, s := range sections {
		value, key, err := parse(s)
		if skip, ok := err.(*skippedError); ok { //nolint:errorlint // Never wrapped.
			if s.name != defaultSection { // it only has defaults for the other sections
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

// skippedError is the reason why carbon ignores a section.
type skippedError struct{ reason string }

func (e *skippedError) Error() string { return e.reason }

// skipWithout returns an error for a section that lacks one of the keys.
func (s section) skipWithout(keys ...string) error {
	for _, key := range keys {
		if s.options[key].value == "" {
			return &skippedError{"it has no " + key}
		}
	}
	return nil
}

// of returns the value of the first rule that matches a name, false without one. A pattern that
// takes too long does not match.
func (r *rules[T]) of(name string) (value T, ok bool) {
	if r == nil {
		return value, false
	}
	at, known := r.known.Get(name)
	if !known {
		at = r.find(name)
		r.known.Put(name, at)
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
