package javaregexp

import (
	"fmt"
	"slices"

	"github.com/tsdbridge/tsdbridge/internal/backtrack/pattern"
)

// parser reads a pattern of Java by recursive descent.
type parser struct {
	charReader

	groups int // the number of the next group
	names  map[string]int
	scans  bool // There is a \G.
	ranges int  // of all classes
}

// A charReader reads characters of a pattern, and sets of them: classes, escapes and properties.
type charReader struct {
	pattern.Text

	flags flagSet
	depth int         // groups and classes around the place
	cased []casedRune // see unicodeFold
}

type flagSet struct {
	fold      bool // i: letters of ASCII in either case
	unicode   bool // u: letters of Unicode, too
	dotAll    bool // s: a dot takes line terminators
	unixLines bool // d: only \n is a line terminator
	multiline bool // m: ^ and $ are about lines
	comments  bool // x: blanks and what follows a # are not read
	classes   bool // U: \w and its like are those of Unicode
}

// maxNesting is how deep groups and classes may be nested.
const maxNesting = 200

func (p *parser) parse() (expr, error) {
	e, err := p.alternation()
	if err == nil && p.At < len(p.Src) {
		err = p.refuse("closing parenthesis without an opening one")
	}
	return e, err
}

func (p *charReader) refuse(format string, args ...any) error {
	return fmt.Errorf("character %d of the pattern: %s", p.At+1, fmt.Sprintf(format, args...))
}

// skip passes over blanks and comments where the flag x is set.
func (p *charReader) skip() {
	for p.flags.comments && p.At < len(p.Src) {
		switch c := p.Src[p.At]; {
		case c == ' ' || '\t' <= c && c <= '\r':
			p.At++
		case c == '#':
			for p.At < len(p.Src) && !p.endsLine(p.Src[p.At]) {
				p.At++
			}
		default:
			return
		}
	}
}

func (p *charReader) endsLine(c rune) bool {
	if p.flags.unixLines {
		return c == '\n'
	}
	return isTerminator(c)
}

// alternation reads up to a closing parenthesis or the end. Flags that are set within hold until
// there.
func (p *parser) alternation() (expr, error) {
	if p.depth++; p.depth > maxNesting {
		return nil, p.refuse("groups nested deeper than %d", maxNesting)
	}
	outer := p.flags
	defer func() { p.flags, p.depth = outer, p.depth-1 }()
	var all choice
	for {
		e, err := p.sequence()
		if err != nil {
			return nil, err
		}
		all = append(all, e)
		if !p.Takes("|") {
			break
		}
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return all, nil
}

func (p *parser) sequence() (expr, error) {
	var all sequence
	for {
		p.skip()
		if p.At >= len(p.Src) || p.Src[p.At] == '|' || p.Src[p.At] == ')' {
			return all, nil
		}
		e, err := p.atom()
		if err != nil {
			return nil, err
		}
		if e == nil {
			continue // flags
		}
		if e, err = p.quantifier(e); err != nil {
			return nil, err
		}
		all = append(all, e)
	}
}

// atom reads what a quantifier may follow; flags give nil.
func (p *parser) atom() (expr, error) {
	switch c := p.Src[p.At]; c {
	case '*', '+', '?':
		return nil, p.refuse("%c repeats nothing", c)
	case '{': // Java repeats nothing here
		return sequence{}, nil
	case '\\':
		return p.escape()
	}
	p.At++
	switch c := p.Src[p.At-1]; c {
	case '(':
		return p.group()
	case '[':
		set, err := p.class(false)
		return p.char(set, err)
	case '.':
		return p.char(p.dot(), nil)
	case '^':
		return placeExpr{p.caret()}, nil
	case '$':
		return placeExpr{p.dollar()}, nil
	default:
		return p.literal(c), nil
	}
}

func (p *parser) dot() pattern.Set {
	switch {
	case p.flags.dotAll:
		return pattern.Set{}.Complement()
	case p.flags.unixLines:
		return pattern.Set{{'\n', '\n'}}.Complement()
	}
	return terminators().Complement()
}

func (p *parser) caret() placeKind {
	switch {
	case !p.flags.multiline:
		return textStart
	case p.flags.unixLines:
		return unixLineStart
	}
	return lineStart
}

func (p *parser) dollar() placeKind {
	switch {
	case p.flags.multiline && p.flags.unixLines:
		return unixLineEnd
	case p.flags.multiline:
		return lineEnd
	}
	return p.lastLine()
}

// lastLine is what \Z and, without the flag m, $ mean.
func (p *parser) lastLine() placeKind {
	if p.flags.unixLines {
		return lastUnixLineEnd
	}
	return lastLineEnd
}

// char returns a character of a set. All sets together are bounded.
func (p *parser) char(set pattern.Set, err error) (expr, error) {
	if err != nil {
		return nil, err
	}
	set = set.Sorted()
	if p.ranges += len(set); p.ranges > maxRanges {
		return nil, fmt.Errorf("%w: its classes have more than %d ranges", ErrTooLarge, maxRanges)
	}
	return charExpr{set}, nil
}

func (p *parser) literal(c rune) expr { return charExpr{p.folded(pattern.Set{{c, c}})} }

// quantifier reads what repeats the atom before it, if anything does.
func (p *parser) quantifier(body expr) (expr, error) {
	p.skip()
	q := quantified{body: body, most: longest}
	switch p.Peek(1) {
	case "*":
		p.At++
		q.star = true
	case "+":
		p.At++
		q.least, q.star = 1, true
	case "?":
		p.At++
		q.most, q.question = 1, true
	case "{":
		if err := p.counts(&q); err != nil {
			return nil, err
		}
	default:
		return body, nil
	}
	p.skip()
	switch {
	case p.Takes("?"):
		q.mode = lazy
	case p.Takes("+"):
		q.mode = possessive
	}
	return q, nil
}

// counts reads {n}, {n,} or {n,m}. Java takes no other brace for itself.
func (p *parser) counts(q *quantified) error {
	begin := p.At
	p.At++
	end := min(slices.Index(p.Src[begin:], '}'), longestCounts)
	if end < 0 {
		p.At = begin
		return p.refuse("illegal repetition %.20q", string(p.Src[begin:]))
	}
	text := string(p.Src[begin : begin+end+1])
	least, ok := p.number()
	q.least, q.most = least, least
	if p.skip(); ok && p.Takes(",") {
		if p.skip(); p.Peek(1) == "}" {
			q.most = longest
		} else {
			q.most, ok = p.number()
		}
	}
	q.question = q.least == 0 && q.most == 1 // to Java it is the same
	p.skip()
	if !ok || !p.Takes("}") || q.most < q.least {
		p.At = begin
		return p.refuse("illegal repetition %.20q", text)
	}
	return nil
}

// longestCounts bounds the length of counts, with blanks.
const longestCounts = 1000

// number reads decimal digits of a number up to longest.
func (p *parser) number() (n int, ok bool) {
	for p.skip(); p.At < len(p.Src) && '0' <= p.Src[p.At] && p.Src[p.At] <= '9'; p.skip() {
		if n = n*10 + int(p.Src[p.At]-'0'); n > longest {
			return 0, false
		}
		p.At++
		ok = true
	}
	return n, ok
}
