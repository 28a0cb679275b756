// Package javaregexp gives Java's regular expressions their Java meaning in Go: it translates a
// java.util.regex pattern to a Go pattern, and splits text as String.split does. A pattern that
// Go's engine cannot express is an error that names the place. It never runs in more than linear
// time and knows nothing of trees.
package javaregexp

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// Compile compiles a regular expression of Java as Go's of the same meaning. What RE2 cannot do
// (look-around, back-references, atomic groups, possessive quantifiers) and what Java itself
// refuses is an error that names the place, and so is an ErrTooLarge.
//
// Two differences stay, in names that hardly occur: Java's $ also matches before a line terminator
// that ends the name, and the \b of Java up to 18 takes letters beyond ASCII for letters (from 19
// on it does not).
func Compile(pattern string) (*regexp.Regexp, error) {
	_, translated, err := parse(pattern)
	if err != nil {
		return nil, err
	}
	return regexp.Compile(translated)
}

// parse translates a pattern and returns its tree.
func parse(pattern string) (tree *syntax.Regexp, translated string, err error) {
	if err := checkLength(pattern); err != nil {
		return nil, "", err
	}
	p := translation{src: unquote([]rune(pattern))}
	if err := p.alternation(0); err != nil {
		return nil, "", err
	}
	if p.at < len(p.src) {
		return nil, "", p.refuse("closing parenthesis without an opening one")
	}
	translated = p.out.String()
	if tree, err = syntax.Parse(translated, syntax.Perl); err != nil {
		return nil, "", err
	}
	switch {
	case losesGroup(tree):
		return nil, "", errEmptyGroup
	case size(tree) > maxSize:
		return nil, "", fmt.Errorf("%w: it repeats too much, and has more than %d parts", ErrTooLarge, maxSize)
	}
	return tree, translated, nil
}

// errEmptyGroup is about expressions like (a*)*.
var errEmptyGroup = errors.New("repeating a group that can match nothing is not supported")

// translation is a pattern on its way from Java to Go. Every atom is written so that it needs no
// flag.
type translation struct {
	src   []rune
	at    int
	out   strings.Builder
	flags flagSet
}

type flagSet struct {
	fold      bool // i: letters of ASCII in either case
	dotAll    bool // s: a dot takes line terminators
	unixLines bool // d: only \n is a line terminator
}

// maxNesting is how deep groups may be nested.
const maxNesting = 200

func (p *translation) refuse(format string, args ...any) error {
	return fmt.Errorf("character %d of the pattern: %s", p.at+1, fmt.Sprintf(format, args...))
}

// peek returns the next characters without taking them, fewer at the end.
func (p *translation) peek(n int) string { return string(p.src[p.at:min(p.at+n, len(p.src))]) }

