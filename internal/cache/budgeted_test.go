package cache_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/cache"
	"github.com/tsdbridge/tsdbridge/internal/query"
)

// TestCache: values go in the order of their use, to newer ones and to queries.
func TestCache(t *testing.T) {
	b := query.NewBudget(4000)
	now := time.Unix(1000, 0)
	var dropped []string
	c := cache.NewBudgeted[int](cache.BudgetedOptions[string]{
		Budget: b, MaxBytes: 900, Part: 3, Idle: time.Minute, Now: func() time.Time { return now },
		Dropped: func(v string) { dropped = append(dropped, v) },
	})
	holds := func(what string, keys ...int) {
		t.Helper()
		for key := range 10 {
			want := false
			for _, k := range keys {
				want = want || k == key
			}
			v, ok := c.Get(key)
			if ok != want || ok && v != fmt.Sprint(key) {
				t.Errorf("%s: Get(%d) = %q, %v", what, key, v, ok)
			}
		}
		if n, bytes := c.Held(); n != len(keys) || bytes != b.Spare() {
			t.Errorf("%s: %d values of %d bytes, %d bytes are spare", what, n, bytes, b.Spare())
		}
	}
	for key := range 3 {
		if !c.Put(key, fmt.Sprint(key), 300) {
			t.Errorf("no memory for %d", key)
		}
	}
	holds("full", 0, 1, 2)
	if c.Put(3, "3", 301) {
		t.Error("a value takes more than its part")
	}
	c.Get(0)
	c.Put(4, "4", 200)
	holds("beyond the limit", 0, 2, 4)
	c.Put(4, "4", 100)
	holds("in place of itself", 0, 2, 4)
	query := b.Open()
	if err := query.Take(3000); err != nil {
		t.Error(err)
	}
	c.Get(2)
	if err := query.Take(350); err != nil {
		t.Error(err)
	}
	query.Close()
	if n, bytes := c.Held(); n == 0 || n == 3 || bytes > 4000-3350 {
		t.Errorf("beside a query %d values of %d bytes are kept", n, bytes)
	}
	now = now.Add(2 * time.Minute)
	c.Put(5, "5", 10)
	holds("idle", 5)
	c.Clear()
	holds("cleared")
	if len(dropped) != 6 {
		t.Errorf("dropped: %v", dropped)
	}
}

// TestBeside: values and queries that take memory at the same time leave nothing behind.
func TestBeside(t *testing.T) {
	b := query.NewBudget(10_000)
	c := cache.NewBudgeted[int](cache.BudgetedOptions[int]{Budget: b, MaxBytes: 2000, Part: 2, Now: time.Now})
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := range 3000 {
				c.Put(i%37, i, int64(i%500))
				c.Get(worker + i%11)
				a := b.Open()
				_ = a.Take(int64(i % 9000))
				a.Close()
			}
		})
	}
	all.Wait()
	if _, bytes := c.Held(); bytes != b.Spare() {
		t.Errorf("%d bytes are kept, %d are spare", bytes, b.Spare())
	}
	c.Clear()
	if b.Spare() != 0 {
		t.Errorf("%d bytes are spare", b.Spare())
	}
}
