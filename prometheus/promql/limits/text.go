// Package limits limits what a PromQL query may cost, before it is parsed and before it is
// evaluated: its length and depth, the size of its regular expressions, the steps of its
// subqueries. Prometheus' parser and engine have no limits of these kinds, or check them too late.
// The package answers no request and reads no series.
package limits

import (
	"errors"
	"fmt"
	"strings"

	"github.com/prometheus/prometheus/util/strutil"
)

// Limits of a query's text. They are far above what people and generators write.
const (
	maxBytes = 1 << 20 // of a query or selector
	maxDepth = 1000    // of its syntax tree
	// in one list: labels of a grouping, arguments; and selectors of one request.
	maxItems  = 1000
	maxPretty = 1 << 29 // length times depth twice: what formatting costs

	maxMatchers = 200 // of a selector; each is looked at for every series
)

// ErrText is the error of a text that is too long or too deep to be parsed. Its text names the
// limit.
var ErrText = errors.New("query too large")

func tooLarge(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrText, fmt.Sprintf(format, args...))
}

// Text checks a query or a selector in one pass. What passes is parsed in time and memory that are
// linear in its length, and its syntax tree is at most maxDepth deep.
func Text(text string) error {
	if len(text) > maxBytes {
		return tooLarge("%d bytes, at most %d are read", len(text), maxBytes)
	}
	_, err := depth(text)
	return err
}

// Pretty checks a query that is to be formatted. Formatting costs more than evaluating some
// queries.
func Pretty(text string) error {
	if err := Text(text); err != nil {
		return err
	}
	d, err := depth(text)
	if err == nil && d*d > maxPretty/max(1, len(text)) {
		return tooLarge("%d bytes nested %d deep are too much to format", len(text), d)
	}
	return err
}

// Selectors checks the selectors of one request.
func Selectors(texts []string) error {
	if len(texts) > maxItems {
		return tooLarge("%d selectors, at most %d are read", len(texts), maxItems)
	}
	for _, text := range texts {
		if err := Text(text); err != nil {
			return err
		}
	}
	return nil
}

// maxTerm is how many bytes a text may have that is searched for: the fuzzy search takes time by its
// length for each name.
const maxTerm = 1 << 10

// Terms refuses texts that are too costly to search for.
func Terms(texts []string) error {
	for _, text := range texts {
		if len(text) > maxTerm {
			return tooLarge("%d bytes to search for, at most %d are read", len(text), maxTerm)
		}
	}
	return nil
}

// depth returns an upper bound of the depth of a query's syntax tree.
func depth(text string) (int, error) {
	s := scanner{text: text, levels: make([]level, 1, 16)}
	for s.at < len(s.text) {
		if err := s.step(); err != nil {
			return 0, err
		}
	}
	for len(s.levels) > 1 {
		s.close()
	}
	return s.levels[0].depth(), s.check()
}

// A level is an open bracket of any kind, or the whole text.
type level struct {
	// since the last comma; each may put one more node on top of what stands before it
	operators int
	inner     int // depth of the deepest bracket since the last comma
	deepest   int // item so far
	items     int
	brace     bool
}

func (l *level) depth() int { return max(l.deepest, l.operators+l.inner) + 1 }

// scanner scans a text. It recognizes strings and comments as Prometheus' lexer does. Where that
// lexer fails, which ends the parsing, the scanner may continue.
type scanner struct {
	text   string
	at     int
	levels []level
	regexp bool // the last operator compares with a regular expression
	cost   int  // of all regular expressions
}

func (s *scanner) top() *level { return &s.levels[len(s.levels)-1] }

// step reads one character, or one string, comment or word.
func (s *scanner) step() error {
	c := s.text[s.at]
	s.at++
	switch {
	case c == '"' || c == '\'' || c == '`':
		return s.quoted(c)
	case c == '#':
		s.skipUntil(func(c byte) bool { return c == '\n' || c == '\r' })
	case wordByte(c):
		s.word()
	case c == '(' || c == '[' || c == '{':
		return s.open(c)
	case c == ')' || c == ']' || c == '}':
		s.close()
	case c == ',':
		return s.comma()
	case strings.IndexByte("+-*/%^=!<>", c) >= 0:
		return s.operator(c)
	}
	return nil
}

func (s *scanner) skipUntil(end func(byte) bool) {
	for s.at < len(s.text) && !end(s.text[s.at]) {
		s.at++
	}
}

// quoted reads the rest of a string, and measures it if it is a regular expression.
func (s *scanner) quoted(quote byte) error {
	begin := s.at - 1
	for s.at < len(s.text) && s.text[s.at] != quote {
		if s.text[s.at] == '\\' && quote != '`' {
			s.at++
		}
		s.at++
	}
	s.at = min(s.at+1, len(s.text))
	if !s.regexp {
		return nil
	}
	s.regexp = false
	pattern, err := strutil.Unquote(s.text[begin:s.at])
	if err != nil {
		return nil //nolint:nilerr // the parser reports what is wrong with it
	}
	s.cost += regexpCost(pattern)
	return checkRegexps(s.cost)
}

func wordByte(c byte) bool {
	return c == '_' || c == ':' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// word reads a name, a number or an operator that is a word.
func (s *scanner) word() {
	begin := s.at - 1
	s.skipUntil(func(c byte) bool { return !wordByte(c) })
	switch strings.ToLower(s.text[begin:min(s.at, begin+8)]) {
	case "and", "or", "unless", "atan2":
		s.top().operators++
	}
}

// operator reads an operator. The second character of one counts for nothing.
func (s *scanner) operator(c byte) error {
	if s.at < len(s.text) && (c == '=' || c == '!' || c == '<' || c == '>') {
		if next := s.text[s.at]; next == '=' || next == '~' || next == '/' {
			s.at++
			s.regexp = next == '~'
		}
	}
	l := s.top()
	if l.brace {
		return nil
	}
	l.operators++
	return s.check()
}

func (s *scanner) open(c byte) error {
	if c == '[' { // of a subquery, which is a node on top of what stands before it
		s.top().operators++
	}
	s.levels = append(s.levels, level{brace: c == '{'})
	return s.check()
}

func (s *scanner) close() {
	if len(s.levels) == 1 {
		return
	}
	d := s.top().depth()
	s.levels = s.levels[:len(s.levels)-1]
	s.top().inner = max(s.top().inner, d)
}

func (s *scanner) comma() error {
	l := s.top()
	l.deepest, l.operators, l.inner = max(l.deepest, l.operators+l.inner), 0, 0
	most := maxItems
	if l.brace {
		most = maxMatchers
	}
	if l.items++; l.items > most {
		return tooLarge("a list of more than %d matchers, labels or arguments", most)
	}
	return nil
}

func (s *scanner) check() error {
	if len(s.levels) > maxDepth || s.top().depth() > maxDepth {
		return tooLarge("nested more than %d deep: brackets, signs and operators in a row count", maxDepth)
	}
	return nil
}