// unquote turns what stands between \Q and \E into escapes, as Java does before it reads anything
// else.
func unquote(src []rune) []rune {
	var out []rune
	quoted := false
	for i := 0; i < len(src); i++ {
		escape := src[i] == '\\' && i+1 < len(src)
		switch {
		case quoted && escape && src[i+1] == 'E':
			quoted = false
			i++
		case quoted:
			if !isASCIILetter(src[i]) && (src[i] < '0' || src[i] > '9') {
				out = append(out, '\\')
			}
			out = append(out, src[i])
		case escape && src[i+1] == 'Q':
			quoted = true
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

func isASCIILetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }

// alternation reads up to a closing parenthesis or the end. Flags that are set within hold until
// there.
func (p *translation) alternation(depth int) error {
	if depth > maxNesting {
		return p.refuse("groups nested deeper than %d", maxNesting)
	}
	outer := p.flags
	defer func() { p.flags = outer }()
	for p.at < len(p.src) && p.src[p.at] != ')' {
		if p.src[p.at] == '|' {
			p.at++
			p.out.WriteByte('|')
			continue
		}
		repeats, err := p.atom(depth)
		if err != nil {
			return err
		}
		if !repeats {
			continue
		}
		if err := p.quantifier(); err != nil {
			return err
		}
	}
	return nil
}

// atom reads what a quantifier may follow; repeats is false for flags, which are no atom.
func (p *translation) atom(depth int) (repeats bool, err error) {
	switch c := p.src[p.at]; c {
	case '(':
		return p.group(depth)
	case '[':
		set, err := p.class()
		if err != nil {
			return false, err
		}
		set.writeTo(&p.out)
	case '\\':
		return true, p.escape()
	case '*', '+', '?', '{':
		return false, p.refuse("%c repeats nothing", c)
	case '.':
		p.at++
		p.out.WriteString(p.dot())
	case '^', '$':
		p.at++
		p.out.WriteRune(c)
	default:
		p.at++
		p.literal(c)
	}
	return true, nil
}

func (p *translation) dot() string {
	switch {
	case p.flags.dotAll:
		return `(?s:.)`
	case p.flags.unixLines:
		return `[^\n]`
	}
	return `[^\n\r\x{85}\x{2028}\x{2029}]`
}

func (p *translation) literal(c rune) {
	if p.flags.fold && isASCIILetter(c) {
		fmt.Fprintf(&p.out, "[%c%c]", c, c^' ')
		return
	}
	p.out.WriteString(regexp.QuoteMeta(string(c)))
}

// group reads from an opening parenthesis to its closing one.
func (p *translation) group(depth int) (repeats bool, err error) {
	outer := p.flags
	defer func() {
		if repeats {
			p.flags = outer
		}
	}()
	begin := p.at
	p.at++
	if p.peek(1) == "?" {
		p.at++
		if inner, err := p.special(); err != nil || !inner {
			return false, err
		}
	} else {
		p.out.WriteByte('(')
	}
	if err := p.alternation(depth + 1); err != nil {
		return false, err
	}
	if p.at >= len(p.src) {
		p.at = begin
		return false, p.refuse("group without a closing parenthesis")
	}
	p.at++
	p.out.WriteByte(')')
	return true, nil
}

// special reads what follows "(?". It reports whether a group has begun; if not, flags were set for
// the rest of the group around them.
func (p *translation) special() (inner bool, err error) {
	switch {
	case p.peek(1) == ":":
		p.at++
		p.out.WriteString("(?:")
		return true, nil
	case p.peek(1) == "=" || p.peek(1) == "!" || p.peek(2) == "<=" || p.peek(2) == "<!":
		return false, p.refuse("look-around (?%s is not supported", p.peek(1))
	case p.peek(1) == ">":
		return false, p.refuse("atomic groups are not supported")
	case p.peek(1) == "<":
		return true, p.groupName()
	}
	return p.setFlags()
}

// groupName reads the name of a group, which nothing can refer to here.
func (p *translation) groupName() error {
	begin := p.at + 1
	for p.at++; p.at < len(p.src) && p.src[p.at] != '>'; p.at++ {
		if c := p.src[p.at]; !isASCIILetter(c) && (p.at == begin || c < '0' || c > '9') {
			return p.refuse("%q in the name of a group", c)
		}
	}
	if p.at >= len(p.src) || p.at == begin {
		return p.refuse("the name of a group is missing")
	}
	p.at++
	p.out.WriteByte('(')
	return nil
}

func (p *translation) setFlags() (inner bool, err error) {
	flags, on := p.flags, true
	for ; p.at < len(p.src); p.at++ {
		switch c := p.src[p.at]; c {
		case 'i':
			flags.fold = on
		case 's':
			flags.dotAll = on
		case 'd':
			flags.unixLines = on
		case '-':
			on = false
		case ')', ':':
			p.at++
			p.flags = flags
			if c == ':' {
				p.out.WriteString("(?:")
			}
			return c == ':', nil
		default:
			return false, p.refuse("flag %q is not supported", c)
		}
	}
	return false, p.refuse("group without a closing parenthesis")
}

// quantifier reads what repeats the atom before it, if anything does.
func (p *translation) quantifier() error {
	switch p.peek(1) {
	case "*", "+", "?":
		p.out.WriteRune(p.src[p.at])
		p.at++
	case "{":
		if err := p.counts(); err != nil {
			return err
		}
	default:
		return nil
	}
	switch p.peek(1) {
	case "?":
		p.out.WriteByte('?')
		p.at++
	case "+":
		return p.refuse("possessive quantifiers are not supported")
	}
	return nil
}

// counts reads {n}, {n,} or {n,m}. Java takes no other brace for itself.
func (p *translation) counts() error {
	end := p.at + 1
	for end < len(p.src) && p.src[end] != '}' {
		end++
	}
	text := string(p.src[p.at:min(end+1, len(p.src))])
	if !countsForm.MatchString(text) {
		return p.refuse("illegal repetition %.20q", text)
	}
	p.out.WriteString(text)
	p.at = end + 1
	return nil
}

var countsForm = regexp.MustCompile(`^\{[0-9]{1,9}(,[0-9]{0,9})?\}$`)
