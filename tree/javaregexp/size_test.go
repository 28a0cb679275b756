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
		_, translated, err := parse(pattern)
		if err != nil {
			t.Fatal(err)
		}
		tree, err := syntax.Parse(translated, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		program, err := syntax.Compile(tree.Simplify())
		if err != nil {
			t.Fatal(err)
		}
		if actual := len(program.Inst); actual > 2*n+4 || n > 4*actual+4 && !strings.Contains(pattern, `\p`) && !strings.Contains(pattern, `\P`) {
			t.Errorf("%q: size %d, it compiles to %d", pattern, n, actual)
		}
	}
}

// A pattern that compiles to very much is refused before it is compiled.
func TestTooLarge(t *testing.T) {
	for _, pattern := range []string{
		strings.Repeat("a", maxPattern+1),
		strings.Repeat("(a{1,1000}|b)", 66),
		strings.Repeat("a{1000}", 66),
		strings.Repeat("[^a-z]{900}", 73),
		"((a{100}){10}){100}",
	} {
		if _, err := Compile(pattern); !errors.Is(err, ErrTooLarge) {
			// Go's own limit of repetitions is lower for nested ones
			if err == nil || !strings.Contains(err.Error(), "invalid repeat count") {
				t.Errorf("%.40q...: %v", pattern, err)
			}
		}
		if _, err := Size(pattern); err == nil {
			t.Errorf("%.40q...: has a size", pattern)
		}
	}
	if _, err := Compile(strings.Repeat("(host-0001|web-0002)", 1500)); err != nil {
		t.Errorf("a long list: %v", err)
	}
}
