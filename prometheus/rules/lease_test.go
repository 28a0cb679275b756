package rules_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/prometheus/rules"
)

// testLeases are leases in memory, of one process.
type testLeases struct {
	book  *leaseBook
	owner string
}

// leaseBook is what all processes see.
type leaseBook struct {
	mu    sync.Mutex
	owner map[string]string
	until map[string]time.Time
	done  map[string]time.Time
	away  bool
	held  int       // times that a lease was taken or renewed
	first time.Time // how far groups are that nobody has evaluated
}

func newLeaseBook() *leaseBook {
	return &leaseBook{owner: map[string]string{}, until: map[string]time.Time{}, done: map[string]time.Time{}}
}

func (l testLeases) Hold(_ context.Context, name string, length time.Duration) (bool, time.Time, error) {
	b := l.book
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.away {
		return false, time.Time{}, errors.New("away")
	}
	if other := b.owner[name]; other != "" && other != l.owner && b.until[name].After(time.Now()) {
		return false, b.done[name], nil
	}
	b.owner[name], b.until[name] = l.owner, time.Now().Add(length)
	b.held++
	if b.done[name].IsZero() {
		b.done[name] = b.first
	}
	return true, b.done[name], nil
}

func (l testLeases) Note(_ context.Context, name string, done time.Time, length time.Duration) (bool, error) {
	b := l.book
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.away {
		return false, errors.New("away")
	}
	if b.owner[name] != l.owner {
		return false, nil
	}
	b.done[name], b.until[name] = done, time.Now().Add(length)
	return true, nil
}

func (l testLeases) Release(_ context.Context, name string) error {
	b := l.book
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.owner[name] == l.owner {
		b.owner[name] = ""
	}
	return nil
}

// take gives all leases to somebody.
func (b *leaseBook) take(owner string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name := range b.owner {
		b.owner[name], b.until[name] = owner, time.Now().Add(time.Hour)
	}
}

// takeOne gives the lease of a group to somebody.
func (b *leaseBook) takeOne(group, owner string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name := range b.owner {
		if strings.HasSuffix(name, ";"+group) {
			b.owner[name], b.until[name] = owner, time.Now().Add(time.Hour)
		}
	}
}

// preset says how far groups are that nobody has evaluated.
func (b *leaseBook) preset(at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.first = at
}

func (b *leaseBook) setAway(away bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.away = away
}

func (b *leaseBook) renewed() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held
}

func (b *leaseBook) setDone(at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name := range b.owner {
		b.done[name] = at
	}
}

// One of two processes evaluates a group. The other one takes over where it ended: missed instants are made
// up, and the state of alerts goes on.
func TestLeases(t *testing.T) {
	h := newHouse(t)
	h.o.GracePeriod = 0
	book := newLeaseBook()
	set := h.set(someRules)
	services := map[string]*rules.Service{}
	stops := map[string]func(){}
	h.write(`{__name__="load", host="b"}`, time.Now().Add(-time.Minute), 2)
	for _, name := range []string{"a", "b"} {
		o := h.o
		o.Registerer, o.Leases = nil, testLeases{book, name}
		services[name] = rules.New(o)
		services[name].Use(set, h.evaluators())
		if name == "b" {
			h.awaitValue("load:sum", `{__name__="load:sum", by="rule"} 2`+"\n") // a has the lease
		}
		stops[name] = h.run(services[name])
	}
	alerts := func(name string) int {
		n := 0
		for _, r := range services[name].AlertingRules() {
			n += len(r.ActiveAlerts())
		}
		return n
	}
	h.await("a has alerts", func() bool { return alerts("a") == 2 && len(services["b"].RuleGroups()) == 1 })
	held := func(name string) string {
		var all []string
		for _, l := range services[name].Leases() {
			all = append(all, fmt.Sprintf("%s %v %v %v", l.Group, l.Held, l.Known, !l.Evaluated.IsZero()))
		}
		return strings.Join(all, ",")
	}
	group := services["a"].RuleGroups()[0].Name()
	h.await("both know who evaluates", func() bool { return held("a") == group+" true true true" && held("b") == group+" false true true" })
	if alerts("b") != 0 {
		t.Errorf("b has %d alerts beside a", alerts("b"))
	}
	since := func(name string) (at time.Time) {
		for _, r := range services[name].AlertingRules() {
			for _, a := range r.ActiveAlerts() {
				if r.Name() == "Waiting" {
					at = a.ActiveAt
				}
			}
		}
		return at
	}
	before := since("a")
	h.await("a has stored the state", func() bool { return h.value(`ALERTS_FOR_STATE{alertname="Waiting"}`) != "" })
	book.take("b")
	h.await("a forgets its alerts", func() bool { return alerts("a") == 0 })
	h.await("b has them", func() bool {
		return alerts("b") == 2 && held("b") == group+" true true true" && held("a") == group+" false true true"
	})
	if after := since("b"); math.Abs(after.Sub(before).Seconds()) > 30 {
		t.Errorf("b waits since %s, a did since %s", after, before)
	}
	// b ends; a makes up what was missed
	book.take("nobody")
	stops["b"]()
	h.await("a has none", func() bool { return alerts("a") == 0 })
	book.setDone(time.Now().Add(-20 * time.Second))
	book.take("")
	h.await("a makes up 400 instants of 50 ms", func() bool {
		count, n := strings.TrimPrefix(h.value("count_over_time(load:sum[21s])"), `{by="rule"} `), 0
		_, err := fmt.Sscan(count, &n)
		return err == nil && n > 300 && alerts("a") == 2
	})
}

// A group is evaluated when the leases cannot be read for longer than one lasts.
func TestLeasesAway(t *testing.T) {
	h := newHouse(t)
	book := newLeaseBook()
	book.away = true
	h.o.Leases = testLeases{book, "a"}
	var asked atomic.Int64
	h.o.Now = func() time.Time { return time.Now().Add(time.Duration(asked.Add(1)) * time.Second) }
	s := rules.New(h.o)
	s.Use(h.set(someRules), h.evaluators())
	h.write(`{__name__="load", host="b"}`, time.Now(), 2)
	h.run(s)
	h.awaitValue("load:sum", `{__name__="load:sum", by="rule"} 2`+"\n")
}
