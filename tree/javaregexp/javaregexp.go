// Package javaregexp gives Java's regular expressions their Java meaning in Go: it reads a
// java.util.regex pattern, runs it on Go's engine in linear time where that has the same meaning
// and else on the engine that goes back (internal/backtrack), and splits text as String.split does.
// Steps of that engine are bounded by the caller. It knows nothing of trees and of queries.
//
// Texts are UTF-8 and matched by code points, as Java matches well-formed UTF-16: a dot takes a
// character beyond U+FFFF whole. Half of a surrogate pair cannot be matched, and is refused.
package javaregexp

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"sync"

	"github.com/tsdbridge/tsdbridge/internal/backtrack"
)

// A Regexp is a regular expression of Java. It is safe for concurrent use.
type Regexp struct {
	groups int
	linear *regexp.Regexp // nil if Go's engine cannot run the pattern
	size   int            // of linear, or of the program
	// Where Go's expression means the same: see the type linear. With losesGroup only whether it
	// matches is the same, and groups are not.
	ascii, unended, losesGroup bool
	missing                    string // what Go's engine lacks
	scans                      bool   // there is a \G, which is taken for the beginning of the text
	program                    func() *backtrack.Program
}

// ErrTooExpensive means that matching takes more steps than are allowed.
var ErrTooExpensive = backtrack.ErrTooExpensive

// mostSteps bounds the steps for one text where the caller gives no Steps, about 15 ms.
const mostSteps = 1 << 20

// Compile compiles a regular expression of Java. What Java refuses is an error that names the place,
// and so is what is not supported: \X, \b{g}, \N{…}, blocks (\p{In…}), the flag c, halves of
// surrogate pairs. A pattern that is too large is an ErrTooLarge.
func Compile(pattern string) (*Regexp, error) {
	if err := checkLength(pattern); err != nil {
		return nil, err
	}
	p := parser{groups: 1, names: map[string]int{}}
	p.Src = unquote([]rune(pattern))
	e, err := p.parse()
	if err != nil {
		return nil, err
	}
	r := &Regexp{groups: p.groups, scans: p.scans}
	groups := max(p.groups, 10) // \9 is a reference, whether there is such a group or not
	r.program = sync.OnceValue(func() *backtrack.Program {
		return backtrack.Compile(node(e), backtrack.Options{Groups: groups, MostSteps: mostSteps, KeepsGroups: true})
	})
	r.compileLinear(e)
	if r.linear == nil {
		r.size = r.program().Size() + p.ranges/8
	}
	return r, nil
}

// compileLinear compiles the pattern for Go's engine, if that can run it.
func (r *Regexp) compileLinear(e expr) {
	var l linear
	l.write(e)
	r.missing, r.ascii, r.unended = l.missing, l.ascii, l.unended
	if r.missing != "" {
		return
	}
	tree, err := syntax.Parse(l.out.String(), syntax.Perl)
	if err != nil || size(tree) > maxSize {
		r.missing = "so much repetition"
		return
	}
	if r.linear, err = regexp.Compile(l.out.String()); err != nil {
		r.missing = "so much repetition"
		return
	}
	r.size, r.losesGroup = size(tree), l.keepsGroups || losesGroup(tree)
}

// Backtracks reports whether only the engine that goes back can run the pattern, whose time is not
// linear.
func (r *Regexp) Backtracks() bool { return r.linear == nil }

// Linear returns an error that names what needs more than linear time, if anything does.
func (r *Regexp) Linear() error {
	if r.linear == nil {
		return fmt.Errorf("%s is not supported here", r.missing)
	}
	return nil
}

// NumSubexp returns how many groups the pattern has.
func (r *Regexp) NumSubexp() int { return r.groups - 1 }

// Match reports whether a part of a text matches, as Java's Matcher.find. Steps are taken from
// steps; without it they are bounded for the text.
func (r *Regexp) Match(text string, steps *backtrack.Steps) (bool, error) {
	if r.runs(text) {
		return r.linear.MatchString(text), nil
	}
	m := r.program().Match(text, steps)
	defer m.End()
	_, ok := m.Search(0, false)
	return ok, m.Err()
}

// MatchLinear is Match in linear time, for a pattern whose Linear is nil. In a text that a line
// terminator ends, $ does not match before it; \b takes letters beyond ASCII for none.
func (r *Regexp) MatchLinear(text string) bool { return r.linear.MatchString(text) }

// Find returns where the first match and its groups begin and end, -1 for a group that took no
// part; nil if nothing matches.
func (r *Regexp) Find(text string, steps *backtrack.Steps) ([]int, error) {
	if r.runs(text) && !r.losesGroup {
		return r.linear.FindStringSubmatchIndex(text), nil
	}
	m := r.program().Match(text, steps)
	defer m.End()
	if _, ok := m.Search(0, false); !ok {
		return nil, m.Err()
	}
	places := make([]int, 0, 2*r.groups)
	for n := range r.groups {
		begin, end := m.Group(n)
		places = append(places, begin, end)
	}
	return places, nil
}

// runs reports whether Go's engine gives Java's answer for a text.
func (r *Regexp) runs(text string) bool {
	return r.linear != nil && (!r.ascii || isASCII(text)) && (!r.unended || !endsInTerminator(text))
}

// unquote turns what stands between \Q and \E into escapes, as Java does before it reads anything
// else.
func unquote(src []rune) []rune {
	if !slices.Contains(src, '\\') {
		return src
	}
	var out []rune
	quoted, first := false, false
	for i := 0; i < len(src); i++ {
		escape := src[i] == '\\' && i+1 < len(src)
		switch {
		case quoted && escape && src[i+1] == 'E':
			quoted = false
			i++
		case quoted:
			out = appendQuoted(out, src[i], first)
			first = false
		case escape && src[i+1] == 'Q':
			quoted, first = true, true
			i++
		case escape:
			out = append(out, src[i], src[i+1])
			i++
		default:
			out = append(out, src[i])
		}
	}
	return out
}

// appendQuoted appends a character that stands for itself. A digit that comes first must not
// belong to a reference before it.
func appendQuoted(out []rune, c rune, first bool) []rune {
	switch {
	case '0' <= c && c <= '9' && first:
		return append(out, []rune(fmt.Sprintf(`\x%02x`, c))...)
	case !isASCIILetter(c) && (c < '0' || c > '9'):
		return append(out, '\\', c)
	}
	return append(out, c)
}

func isASCIILetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }
