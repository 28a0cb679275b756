package query

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
)

func TestTake(t *testing.T) {
	b := NewBudget(100)
	first, second := b.Open(), b.Open()
	for _, step := range []struct {
		account *Account
		take    int64
		want    error
		used    int64
	}{
		{first, 60, nil, 60},
		{second, 41, ErrBusy, 60},
		{second, 40, nil, 100},
		{second, 1, ErrBusy, 100},
		{first, 41, ErrTooLarge, 100},
		{first, math.MaxInt64, ErrTooLarge, 100},
		{nil, 1 << 60, nil, 100},
		{first, 0, nil, 100},
		{first, -5, nil, 100},
	} {
		if err := step.account.Take(step.take); !errors.Is(err, step.want) {
			t.Errorf("Take(%d) = %v, want %v", step.take, err, step.want)
		}
		if b.Used() != step.used {
			t.Errorf("after Take(%d) %d bytes are used, want %d", step.take, b.Used(), step.used)
		}
	}
	second.Give(15)
	first.Close()
	if b.Used() != 25 || second.Held() != 25 || first.Held() != 0 {
		t.Errorf("used %d, held %d and %d, want 25, 25 and 0", b.Used(), second.Held(), first.Held())
	}
	second.Close()
	second.Close()
	if b.Used() != 0 || b.Refused() != 4 {
		t.Errorf("used %d, refused %d, want 0 and 4", b.Used(), b.Refused())
	}
}

// After a query has ended, its remaining work takes no memory, and releases none twice.
func TestClosedAccount(t *testing.T) {
	b := NewBudget(100)
	a := b.Open()
	if err := a.Take(60); err != nil || a.Busy() {
		t.Fatalf("Take(60) = %v, busy %v", err, a.Busy())
	}
	other := b.Open()
	if err := other.Take(60); !errors.Is(err, ErrBusy) || !other.Busy() {
		t.Errorf("Take next to another = %v, busy %v", err, other.Busy())
	}
	a.Close()
	if err := a.Take(1); !errors.Is(err, context.Canceled) {
		t.Errorf("Take after Close = %v", err)
	}
	a.Give(60)
	if b.Used() != 0 {
		t.Errorf("%d bytes are used after Close", b.Used())
	}
}

// A query takes what spare accounts hold; they take at most a quarter, and only what is free.
func TestSpare(t *testing.T) {
	b := NewBudget(1000)
	spare, query := b.OpenSpare(), b.Open()
	if err := spare.Take(251); err == nil {
		t.Error("a spare account takes more than a quarter")
	}
	if err := spare.Take(250); err != nil {
		t.Fatal(err)
	}
	asked := 0
	b.OnShortage(func(n int64) bool {
		asked++
		had := spare.Held()
		spare.Give(min(n, 100))
		return had > 0
	})
	if err := query.Take(700); err != nil || asked != 0 {
		t.Errorf("Take(700) = %v, asked %d times", err, asked)
	}
	if err := query.Take(200); err != nil || spare.Held() != 50 {
		t.Errorf("Take(200) = %v, %d bytes are spare", err, spare.Held())
	}
	if err := query.Take(200); !errors.Is(err, ErrTooLarge) || spare.Held() != 0 {
		t.Errorf("Take(200) beyond the budget = %v, %d bytes are spare", err, spare.Held())
	}
	if b.Used() != 900 || b.Spare() != 0 {
		t.Errorf("%d bytes are used and %d spare, want 900 and 0", b.Used(), b.Spare())
	}
	query.Close()
	if err := spare.Take(100); err != nil || b.Used() != 0 || b.Spare() != 100 {
		t.Errorf("Take(100) = %v, %d bytes are used and %d spare", err, b.Used(), b.Spare())
	}
	spare.Close()
	spare = b.OpenSpare()
	other := b.Open()
	if err := other.Take(900); err != nil {
		t.Fatal(err)
	}
	if err := spare.Take(101); err == nil {
		t.Error("a spare account takes what is not free")
	}
}

func TestWithoutLimit(t *testing.T) {
	a := NewBudget(0).Open()
	if err := a.Take(1 << 50); err != nil {
		t.Errorf("Take without a limit: %v", err)
	}
}

func TestAccountOfContext(t *testing.T) {
	if a := AccountOf(t.Context()); a != nil {
		t.Errorf("From a context without an account = %v", a)
	}
	a := NewBudget(1).Open()
	if got := AccountOf(WithAccount(t.Context(), a)); got != a {
		t.Errorf("From(With(a)) = %p, want %p", got, a)
	}
}

// Concurrent queries never hold more than the budget together, and everything comes back.
func TestConcurrentTakes(t *testing.T) {
	b := NewBudget(1000)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 200 {
				a := b.Open()
				for n := int64(1); a.Take(n) == nil; n *= 2 {
				}
				if a.Held() > b.Limit() {
					t.Errorf("one account holds %d of %d bytes", a.Held(), b.Limit())
				}
				a.Close()
			}
		})
	}
	all.Wait()
	if b.Used() != 0 {
		t.Errorf("%d bytes are still used", b.Used())
	}
}

// TestSmallQueries: while large queries hold all that they may, small ones still get memory.
func TestSmallQueries(t *testing.T) {
	b := NewBudget(64 << 20)
	large := b.Open()
	for large.Take(small) == nil {
	}
	if held := large.Held(); held != 56<<20 {
		t.Errorf("a large query holds %d bytes, want seven eighths", held)
	}
	if err := b.Open().Take(2 * small); !errors.Is(err, ErrBusy) {
		t.Errorf("another large one: %v, want %v", err, ErrBusy)
	}
	few := b.Open()
	if err := errors.Join(few.Take(small/2), few.Take(small/2)); err != nil {
		t.Errorf("a small one: %v", err)
	}
	if err := few.Take(1); !errors.Is(err, ErrBusy) {
		t.Errorf("one that becomes large: %v, want %v", err, ErrBusy)
	}
	if err := few.Take(64 << 20); !errors.Is(err, ErrTooLarge) {
		t.Errorf("one that is too large for the whole: %v, want %v", err, ErrTooLarge)
	}
}

// TestMost: an account knows how much it has held at once.
func TestMost(t *testing.T) {
	a := NewBudget(100).Open()
	for _, n := range []int64{60, 30} {
		if err := a.Take(n); err != nil {
			t.Fatal(err)
		}
		a.Give(n - 10)
	}
	if err := a.Take(200); err == nil || a.Most() != 60 || (*Account)(nil).Most() != 0 {
		t.Errorf("%v, at most %d bytes, want 60", err, a.Most())
	}
}
