package tree

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/storage"
)

// An Inverse reads the paths of a tree backwards: it returns the metric and tags of a path, without
// asking whether such a series exists. It is made of rules that lose nothing, so that a path has
// one reading.
type Inverse struct {
	levels []reading
	// variable is the level that takes as many elements as there are, -1 without one.
	variable int
}

// A reading is the meaning of the elements of a level. Without a tag and a metric it is a constant,
// prefix alone.
type reading struct {
	metric         bool
	tag            string // key
	prefix, suffix string
}

// The reasons for a tree to have no inverse.
var (
	errNotStrict   = errors.New("strictMatch is off: a path may lack any level")
	errAlternative = errors.New("the level has several rules: a path does not say which of them made it")
	errCustom      = errors.New("custom fields are no part of a series")
	errRegex       = errors.New("a regular expression may leave out parts of the value")
	errTagPieces   = errors.New("a tag that is split has no fixed number of elements")
	errSeparator   = errors.New(`only the separator \. stands between the elements of a metric`)
	errFormat      = errors.New("the display format must hold {value} once, and of other tokens {tag_name} alone")
	errNoValue     = errors.New("the display format does not show the value of the tag")
	errConstant    = errors.New("a constant element has dots, or is empty")
	errTwice       = errors.New("another level has it already")
	errRest        = errors.New("a path does not say which tags the rest is made of")
	errNoMetric    = errors.New("no level shows the metric")
)

// Inverse makes the inverse of a tree, or returns why it has none: the first level that keeps it
// from having one.
func (t *Tree) Inverse() (*Inverse, error) {
	if !t.def.StrictMatch {
		return nil, errNotStrict
	}
	i := &Inverse{variable: -1}
	for n, level := range t.levels {
		if len(level) > 1 {
			return nil, fmt.Errorf("level %d: %w", level[0].Level, errAlternative)
		}
		r, err := level[0].reading()
		if err == nil && i.has(r) {
			err = errTwice
		}
		if err != nil {
			return nil, fmt.Errorf("rule %d:%d: %w", level[0].Level, level[0].Order, err)
		}
		if r.metric && level[0].separator != nil {
			i.variable = n
		}
		i.levels = append(i.levels, r)
	}
	if !i.has(reading{metric: true}) {
		return nil, errNoMetric
	}
	return i, nil
}

// has reports whether the metric or a tag was read before; constants may be.
func (i *Inverse) has(r reading) bool {
	return slices.ContainsFunc(i.levels, func(have reading) bool {
		return r.metric && have.metric || r.tag != "" && have.tag == r.tag
	})
}

// reading inverts a rule.
func (r *rule) reading() (reading, error) {
	switch {
	case r.rest():
		return reading{}, errRest
	case r.custom():
		return reading{}, errCustom
	case r.regex != nil:
		return reading{}, errRegex
	case r.separator != nil && r.Type == ruleTagk:
		return reading{}, errTagPieces
	case r.separator != nil && r.separator.Literal() != ".":
		return reading{}, errSeparator
	}
	format := cmp.Or(r.DisplayFormat, "{value}")
	if r.separator == nil { // the piece is the whole value
		format = strings.ReplaceAll(format, "{ovalue}", "{value}")
	}
	if r.Type == ruleTagk {
		format = strings.ReplaceAll(format, "{tag_name}", r.Field)
	}
	prefix, suffix, shows := strings.Cut(format, "{value}")
	made := reading{prefix: prefix, suffix: suffix, metric: r.Type == ruleMetric && shows}
	if r.Type == ruleTagk {
		made.tag = r.Field
	}
	switch rest := prefix + suffix; {
	case strings.Contains(rest, "{value}"), strings.Contains(rest, "{ovalue}"), strings.Contains(rest, "{tsuid}"), strings.Contains(rest, "{tag_name}"):
		return reading{}, errFormat
	case made.tag != "" && !shows:
		return reading{}, errNoValue
	case !shows && (r.separator != nil || rest == "" || strings.Contains(rest, ".")):
		return reading{}, errConstant
	}
	return made, nil
}

// Series reads a path of shown names: the metric and the tags as people write them, each under the
// key of its rule. ok is false for a path that no series of the tree can have; one that the rules
// take may still not come back from them, see Forest.Inverse.
func (i *Inverse) Series(path string) (s storage.Series, ok bool) {
	elements := strings.Split(path, ".")
	if slices.Contains(elements, "") {
		return storage.Series{}, false
	}
	extra := len(elements) - len(i.levels)
	if extra < 0 || extra > 0 && i.variable < 0 {
		return storage.Series{}, false
	}
	for n, level := range i.levels {
		take := 1
		if n == i.variable {
			take += extra
		}
		if !level.read(&s, elements[:take]) {
			return storage.Series{}, false
		}
		elements = elements[take:]
	}
	slices.SortFunc(s.Tags, func(a, b storage.Tag) int { return strings.Compare(a.Key, b.Key) })
	return s, true
}

// read takes the elements of a level.
func (r *reading) read(s *storage.Series, elements []string) bool {
	if !r.metric && r.tag == "" {
		return elements[0] == r.prefix+r.suffix
	}
	values := make([]string, 0, len(elements))
	for _, e := range elements {
		value, ok := strings.CutPrefix(e, r.prefix)
		if value, ok = cutSuffix(value, r.suffix, ok); !ok || value == "" {
			return false
		}
		values = append(values, value)
	}
	if value := strings.Join(values, "."); r.metric {
		s.Metric = value
	} else {
		s.Tags = append(s.Tags, storage.Tag{Key: r.tag, Value: value})
	}
	return true
}

func cutSuffix(s, suffix string, ok bool) (string, bool) {
	rest, found := strings.CutSuffix(s, suffix)
	return rest, ok && found
}
