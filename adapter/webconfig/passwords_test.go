package webconfig

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"golang.org/x/crypto/bcrypt"
)

func hashOf(t *testing.T, password string) string {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	return string(hash)
}

// A password is right exactly when bcrypt accepts it, before and after the right one is known.
func TestPasswords(t *testing.T) {
	long := strings.Repeat("l", seen)
	for _, stored := range []string{"secret", "x", "\x00", long, "ab\x00ab"} {
		hash := hashOf(t, stored)
		users := map[string]string{"me": hash}
		p := newPasswords()
		for range 2 {
			for _, given := range []string{stored, stored + "x", stored + "\x00", stored + "\x00" + stored, "", "secre", long + "x", long[1:], "ab", "\x00\x00"} {
				want := wrong
				if bcrypt.CompareHashAndPassword([]byte(hash), []byte(given)) == nil {
					want = right
				}
				if got := p.check(t.Context(), users, attempt{"me", given, "a"}); got != want {
					t.Errorf("stored %q, given %q: %v, want %v", stored, given, got, want)
				}
				if got := p.check(t.Context(), users, attempt{"you", given, "a"}); got != wrong {
					t.Errorf("another user's %q: %v", given, got)
				}
			}
		}
	}
}

// After the hash has changed, the old password is wrong.
func TestPasswordsChange(t *testing.T) {
	p := newPasswords()
	check := func(hash, password string, want verdict) {
		t.Helper()
		if got := p.check(t.Context(), map[string]string{"me": hash}, attempt{"me", password, "a"}); got != want {
			t.Errorf("%q: %v, want %v", password, got, want)
		}
	}
	one, two := hashOf(t, "one"), hashOf(t, "two")
	check(one, "one", right)
	check(two, "one", wrong)
	check(two, "two", right)
	check(two, "one", wrong)
}

// While one password is being compared and others wait, a right password that is known is answered
// at once, and no more wait than the queue has places. When the right passwords of all users are
// known, a wrong one is answered without waiting.
func TestPasswordsDoNotWait(t *testing.T) {
	users := map[string]string{"me": hashOf(t, "secret"), "other": hashOf(t, "secret")}
	p := newPasswords()
	if got := p.check(t.Context(), users, attempt{"me", "secret", "a"}); got != right {
		t.Fatal(got)
	}
	if !p.line.enter(t.Context(), "stranger") { // whose password is being compared
		t.Fatal("the line is not free")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	var sent sync.WaitGroup
	sent.Add(100 - longestLine)
	for range 100 {
		all.Go(func() {
			if v := p.check(ctx, users, attempt{"other", "guess", "stranger"}); v != unknown {
				t.Errorf("a guess: %v", v)
			}
			if ctx.Err() == nil {
				sent.Done()
			}
		})
	}
	sent.Wait() // all but those in the line are sent away
	if got := p.check(t.Context(), users, attempt{"me", "secret", "a"}); got != right {
		t.Errorf("the right password: %v", got)
	}
	delete(users, "other")
	if got := p.check(t.Context(), users, attempt{"me", "guess", "b"}); got != wrong {
		t.Errorf("a wrong one when all are known: %v", got)
	}
	cancel()
	all.Wait()
	p.line.leave("stranger", false)
	if p.line.busy || len(p.line.waiting) != 0 {
		t.Errorf("the line at the end: busy %v, %d wait", p.line.busy, len(p.line.waiting))
	}
}

// Clients without a wrong password go before clients with one, also when the queue is full.
func TestLineOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine()
		for range 3 { // a stranger guesses
			l.enter(t.Context(), "stranger")
			l.leave("stranger", false)
		}
		l.enter(t.Context(), "stranger")
		entered := make(chan string, 2*longestLine)
		for range longestLine {
			go func() {
				if l.enter(t.Context(), "stranger") {
					entered <- "stranger"
				}
			}()
		}
		synctest.Wait()
		go func() {
			if l.enter(t.Context(), "friend") {
				entered <- "friend"
			}
		}()
		synctest.Wait()
		l.leave("stranger", false)
		if first := <-entered; first != "friend" {
			t.Errorf("first is %s", first)
		}
		l.leave("friend", true)
		for range longestLine - 1 {
			<-entered
			l.leave("stranger", false)
		}
		synctest.Wait()
		if len(entered) != 0 || l.busy {
			t.Errorf("%d more came in, busy %v", len(entered), l.busy)
		}
	})
}
