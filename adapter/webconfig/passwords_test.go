package webconfig

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

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
				if got := p.check(t.Context(), users, attempt{"me", given, client{"a", "a:1"}}); got != want {
					t.Errorf("stored %q, given %q: %v, want %v", stored, given, got, want)
				}
				if got := p.check(t.Context(), users, attempt{"you", given, client{"a", "a:1"}}); got != wrong {
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
		if got := p.check(t.Context(), map[string]string{"me": hash}, attempt{"me", password, client{"a", "a:1"}}); got != want {
			t.Errorf("%q: %v, want %v", password, got, want)
		}
	}
	one, two := hashOf(t, "one"), hashOf(t, "two")
	check(one, "one", right)
	check(two, "one", wrong)
	check(two, "two", right)
	check(two, "one", wrong)
}

// While one password is being compared and others of the user wait, a right password that is known is
// answered at once, and no more wait than the line has places. When the right passwords of all users are
// known, a wrong one is answered without waiting.
func TestPasswordsDoNotWait(t *testing.T) {
	users := map[string]string{"me": hashOf(t, "secret"), "other": hashOf(t, "secret")}
	p := newPasswords()
	me, stranger := client{"a", "a:1"}, client{"b", "b:1"}
	if got := p.check(t.Context(), users, attempt{"me", "secret", me}); got != right {
		t.Fatal(got)
	}
	line := p.lines.of("other", true)
	if !line.enter(t.Context(), stranger) { // whose password is being compared
		t.Fatal("the line is not free")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all, sent sync.WaitGroup
	sent.Add(2*longestLine - longestLine)
	for i := range 2 * longestLine {
		all.Go(func() {
			if v := p.check(ctx, users, attempt{"other", fmt.Sprint("guess ", i), stranger}); v != unknown {
				t.Errorf("a guess: %v", v)
			}
			if ctx.Err() == nil {
				sent.Done()
			}
		})
	}
	sent.Wait() // all but those in the line are sent away
	if got := p.check(t.Context(), users, attempt{"me", "secret", me}); got != right {
		t.Errorf("the right password: %v", got)
	}
	delete(users, "other")
	if got := p.check(t.Context(), users, attempt{"me", "guess", me}); got != wrong {
		t.Errorf("a wrong one when all are known: %v", got)
	}
	cancel()
	all.Wait()
	line.leave(stranger, wrong)
	if line.busy || len(line.waiting) != 0 {
		t.Errorf("the line at the end: busy %v, %d wait", line.busy, len(line.waiting))
	}
}

// Clients without a wrong password go before clients with one, also when the line is full. Every second turn is that
// of who has waited longest.
func TestLineOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine()
		stranger, behind, friend := client{"x", "x:1"}, client{"x", "x:2"}, client{"y", "y:1"}
		entered := make(chan string, 2*longestLine)
		wait := func(name string, c client) {
			go func() {
				if l.enter(t.Context(), c) {
					entered <- name
				}
			}()
			synctest.Wait()
		}
		for range 4 { // a stranger guesses
			l.enter(t.Context(), stranger)
			l.leave(stranger, wrong)
		}
		l.enter(t.Context(), stranger)
		for range longestLine {
			wait("stranger", stranger)
		}
		wait("behind", behind)
		wait("friend", friend)
		for i, want := range []string{"friend", "stranger", "behind", "stranger"} {
			l.leave(stranger, unknown)
			synctest.Wait()
			if got := <-entered; got != want {
				t.Errorf("turn %d is of %s, want %s", i, got, want)
			}
		}
		for range longestLine - 4 {
			l.leave(stranger, unknown)
			<-entered
		}
		l.leave(stranger, unknown)
		synctest.Wait()
		if len(entered) != 0 || l.busy {
			t.Errorf("%d more came in, busy %v", len(entered), l.busy)
		}
	})
}

// A flood is what strangers send while a user logs in for the first time after a start.
type flood struct {
	name    string
	attempt func(sender, n int) attempt
	most    int // comparisons that the user waits for
}

var floods = []flood{
	{"names that are no users", func(i, n int) attempt {
		return attempt{fmt.Sprint("nobody ", i, n), "guess", client{"proxy", fmt.Sprint("proxy:", i)}}
	}, 2},
	{"one name that is no user", func(i, n int) attempt {
		return attempt{"nobody", fmt.Sprint("guess ", i, n), client{"proxy", fmt.Sprint("proxy:", i)}}
	}, 2},
	{"the other users", func(i, n int) attempt {
		return attempt{[]string{"bob", "eve"}[i%2], fmt.Sprint("guess ", i, n), client{"proxy", fmt.Sprint("proxy:", i)}}
	}, 4},
	{"the user, each with one wrong password", func(i, _ int) attempt {
		return attempt{"me", fmt.Sprint("old password ", i), client{"proxy", fmt.Sprint("proxy:", i)}}
	}, 2},
	{"the user, by connections that stay open", func(i, n int) attempt {
		return attempt{"me", fmt.Sprint("guess ", i, n), client{"proxy", fmt.Sprint("proxy:", i)}}
	}, 3},
	{"the user, from another address", func(i, n int) attempt {
		return attempt{"me", fmt.Sprint("guess ", i, n), client{"far", fmt.Sprint("far:", i, n)}}
	}, 3},
	{"the user, by new connections from his address", func(i, n int) attempt {
		return attempt{"me", fmt.Sprint("guess ", i, n), client{"proxy", fmt.Sprint("proxy:", i, n)}}
	}, 2*floodSenders + 2},
}

const floodSenders = 40

// While 40 senders of wrong passwords are behind the address of a user whose password is not known yet, the user waits
// for few comparisons. The comparisons of the test last a second of a clock that runs only while all wait.
func TestPasswordsFlood(t *testing.T) {
	for _, f := range floods {
		t.Run(f.name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { testFlood(t, f) }) })
	}
}

func testFlood(t *testing.T, f flood) {
	users := map[string]string{"me": "my hash", "bob": "his hash", "eve": "her hash"}
	p := newPasswords()
	p.compare = func(hash, password []byte) error {
		time.Sleep(time.Second)
		if string(hash) == "my hash" && string(password) == "secret" {
			return nil
		}
		return bcrypt.ErrMismatchedHashAndPassword
	}
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for i := range floodSenders {
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				if v := p.check(ctx, users, f.attempt(i, n)); v == right {
					t.Errorf("a wrong password is right")
				}
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	time.Sleep(50*time.Second + 300*time.Millisecond)
	began := time.Now()
	if v := p.check(ctx, users, attempt{"me", "secret", client{"proxy", "proxy:me"}}); v != right {
		t.Errorf("the right password: %v", v)
	}
	if took := time.Since(began); took > time.Duration(f.most)*time.Second {
		t.Errorf("the right password took %v, want the time of %d comparisons at most", took, f.most)
	}
	stop()
	all.Wait()
}

// All addresses of a network of IPv6 count as one, and a mapped address as that of IPv4.
func TestClientOf(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.1:80": "192.0.2.1", "[::ffff:192.0.2.1]:80": "192.0.2.1", "[2001:db8::1]:80": "2001:db8::/64",
		"[2001:db8::ffff:1]:80": "2001:db8::/64", "[fe80::1%eth0]:80": "fe80::/64", "@": "@",
	} {
		if got := clientOf(remote); got.address != want || got.connection != remote {
			t.Errorf("%s: %+v, want %s", remote, got, want)
		}
	}
}
