package backtrack

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// any1 is any character.
var any1 = Char{Is: func(rune) bool { return true }}

// stars is (a*)*b, which takes exponential time where there is no b.
func stars() Node {
	return Sequence{Repeat{Body: Group{1, Repeat{Body: Char{Char: 'a'}, Most: Unbounded}}, Most: Unbounded}, Char{Char: 'b'}}
}

func find(p *Program, text string, steps *Steps) (string, bool, error) {
	m := p.Match(text, steps)
	defer m.End()
	end, ok := m.Search(0, false)
	if !ok {
		return "", false, m.Err()
	}
	begin, _ := m.Group(0)
	return text[begin:end], true, nil
}

// The steps of a query are those of all its matches together, and one that fails fails all.
func TestSteps(t *testing.T) {
	p := Compile(stars(), Options{Groups: 2})
	steps := NewSteps(5*portion, nil)
	for range 1000 {
		if got, ok, err := find(p, "xaab", steps); got != "aab" || !ok || err != nil {
			t.Fatalf("%q, %v, %v", got, ok, err)
		}
	}
	if left := steps.Left(); left >= 5*portion || left < 3*portion {
		t.Errorf("%d of %d steps are left after 1000 short matches", left, 5*portion)
	}
	if _, ok, err := find(p, strings.Repeat("a", 1000), steps); ok || !errors.Is(err, ErrTooExpensive) {
		t.Errorf("an expensive match: %v, %v", ok, err)
	}
	if _, ok, err := find(p, "b", steps); ok || !errors.Is(err, ErrTooExpensive) {
		t.Errorf("a short match afterwards: %v, %v", ok, err)
	}
	if err := steps.Err(); !errors.Is(err, ErrTooExpensive) {
		t.Errorf("the error of the steps: %v", err)
	}
}

// All that was asked for is used: the last steps go to the match that needs them.
func TestStepsAreUsedUp(t *testing.T) {
	p := Compile(Repeat{Body: any1, Most: Unbounded}, Options{Groups: 1})
	steps := NewSteps(1000, nil)
	for n := 0; ; n++ {
		if _, ok, err := find(p, strings.Repeat("a", 90), steps); err != nil {
			if n < 8 || n > 11 {
				t.Errorf("1000 steps are enough for %d matches of 90 characters", n)
			}
			break
		} else if !ok {
			t.Fatal("not found")
		}
	}
}

// A query that ends ends its matches, too.
func TestPause(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	pauses := 0
	steps := NewSteps(1<<40, func() error {
		if pauses++; pauses == 3 {
			cancel()
		}
		return ctx.Err()
	})
	p := Compile(stars(), Options{Groups: 2})
	if _, _, err := find(p, strings.Repeat("a", 1000), steps); !errors.Is(err, context.Canceled) {
		t.Errorf("a match of a query that has ended: %v", err)
	}
	if pauses != 3 {
		t.Errorf("%d pauses", pauses)
	}
}

// Look-behind takes the fewest characters with which it ends where it stands.
func TestLookBehind(t *testing.T) {
	ab := Char{Is: func(r rune) bool { return r == 'a' || r == 'é' }}
	behind := func(least, most int, negative bool) Node {
		return Sequence{Look{Body: Group{1, Repeat{Body: ab, Least: least, Most: most}}, Behind: true, Least: least, Most: most, Negative: negative}, Char{Char: 'b'}}
	}
	for _, c := range []struct {
		node  Node
		text  string
		group string
		ok    bool
	}{
		{behind(1, 3, false), "xb éaéab", "a", true},
		{behind(2, 3, false), "ab éaéab", "éa", true},
		{behind(3, 3, false), "aab", "", false},
		{behind(2, 3, true), "aab", "", false},
		{behind(2, 3, true), "ab", "", true},
		{behind(0, 2, false), "b", "", true},
	} {
		m := Compile(c.node, Options{Groups: 2, MostSteps: 1000}).Match(c.text, nil)
		_, ok := m.Search(0, false)
		group := ""
		if begin, end := m.Group(1); end >= 0 {
			group = c.text[begin:end]
		}
		if ok != c.ok || m.Err() != nil || group != c.group {
			t.Errorf("in %q: %v, %v, %q, want %v, %q", c.text, ok, m.Err(), group, c.ok, c.group)
		}
	}
}
