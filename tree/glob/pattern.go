// Package glob matches Graphite's patterns of dotted paths, element by element, and gives the ranges of names with which a match may
// go on. It reads no tree.
package glob

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tsdbridge/tsdbridge/storage"
)

// Limits of patterns.
const (
	maxPattern      = 64 << 10 // bytes of a pattern
	maxElements     = 60       // of a pattern with ** in it, between dots
	maxAlternatives = 4096     // of an element, when its braces are multiplied out
	maxExpanded     = 1 << 20  // bytes of what braces are multiplied out to, steps between included
)

// A Pattern is one of dotted paths: * ? [a-z] [!a-z] {a,b} within an element, ** for any number
// of elements. It matches as graphite-web does (finders/standard.py): braces of an element are
// multiplied out as text, each variant is Python's fnmatch, and backslashes are dropped, so they
// escape nothing.
type Pattern struct {
	elements []element
	// deep is true when there are more elements than states have bits. None of them is **, so that
	// a path is at one element at a time: the states are then its number, from 1 on.
	deep bool
}

// An element matches one element of a path.
type element struct {
	any      bool // **: any number of elements
	variants []variant
}

// A variant is an element without braces.
type variant struct {
	prefix string  // what it begins with, literally
	tokens []token // what follows; none: the prefix is all
}

// A token is one character of a pattern.
type token struct {
	kind tokenKind
	char rune
	set  *charSet
}

type tokenKind byte

const (
	tokenChar tokenKind = iota
	tokenOne            // ?
	tokenRun            // *
	tokenSet            // [...]
)

