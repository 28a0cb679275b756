package query

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tsdbridge/tsdbridge/internal/backtrack"
	"github.com/tsdbridge/tsdbridge/tree/javaregexp"
)

// A Filter is a condition on the value of a tag, which a series must have.
type Filter struct {
	TagKey  string
	Type    string // one of FilterTypes
	Text    string
	GroupBy bool

	folds bool  // a wildcard matches in any case, though its type does not say so
	bytes int64 // that its regular expression takes while it is matched
}

// maxAlternatives bounds the values of one literal_or filter.
const maxAlternatives = 100_000

// instructionBytes is what an instruction of a regular expression takes while it is matched, about.
const instructionBytes = 256

// placesBytes is what the places to go back to may take, for a regular expression that needs them.
const placesBytes = 16 * backtrack.MaxPlaces

// NewFilter returns a filter that was checked. Errors are in a TSD's words.
func NewFilter(key, kind, text string, groupBy bool) (Filter, error) {
	f := Filter{TagKey: key, Type: kind, Text: text, GroupBy: groupBy}
	switch {
	case key == "":
		return f, errors.New("Tagk cannot be null or empty")
	case text == "":
		return f, errors.New("Filter cannot be null or empty")
	case kind == "":
		return f, errors.New("The filter type cannot be null or empty")
	}
	switch f.Type {
	case "literal_or", "iliteral_or", "not_literal_or", "not_iliteral_or":
		if text == "|" {
			return f, errors.New("Filter must contain more than just a pipe")
		}
		if strings.Count(text, "|") >= maxAlternatives {
			return f, fmt.Errorf("A filter has more than %d alternatives", maxAlternatives)
		}
	case "wildcard", "iwildcard":
		if !strings.Contains(text, "*") {
			return f, errors.New("Filter must contain an asterisk")
		}
	case "regexp":
		pattern, err := javaregexp.Compile(text)
		if err != nil {
			return f, err
		}
		if f.bytes = int64(pattern.Size()) * instructionBytes; pattern.Backtracks() {
			f.bytes += placesBytes
		}
	default:
		return f, fmt.Errorf("Could not find a tag value filter of the type: %s", f.Type)
	}
	return f, nil
}

// parseFilter reads what stands behind a tag key: text, a|b, *, a*, type(text).
func parseFilter(key, value string, groupBy bool) (Filter, error) {
	if key == "" {
		return Filter{}, errors.New("Tagk cannot be null or empty")
	}
	kind, rest, typed := strings.Cut(value, "(")
	switch {
	case value == "":
		return Filter{}, errors.New("Filter cannot be null or empty")
	case value == "*":
		return newFolding(key, value, groupBy)
	case typed:
		if !strings.HasSuffix(rest, ")") {
			return Filter{}, fmt.Errorf("Filter must end with a ')': %s", value)
		}
		return NewFilter(key, strings.ToLower(kind), rest[:len(rest)-1], groupBy)
	case strings.Contains(value, "*"):
		return newFolding(key, value, groupBy)
	}
	return NewFilter(key, "literal_or", value, groupBy)
}

// newFolding returns what asterisks without a type mean: a TSD calls it wildcard, and matches in any case.
func newFolding(key, text string, groupBy bool) (Filter, error) {
	f, err := NewFilter(key, "wildcard", text, groupBy)
	f.folds = true
	return f, err
}

// matcher returns the condition on a tag's value. Every value matches a nil one. A regular expression
// takes its steps from those of the query; when they are used up, no value matches, and the query
// must fail with the error of the steps.
func (f Filter) matcher(steps *backtrack.Steps) func(string) bool {
	switch f.Type {
	case "literal_or", "iliteral_or", "not_literal_or", "not_iliteral_or":
		return f.literalMatcher()
	case "wildcard", "iwildcard":
		return f.wildcardMatcher()
	}
	pattern, err := javaregexp.Compile(f.Text)
	if err != nil { // it was checked
		return func(string) bool { return false }
	}
	return func(value string) bool {
		ok, err := pattern.Match(value, steps)
		return ok && err == nil
	}
}

func (f Filter) literalMatcher() func(string) bool {
	fold := strings.Contains(f.Type, "_ili") || strings.HasPrefix(f.Type, "ili")
	not := strings.HasPrefix(f.Type, "not_")
	literals := map[string]bool{}
	for _, l := range f.literals() {
		if fold {
			l = strings.ToLower(l)
		}
		literals[l] = true
	}
	return func(value string) bool {
		if fold {
			value = strings.ToLower(value)
		}
		return literals[value] != not
	}
}

// literals returns the alternatives of a literal filter. Empty ones at the end do not count.
func (f Filter) literals() []string {
	return strings.Split(strings.TrimRight(f.Text, "|"), "|")
}

// wildcardMatcher matches as a TSD does: pieces between asterisks are looked for in order, each not
// before as many characters as the pieces before it have together. What overlaps matches therefore.
func (f Filter) wildcardMatcher() func(string) bool {
	text, fold := f.Text, f.folds || f.Type == "iwildcard"
	if fold {
		text = strings.ToLower(text)
	}
	inner := strings.Trim(text, "*")
	if inner == "" {
		return nil
	}
	anyBefore, anyAfter := text[0] == '*', text[len(text)-1] == '*'
	pieces := strings.Split(inner, "*")
	return func(value string) bool {
		if fold {
			value = strings.ToLower(value)
		}
		if anyBefore && !anyAfter && !strings.HasSuffix(value, pieces[len(pieces)-1]) {
			return false
		}
		if anyAfter && !anyBefore && !strings.HasPrefix(value, pieces[0]) {
			return false
		}
		at := 0
		for _, piece := range pieces {
			if at > len(value) || !strings.Contains(value[at:], piece) {
				return false
			}
			at += len(piece)
		}
		return true
	}
}

// A FilterType describes a type of filters.
type FilterType struct {
	Examples    string `json:"examples"`
	Description string `json:"description"`
}

// FilterTypes returns all types by their names.
func FilterTypes() map[string]FilterType {
	example := func(name, value string) string {
		return fmt.Sprintf("host=%s(%s)  {\"type\":\"%s\",\"tagk\":\"host\",\"filter\":\"%s\",\"groupBy\":false}", name, value, name, value)
	}
	types := map[string]FilterType{}
	for name, text := range map[string]string{
		"literal_or":      "The value is one of those between the pipes.",
		"iliteral_or":     "The value is one of those between the pipes, in any case.",
		"not_literal_or":  "The value is none of those between the pipes.",
		"not_iliteral_or": "The value is none of those between the pipes, in any case.",
	} {
		types[name] = FilterType{example(name, "web01|web02"), text}
	}
	types["wildcard"] = FilterType{example("wildcard", "web*.lga"), "The value has the pieces between the asterisks, in order."}
	types["iwildcard"] = FilterType{example("iwildcard", "web*.lga"), "The value has the pieces between the asterisks, in order and in any case."}
	types["regexp"] = FilterType{example("regexp", "web[0-9]+"), "A part of the value matches the regular expression, in Java's syntax."}
	return types
}
