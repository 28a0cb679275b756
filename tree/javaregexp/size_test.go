package javaregexp

import (
	"errors"
	"regexp/syntax"
	"strings"
	"testing"
)

// Size is not far from what a pattern compiles to, and never below half of it. The ranges of Unicode
// classes count more.
func TestSize(t *testing.T) {
	patterns := []string{"a", "host[0-9]+", "(a|b)*c", "a{1,100}", "(ab{2,3}){50}", "(x|yz){3,}", `\d{3}\w{7}`, "(?i)web", "((a{10}){10}){5}"}
	for _, r := range readRecordings(t) {
		if r.Error == "" {
			patterns = append(patterns, r.Pattern)
		}
	}
	for _, pattern := range patterns {
		n, err := Size(pattern)
		if err != nil {
			continue // TestAgainstJava has it
		}
		re, err := Compile(pattern)
		if err != nil || re.linear == nil {
			continue
		}
		tree, err := syntax.Parse(re.linear.String(), syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		program, err := syntax.Compile(tree.Simplify())
		if err != nil {
			t.Fatal(err)
		}
		if actual := len(program.Inst); actual > 2*n+4 || n > 4*actual+4 && !strings.Contains(strings.ToLower(pattern), `\p`) && !strings.Contains(pattern, `(?U)`) {
			t.Errorf("%q: size %d, it compiles to %d", pattern, n, actual)
		}
	}
}

// What is too large is refused. Repetitions that Go's engine would unroll are counted instead.
func TestTooLarge(t *testing.T) {
	for _, pattern := range []string{strings.Repeat("a", maxPattern+1), strings.Repeat(`\p{L}`, 6000), strings.Repeat(`(?i)[^\p{L}]`, 2000)} {
		if _, err := Compile(pattern); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%.40q...: %v", pattern, err)
		}
	}
	for _, pattern := range []string{strings.Repeat("(a{1,1000}|b)", 66), strings.Repeat("a{1000}", 66), "((a{100}){10}){100}", "(((a{1,99999}){1,99999}){1,99999})b"} {
		re, err := Compile(pattern)
		if err != nil || !re.Backtracks() || re.Size() > 20*len(pattern) {
			t.Errorf("%.40q...: %v", pattern, err)
		}
	}
	if _, err := Compile(strings.Repeat("(host-0001|web-0002)", 1500)); err != nil {
		t.Errorf("a long list: %v", err)
	}
}