// Compile reads a pattern. Empty elements match nothing, except one at the end, which is left
// out.
func Compile(pattern string) (*Pattern, error) {
	if len(pattern) > maxPattern {
		return nil, fmt.Errorf("%w: pattern of %d bytes, at most %d are searched for", storage.ErrLimit, len(pattern), maxPattern)
	}
	expanded := 0
	parts := strings.Split(strings.TrimSuffix(strings.ReplaceAll(pattern, `\`, ""), "."), ".")
	if parts[len(parts)-1] == "**" {
		parts = append(parts, "*") // every leaf below, not every branch with it
	}
	g := &Pattern{elements: make([]element, len(parts)), deep: len(parts) > maxElements}
	if g.deep && slices.Contains(parts, "**") {
		return nil, fmt.Errorf("%w: pattern of %d elements, at most %d with **", storage.ErrLimit, len(parts), maxElements)
	}
	for i, part := range parts {
		if part == "**" {
			g.elements[i].any = true
			continue
		}
		texts, err := expandBraces(part, &expanded)
		if err != nil {
			return nil, err
		}
		for _, text := range texts {
			g.elements[i].variants = append(g.elements[i].variants, compileVariant(text))
		}
	}
	return g, nil
}

// States are the elements of a pattern that the next element of a path may match, a bit each; the
// bit after the last means that the path so far matches.
type States uint64

// Start returns the states before the first element of a path.
func (g *Pattern) Start() States {
	if g.deep {
		return 1
	}
	return g.enter(0)
}

// Done reports whether the path so far matches.
func (g *Pattern) Done(s States) bool {
	if g.deep {
		return int(s) == len(g.elements)+1
	}
	return s>>len(g.elements)&1 != 0
}

// More reports whether a longer path may match.
func (g *Pattern) More(s States) bool {
	if g.deep {
		return 0 < s && int(s) <= len(g.elements)
	}
	return s&(1<<len(g.elements)-1) != 0
}

// at reports whether element i is among the states.
func (g *Pattern) at(s States, i int) bool {
	if g.deep {
		return int(s) == i+1
	}
	return s>>i&1 != 0
}

// enter returns the state of element i and, as ** may stand for none, those that follow it.
func (g *Pattern) enter(i int) States {
	s := States(1) << i
	for i < len(g.elements) && g.elements[i].any {
		i++
		s |= 1 << i
	}
	return s
}

// Step goes on by one element of a path.
func (g *Pattern) Step(s States, name string) States {
	if g.deep {
		if g.More(s) && g.elements[s-1].match(name) {
			return s + 1
		}
		return 0
	}
	var next States
	for i := range g.elements {
		if !g.at(s, i) {
			continue
		}
		switch e := &g.elements[i]; {
		case e.any:
			next |= g.enter(i)
		case e.match(name):
			next |= g.enter(i + 1)
		}
	}
	return next
}

func (e *element) match(name string) bool {
	for i := range e.variants {
		if e.variants[i].match(name) {
			return true
		}
	}
	return false
}

// expandBraces multiplies out {a,b}, from the innermost pair on. A brace without its other half is
// a character. expanded counts the bytes that this makes, over all elements of a pattern.
func expandBraces(part string, expanded *int) ([]string, error) {
	todo, done := []string{part}, []string(nil)
	seen := map[string]bool{}
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[s] {
			continue
		}
		if seen[s] = true; len(seen) > maxAlternatives {
			return nil, fmt.Errorf("%w: the braces of %.100q make more than %d alternatives", storage.ErrLimit, part, maxAlternatives)
		}
		if *expanded += len(s); *expanded > maxExpanded {
			return nil, fmt.Errorf("%w: the braces of %.100q make more than %d bytes", storage.ErrLimit, part, maxExpanded)
		}
		before, after, _ := strings.Cut(s, "{")
		length := strings.IndexByte(after, '}') // the first } with a { before it
		if length < 0 {
			done = append(done, s)
			continue
		}
		end := len(before) + 1 + length
		begin := strings.LastIndexByte(s[:end], '{')
		for alternative := range strings.SplitSeq(s[begin+1:end], ",") {
			todo = append(todo, s[:begin]+alternative+s[end+1:])
		}
	}
	slices.Sort(done)
	return done, nil
}

func compileVariant(text string) variant {
	end := strings.IndexAny(text, "*?[")
	if end < 0 {
		return variant{prefix: text}
	}
	v := variant{prefix: text[:end]}
	shut := strings.LastIndexByte(text, ']') // No set ends after it.
	for rest := text[end:]; rest != ""; {
		c, n := utf8.DecodeRuneInString(rest)
		t := token{kind: tokenChar, char: c}
		switch c {
		case '*':
			t.kind = tokenRun
		case '?':
			t.kind = tokenOne
		case '[':
			if len(text)-len(rest) > shut {
				break
			}
			if set, length := compileSet(rest); length > 0 {
				t.kind, t.set, n = tokenSet, set, length
			}
		}
		rest = rest[n:]
		if t.kind != tokenRun || len(v.tokens) == 0 || v.tokens[len(v.tokens)-1].kind != tokenRun {
			v.tokens = append(v.tokens, t)
		}
	}
	return v
}

// match is fnmatch: what a * takes is tried from nothing on, and only for the last * so far.
func (v *variant) match(name string) bool {
	rest, ok := strings.CutPrefix(name, v.prefix)
	if !ok || len(v.tokens) == 0 {
		return ok && rest == ""
	}
	at, retry, retryRest := 0, -1, ""
	for rest != "" || at < len(v.tokens) {
		if at < len(v.tokens) && v.tokens[at].kind == tokenRun {
			at++
			retry, retryRest = at, rest
			continue
		}
		if at < len(v.tokens) && rest != "" {
			c, n := utf8.DecodeRuneInString(rest)
			if v.tokens[at].match(c) {
				at, rest = at+1, rest[n:]
				continue
			}
		}
		if retry < 0 || retryRest == "" {
			return false
		}
		_, n := utf8.DecodeRuneInString(retryRest)
		retryRest = retryRest[n:]
		at, rest = retry, retryRest
	}
	return true
}

func (t *token) match(c rune) bool {
	switch t.kind {
	case tokenOne:
		return true
	case tokenSet:
		return t.set.match(c)
	default:
		return c == t.char
	}
}

// Quote returns the pattern of a path. Nothing can stand for a brace or a backslash: where the path has one, the
// pattern matches every character.
func Quote(path string) string {
	return strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]", "{", "?", "}", "?", `\`, "?").Replace(path)
}
