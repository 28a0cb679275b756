package pyregexp

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/tsdbridge/tsdbridge/internal/backtrack"
	"github.com/tsdbridge/tsdbridge/internal/backtrack/pattern"
)

// parser reads a pattern by recursive descent, with Python's words for errors.
type parser struct {
	pattern.Text

	groups int // The next group's number.
	names  map[string]int
	open   []int // Groups whose bracket is not closed yet: they cannot be referred to.
	depth  int   // Groups of any kind around the place.
	needs  int   // The greatest group that a condition asks for.
	flags  flags
}

type flags struct{ fold, multiline, dotAll, verbose, ascii bool }

func (p *parser) parse() (backtrack.Node, error) {
	if err := p.globalFlags(); err != nil {
		return nil, err
	}
	n, err := p.alternation()
	if err == nil && p.At < len(p.Src) {
		err = errors.New("unbalanced parenthesis")
	}
	if err == nil && p.needs >= p.groups {
		err = fmt.Errorf("invalid group reference %d", p.needs)
	}
	return n, err
}

// until takes what comes before a character, and that character.
func (p *parser) until(end rune) (string, error) {
	if s, ok := p.Until(end); ok {
		return s, nil
	}
	return "", fmt.Errorf("missing %c, unterminated name", end)
}

// globalFlags reads `(?i)` and its like, which may only stand at the start.
func (p *parser) globalFlags() error {
	for p.At+2 < len(p.Src) && p.Src[p.At] == '(' && p.Src[p.At+1] == '?' {
		end := p.At + 2
		for end < len(p.Src) && strings.ContainsRune("aiLmsux", p.Src[end]) {
			end++
		}
		if end == p.At+2 || end == len(p.Src) || p.Src[end] != ')' {
			return nil
		}
		if err := p.flags.set(p.Src[p.At+2:end], true); err != nil {
			return err
		}
		p.At = end + 1
	}
	return nil
}

func (f *flags) set(letters []rune, on bool) error {
	for _, c := range letters {
		switch c {
		case 'i':
			f.fold = on
		case 'm':
			f.multiline = on
		case 's':
			f.dotAll = on
		case 'x':
			f.verbose = on
		case 'a':
			f.ascii = on
		case 'u':
		case 'L':
			return errors.New("bad inline flags: cannot use 'L' flag with a str pattern")
		default:
			return fmt.Errorf("unknown flag %q", c)
		}
	}
	return nil
}

func (p *parser) alternation() (backtrack.Node, error) {
	if p.depth++; p.depth > maxNesting {
		return nil, fmt.Errorf("groups nested deeper than %d", maxNesting)
	}
	defer func() { p.depth-- }()
	var all backtrack.Alternatives
	for {
		n, err := p.branch()
		if err != nil {
			return nil, err
		}
		all = append(all, n)
		if !p.Takes("|") {
			break
		}
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return all, nil
}

func (p *parser) branch() (backtrack.Node, error) {
	var all backtrack.Sequence
	for p.At < len(p.Src) && p.Next() != '|' && p.Next() != ')' {
		if p.flags.verbose && p.skipVerbose() {
			continue
		}
		n, err := p.atom()
		if err != nil {
			return nil, err
		}
		if n == nil {
			continue // A comment.
		}
		if n, err = p.quantified(n); err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}

func (p *parser) skipVerbose() bool {
	if unicode.IsSpace(p.Next()) {
		p.At++
		return true
	}
	if p.Next() != '#' {
		return false
	}
	for p.At < len(p.Src) && p.Next() != '\n' {
		p.At++
	}
	return true
}

// quantified reads the repeat after an atom, if there is one.
func (p *parser) quantified(n backtrack.Node) (backtrack.Node, error) {
	least, most, ok, err := p.quantifier()
	if !ok || err != nil {
		return n, err
	}
	if _, isPlace := n.(backtrack.Place); isPlace {
		return nil, errors.New("nothing to repeat")
	}
	r := backtrack.Repeat{Body: n, Least: least, Most: most}
	var whole backtrack.Node = r
	switch {
	case p.Takes("?"):
		r.Lazy = true
		whole = r
	case p.Takes("+"):
		whole = backtrack.Atomic{Body: r}
	}
	if _, _, again, _ := p.quantifier(); again {
		return nil, errors.New("multiple repeat")
	}
	return whole, nil
}

func (p *parser) quantifier() (least, most int, ok bool, err error) {
	switch p.Next() {
	case '*':
		p.At++
		return 0, backtrack.Unbounded, true, nil
	case '+':
		p.At++
		return 1, backtrack.Unbounded, true, nil
	case '?':
		p.At++
		return 0, 1, true, nil
	case '{':
		return p.counts()
	}
	return 0, 0, false, nil
}

// counts reads `{2}`, `{2,}`, `{,3}` or `{2,3}`; any other brace is literal.
func (p *parser) counts() (least, most int, ok bool, err error) {
	end := slices.Index(p.Src[p.At:min(p.At+longestCounts, len(p.Src))], '}')
	if end < 0 {
		return 0, 0, false, nil
	}
	low, high, both := strings.Cut(string(p.Src[p.At+1:p.At+end]), ",")
	if !isCount(low) || !isCount(high) || !both && low == "" {
		return 0, 0, false, nil
	}
	p.At += end + 1
	least, most = count(low, 0), count(high, backtrack.Unbounded)
	if !both {
		most = least
	}
	if most < least {
		return 0, 0, true, errors.New("min repeat greater than max repeat")
	}
	return least, most, true, nil
}

// longestCounts is what `{12345678,12345678}` takes.
const longestCounts = 19

func isCount(s string) bool { return strings.Trim(s, "0123456789") == "" && len(s) < 9 }

func count(s string, otherwise int) int {
	if n, err := strconv.Atoi(s); err == nil {
		return n
	}
	return otherwise
}

func (p *parser) atom() (backtrack.Node, error) {
	c := p.Next()
	p.At++
	switch c {
	case '.':
		if p.flags.dotAll {
			return backtrack.Char{Is: func(rune) bool { return true }}, nil
		}
		return backtrack.Char{Is: func(r rune) bool { return r != '\n' }}, nil
	case '^':
		if p.flags.multiline {
			return placeNode(lineStart), nil
		}
		return placeNode(textStart), nil
	case '$':
		if p.flags.multiline {
			return placeNode(lineEnd), nil
		}
		return placeNode(lastLineEnd), nil
	case '(':
		return p.bracket()
	case '[':
		return p.set()
	case '\\':
		return p.escape()
	case '*', '+', '?', '{':
		p.At--
		if _, _, ok, _ := p.quantifier(); ok {
			return nil, errors.New("nothing to repeat")
		}
		p.At++
	}
	return p.literal(c), nil
}

func (p *parser) literal(c rune) backtrack.Node {
	if p.flags.fold {
		low := unicode.ToLower(c)
		return backtrack.Char{Is: func(r rune) bool { return r == c || unicode.ToLower(r) == low }}
	}
	return backtrack.Char{Char: c}
}
