package tree

import (
	"errors"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// A rule of rest shows the tags that no other rule of its tree shows whole, each as a name
// key=value, in the order of their keys; a series without such tags gets no name of it. No two
// series of such a tree have one path, unless names share dots or hashes.
//
// In the table it is a TAGK rule of a key that no tag has. A TSD finds no such tag. It appends no
// series to the tree because the tree is strict, but it browses what tsdbridge appends.

// restField is the field of a rule of rest. Braces are in no stored key, and OpenTSDB allows none
// in tags.
const restField = "{tags...}"

// The reasons to refuse a rule of rest.
var (
	errRestForm   = errors.New("a rule of " + restField + " has no regex, separator or displayFormat: it shows key=value")
	errRestLevel  = errors.New("a rule of " + restField + " is the only one of its level, and of its kind")
	errRestStrict = errors.New("a tree with a rule of " + restField + " must be strict, or a TSD appends series to it without their rest")
)

func (r *rule) rest() bool { return r.Type == ruleTagk && r.Field == restField }

// whole reports whether a name of the rule shows all of what the rule looks at.
func (r *rule) whole() bool {
	shows := r.DisplayFormat == "" || strings.Contains(r.DisplayFormat, "{value}") || strings.Contains(r.DisplayFormat, "{ovalue}")
	return (r.Type == ruleMetric || r.Type == ruleTagk && !r.rest()) && r.regex == nil && shows
}

// checkRest returns what is wrong with the rest rules of a declared tree.
func (t *Tree) checkRest() error {
	found := 0
	for _, level := range t.levels {
		for _, r := range level {
			if !r.rest() {
				continue
			}
			if found++; found > 1 || len(level) > 1 {
				return errRestLevel
			}
			if !t.def.StrictMatch {
				return errRestStrict
			}
		}
	}
	return nil
}

// A Display is what the paths of a tree show of series.
type Display struct {
	// Metric is true when paths show the whole metric. Tags are the stored keys of tags that they
	// show whole.
	Metric bool
	Tags   map[string]bool
	// Sum is true when render returns the series of one path as their sum. Otherwise it returns
	// each by itself.
	Sum bool
}

// displayOf returns what the rules show of every series: only rules that are alone on their levels.
func displayOf(levels [][]*rule, sum bool) Display {
	d := Display{Tags: map[string]bool{}, Sum: sum}
	for _, level := range levels {
		switch r := level[0]; {
		case len(level) > 1 || !r.whole():
		case r.Type == ruleMetric:
			d.Metric = true
		default:
			d.Tags[r.Field] = true
		}
	}
	return d
}

// Display returns what the paths of the tree show.
func (t *Tree) Display() Display { return t.display }

// rest gives the names of the tags that no other rule shows.
func (w *walk) rest(r *rule, shown map[string]bool) {
	w.said.say("Processing rule: ", r.label)
	tags := w.subject.tags(shown)
	for _, tag := range tags {
		name := tag.Key + "=" + tag.Value
		w.said.say("Tag that no other rule shows [", name, "] for rule: ", r.label)
		w.names = append(w.names, name)
	}
	if len(tags) == 0 {
		w.said.say("No other tags for rule: ", r.label)
	}
}

// tags returns the tags of the series as people see them, by key, except for those whose stored
// keys are shown already.
func (s *Subject) tags(shown map[string]bool) []storage.Tag {
	if s.Rest != nil {
		return s.Rest(s.Series, shown)
	}
	tags := slices.DeleteFunc(slices.Clone(s.Tags), func(tag storage.Tag) bool { return shown[tag.Key] })
	slices.SortFunc(tags, func(a, b storage.Tag) int { return strings.Compare(a.Key, b.Key) })
	return tags
}

// restRule returns a rule of rest.
func restRule(level int) schema.TreeRule {
	return schema.TreeRule{Type: ruleTagk, Field: restField, Level: level}
}
