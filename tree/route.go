package tree

import (
	"fmt"
	"strings"

	"github.com/tsdbridge/tsdbridge/internal/backtrack"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Outcome is what becomes of a series in a tree.
type Outcome int

// The outcomes.
const (
	// Stored has a leaf on a branch below the root.
	Stored Outcome = iota
	// OnRoot is a series of one name. A TSD finds the leaf, and then stores nothing.
	OnRoot
	// NoMatch is a series that no rule has a name for.
	NoMatch
	// Refused is a series that a level of a strict tree does not match.
	Refused
	// Failed is a series on which a TSD throws an exception: an empty value to split, pieces of one
	// rule taken by another.
	Failed
)

// String returns the outcome in texts.
func (o Outcome) String() string {
	switch o {
	case Stored:
		return "stored"
	case OnRoot:
		return "one name, the leaf is on the root"
	case NoMatch:
		return "no rule matched"
	case Refused:
		return "refused by strict match"
	case Failed:
		return "failed"
	}
	return fmt.Sprintf("Outcome(%d)", int(o))
}

// A Route is the way of a series through a tree.
type Route struct {
	Outcome Outcome
	// Branches are the names from the root, which is not among them, down to the branch with the
	// leaf; Leaf is the name of the leaf. A series that is refused may have a Leaf alone, which a TSD
	// shows on the root when it explains.
	Branches []string
	Leaf     string
	// Unmatched are the rules that were tried last on levels that did not match, in a TSD's words,
	// or what failed.
	Unmatched string
}

// Path returns the dotted path of shown names.
func (r Route) Path(shown func(stored string) string) string {
	var b strings.Builder
	for _, name := range r.Branches {
		b.WriteString(shown(name))
		b.WriteByte('.')
	}
	b.WriteString(shown(r.Leaf))
	return b.String()
}

// Route runs a series through the rules.
func (t *Tree) Route(s Subject) Route { return t.route(s, nil) }

// route is OpenTSDB 2.4 TreeBuilder.processRuleset, which a TSD does recursively: each step tries
// the rules of a level for one name, and on the way back the names become branches and a leaf.
func (t *Tree) route(s Subject, said *transcript) Route {
	w := walk{subject: s, said: said, names: make([]string, 0, 8)}
	for level := 0; level < len(t.levels) && !said.ended(); {
		if r := t.levels[level][0]; r.rest() {
			w.rest(r, t.display.Tags)
			level++
			continue
		}
		done, failed := w.step(t.levels[level])
		if failed != "" {
			return Route{Outcome: Failed, Unmatched: failed}
		}
		if done {
			level++
		}
	}
	a := assembly{tree: t.id, tsuid: s.TSUID, names: w.names, said: said}
	r := a.route()
	r.Unmatched = w.unmatched
	if w.unmatched != "" && t.def.StrictMatch {
		if said != nil {
			said.say("TSUID failed to match one or more rule levels, will not add: ", schema.FormatTSUID(s.TSUID))
		}
		refused := Route{Outcome: Refused, Unmatched: w.unmatched}
		if len(r.Branches) == 0 {
			refused.Leaf = r.Leaf
		}
		return refused
	}
	return r
}

// A transcript records the messages of a TSD's /api/tree/test, word for word. A nil one records
// nothing.
type transcript struct {
	lines []string
	done  <-chan struct{} // closed: nobody waits for the rest
}

// ended reports whether the series need go no further.
func (t *transcript) ended() bool {
	if t == nil {
		return false
	}
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

func (t *transcript) say(parts ...string) {
	if t != nil {
		t.lines = append(t.lines, strings.Join(parts, ""))
	}
}

// walk is the way down the levels: one name a step, "" where nothing matched.
type walk struct {
	subject   Subject
	said      *transcript
	names     []string
	unmatched string
	// The pieces of a value that was split, of which each step takes one. The rules of the level
	// are tried again for each, from the first on; another rule with a separator takes pieces that
	// are not its own.
	splitting bool
	pieces    []string
	next      int
}

// step tries the rules of a level for one name; the first that has one wins. done is false while
// pieces are left.
func (w *walk) step(level []*rule) (done bool, failed string) {
	name := ""
	var last *rule
	for _, last = range level {
		if w.said.ended() {
			break
		}
		w.said.say("Processing rule: ", last.label)
		if name, failed = w.try(last); failed != "" {
			return false, failed
		}
		if name != "" {
			break
		}
	}
	w.names = append(w.names, name)
	if name == "" {
		if w.unmatched != "" {
			w.unmatched += " "
		}
		w.unmatched += last.label
	}
	if w.splitting && w.next < len(w.pieces) {
		return false, ""
	}
	w.splitting, w.pieces, w.next = false, nil, 0
	return true, ""
}

// try gives the name that a rule makes.
func (w *walk) try(r *rule) (name, failed string) {
	value, ok := r.value(w.subject, w.said)
	if !ok {
		return "", ""
	}
	switch {
	case r.regex != nil:
		piece, why := r.extract(value, w.said)
		if failed = why; piece != "" {
			name = r.format(w.subject, value, piece, w.said)
		}
	case r.separator != nil:
		name, failed = w.piece(r, value)
	default:
		name = r.format(w.subject, value, value, w.said)
	}
	if r.custom() && failed == "" {
		w.said.say("Matched custom tag [", r.CustomField, "] for rule: ", r.label)
	}
	return name, failed
}

// piece gives the name of the next piece of a value.
func (w *walk) piece(r *rule, value string) (name, failed string) {
	if !w.splitting {
		if value == "" {
			return "", "Value was empty for rule: " + r.label
		}
		pieces, err := r.separator.Split(value, backtrack.NewSteps(mostSteps, nil))
		if err != nil {
			return "", fmt.Sprintf("the separator of rule %s takes more than %d steps for a value", r.label, mostSteps)
		}
		w.splitting, w.pieces, w.next = true, pieces, 0
		if len(w.pieces) == 0 {
			w.said.say("Separator did not match, created an empty list on rule: ", r.label)
			w.next = 1
			return "", ""
		}
	}
	if w.next >= len(w.pieces) {
		return "", fmt.Sprintf("Index %d out of bounds for length %d", w.next, len(w.pieces))
	}
	w.next++
	return r.format(w.subject, value, w.pieces[w.next-1], w.said), ""
}
