package jexl

import (
	"fmt"
	"strings"
)

// A kind is that of a token.
type kind byte

const (
	end kind = iota
	integer
	float
	name
	operator
	foreign // what this package refuses
)

// A token is a piece of a text. Operators that are words have the text of their sign.
type token struct {
	kind kind
	text string
	at   int // in the whole text
}

// words are the names that mean something else. Those with "" are refused.
func words() map[string]string {
	return map[string]string{
		"and": "&&", "or": "||", "not": "!", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
		"mod": "%", "div": "/", "null": "null", "true": "true", "false": "false",
		"if": "", "else": "", "for": "", "foreach": "", "while": "", "new": "", "var": "", "empty": "", "size": "", "return": "",
	}
}

// signs are the operators, the longer ones first.
func signs() []string {
	return []string{"?:", "&&", "||", "==", "!=", ">=", "<=", "?", ":", ";", "(", ")", ">", "<", "%", "/", "!", "+", "-", "*", "~", "&", "|", "^"}
}

// foreignSigns belong to JEXL's language, but not to this package's part of it.
func foreignSigns() []string {
	return []string{"=~", "!~", "=", ".", ",", "[", "]", "{", "}", `"`, "'"}
}

// A scanner splits a text into tokens.
type scanner struct {
	text  string
	at    int
	words map[string]string
}

func scan(text string) ([]token, error) {
	s := scanner{text: text, words: words()}
	var tokens []token
	for {
		t, err := s.next()
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, t)
		if t.kind == end {
			return tokens, nil
		}
	}
}

// next returns the next token.
func (s *scanner) next() (token, error) {
	s.skip()
	rest := s.text[s.at:]
	switch {
	case rest == "":
		return token{end, "", s.at}, nil
	case isDigit(rest[0]):
		return s.number(rest)
	case isLetter(rest[0]):
		return s.name(rest), nil
	}
	for _, sign := range []string{"=~", "!~"} {
		if strings.HasPrefix(rest, sign) {
			return s.take(foreign, sign), nil
		}
	}
	for _, sign := range signs() {
		if strings.HasPrefix(rest, sign) {
			return s.take(operator, sign), nil
		}
	}
	for _, sign := range foreignSigns() {
		if strings.HasPrefix(rest, sign) {
			return s.take(foreign, sign), nil
		}
	}
	for _, c := range rest {
		return token{}, SyntaxError{s.text, fmt.Sprintf("%q at position %d is no part of an expression", c, s.at)}
	}
	return token{}, nil // rest is not empty
}

func (s *scanner) take(k kind, text string) token {
	t := token{k, text, s.at}
	s.at += len(text)
	return t
}

func (s *scanner) name(rest string) token {
	n := 1
	for n < len(rest) && (isLetter(rest[n]) || isDigit(rest[n])) {
		n++
	}
	t := s.take(name, rest[:n])
	if sign, ok := s.words[t.text]; ok {
		t.kind = operator
		if sign == "" {
			t.kind, sign = foreign, t.text
		}
		t.text = sign
	}
	return t
}

// skip skips blanks and comments: ## and // to the end of the line, /* to */.
func (s *scanner) skip() {
	for s.at < len(s.text) {
		rest := s.text[s.at:]
		switch {
		case strings.IndexByte(" \t\n\r\f", rest[0]) >= 0:
			s.at++
		case strings.HasPrefix(rest, "##"), strings.HasPrefix(rest, "//"):
			line := strings.IndexAny(rest, "\n\r")
			if line < 0 {
				line = len(rest)
			}
			s.at += line
		case strings.HasPrefix(rest, "/*"):
			n := strings.Index(rest[2:], "*/")
			if n < 0 {
				return
			}
			s.at += n + 4
		default:
			return
		}
	}
}

// number reads digits, 0x and hexadecimal digits, or digits.digits[e[+-]digits], and the letter of a
// type after them. As with JEXL 1e5 is no number: it is 1 and the name e5.
func (s *scanner) number(rest string) (token, error) {
	n := digits(rest)
	if fraction := digits(rest[min(n+1, len(rest)):]); n < len(rest) && rest[n] == '.' && fraction > 0 {
		n += 1 + fraction
		n += exponent(rest[n:])
		if strings.IndexByte("dDfF", after(rest, n)) >= 0 {
			n++
		} else if strings.IndexByte("bB", after(rest, n)) >= 0 {
			return token{}, UnsupportedError{s.text, rest[:n+1]}
		}
		return s.take(float, rest[:n]), nil
	}
	if rest[0] == '0' {
		n = 1
		for '0' <= after(rest, n) && after(rest, n) <= '7' {
			n++
		}
		if x := after(rest, 1); (x == 'x' || x == 'X') && isHex(after(rest, 2)) {
			for n = 2; isHex(after(rest, n)); n++ {
			}
		}
	}
	if strings.IndexByte("lLhH", after(rest, n)) >= 0 {
		n++
	}
	return s.take(integer, rest[:n]), nil
}

// after returns a byte, or 0 behind the end.
func after(s string, i int) byte {
	if i < len(s) {
		return s[i]
	}
	return 0
}

func digits(s string) (n int) {
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return n
}

// exponent returns the length of an exponent, 0 if there is none.
func exponent(s string) int {
	if c := after(s, 0); c != 'e' && c != 'E' {
		return 0
	}
	n := 1
	if c := after(s, 1); c == '+' || c == '-' {
		n++
	}
	d := digits(s[n:])
	if d == 0 {
		return 0
	}
	return n + d
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

func isLetter(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || c == '$' || c == '@'
}
