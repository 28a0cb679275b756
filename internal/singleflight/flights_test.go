package singleflight_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/internal/singleflight"
)

func transient(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// changes is a counter of changes, and a Watch of it.
type changes struct{ n atomic.Int64 }

func (c *changes) watch() singleflight.Watch { return &watch{c, c.n.Load()} }

type watch struct {
	of   *changes
	from int64
}

func (w *watch) Unchanged(context.Context) bool { return w.of.n.Load() == w.from }
func (*watch) End()                             {}

// work is a question that takes a second and answers with the number of its evaluation.
type work struct {
	changes
	begun, ended, closed atomic.Int64
	err                  error
}

func (w *work) question() singleflight.Question[int64] {
	return singleflight.Question[int64]{Watch: w.watch, Compute: w.compute, End: func() { w.closed.Add(1) }}
}

func (w *work) compute(ctx context.Context, _ bool) (int64, error) {
	n := w.begun.Add(1)
	defer w.ended.Add(1)
	select {
	case <-time.After(time.Second):
		return n, w.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// ask asks until ctx ends, and returns the answer.
func (w *work) ask(ctx context.Context, g *singleflight.Group[string, int64]) (int64, error) {
	share, err := g.Do(ctx, "q", w.question())
	if share == nil {
		return 0, err
	}
	defer share.Release()
	return share.Answer, err
}

// TestJoin: equal questions share one evaluation while nothing changes; those that are asked after a
// change share the next.
func TestJoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, w := singleflight.New[string, int64](transient), &work{}
		var all sync.WaitGroup
		ask := func(want int64) {
			all.Go(func() {
				if got, err := w.ask(t.Context(), g); got != want || err != nil {
					t.Errorf("answer %d, %v; want that of evaluation %d", got, err, want)
				}
			})
		}
		for range 64 {
			ask(1)
		}
		time.Sleep(500 * time.Millisecond)
		ask(1)
		synctest.Wait()
		w.n.Add(1)
		for range 64 {
			ask(2)
		}
		all.Wait()
		if w.begun.Load() != 2 || w.closed.Load() != 129 {
			t.Errorf("%d evaluations, %d questions of 129 were ended", w.begun.Load(), w.closed.Load())
		}
		ask(3) // nothing is kept
		all.Wait()
	})
}

// TestNotWatched: who may not join because changes are not known shares the next evaluation.
func TestNotWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, w := singleflight.New[string, int64](transient), &work{}
		var all sync.WaitGroup
		for range 64 {
			all.Go(func() {
				late := false
				share, err := g.Do(t.Context(), "q", singleflight.Question[int64]{Compute: func(ctx context.Context, l bool) (int64, error) {
					late = l
					return w.compute(ctx, l)
				}})
				if err != nil || late != (share.Answer == 2) && late {
					t.Errorf("%v, late: %v", err, late)
				}
				share.Release()
			})
		}
		all.Wait()
		if w.begun.Load() != 2 {
			t.Errorf("%d evaluations, want 2", w.begun.Load())
		}
	})
}

// TestLeave: who gives up gets its own error at once and takes nothing from the others. The last one
// ends the evaluation, and waits for its end.
func TestLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, w := singleflight.New[string, int64](transient), &work{}
		leader, leave := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer leave()
		var all sync.WaitGroup
		begin := time.Now()
		all.Go(func() {
			if _, err := w.ask(leader, g); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != 100*time.Millisecond {
				t.Errorf("the first: %v after %v", err, time.Since(begin))
			}
		})
		synctest.Wait()
		for range 3 {
			all.Go(func() {
				if got, err := w.ask(t.Context(), g); got != 1 || err != nil {
					t.Errorf("another: %d, %v", got, err)
				}
			})
		}
		all.Wait()

		ctx, cancel := context.WithCancel(t.Context())
		for range 3 {
			all.Go(func() {
				if _, err := w.ask(ctx, g); !errors.Is(err, context.Canceled) || w.begun.Load() != w.ended.Load() && w.ended.Load() > 2 {
					t.Errorf("without users: %v", err)
				}
			})
		}
		synctest.Wait()
		cancel()
		all.Wait()
		if w.begun.Load() != 2 || w.ended.Load() != 2 {
			t.Errorf("%d evaluations began, %d ended", w.begun.Load(), w.ended.Load())
		}
	})
}

// TestLeaveNext: the one that would have begun the next evaluation gives up; the others get it.
func TestLeaveNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, w := singleflight.New[string, int64](transient), &work{}
		var all sync.WaitGroup
		all.Go(func() { _, _ = w.ask(t.Context(), g) })
		synctest.Wait()
		w.n.Add(1)
		ctx, cancel := context.WithCancel(t.Context())
		all.Go(func() { _, _ = w.ask(ctx, g) })
		synctest.Wait()
		all.Go(func() {
			if got, err := w.ask(t.Context(), g); got != 2 || err != nil {
				t.Errorf("%d, %v", got, err)
			}
		})
		synctest.Wait()
		cancel()
		all.Wait()
		if w.closed.Load() != 3 {
			t.Errorf("%d of 3 questions were ended", w.closed.Load())
		}
	})
}

// TestErrors: an error of the question is everybody's, the end of one evaluation is not.
func TestErrors(t *testing.T) {
	wrong := errors.New("wrong")
	for _, c := range []struct {
		err         error
		evaluations int64
	}{{wrong, 1}, {query.ErrBusy, 1}, {context.DeadlineExceeded, 3}} {
		synctest.Test(t, func(t *testing.T) {
			g, w := singleflight.New[string, int64](transient), &work{err: c.err}
			b := query.NewBudget(1000)
			var all sync.WaitGroup
			for range 10 {
				all.Go(func() {
					account := b.Open()
					defer account.Close()
					_, err := w.ask(query.WithAccount(t.Context(), account), g)
					if !errors.Is(err, c.err) || account.Busy() != errors.Is(c.err, query.ErrBusy) {
						t.Errorf("%v, busy: %v", err, account.Busy())
					}
				})
			}
			all.Wait()
			if w.begun.Load() > c.evaluations {
				t.Errorf("%v: %d evaluations, want %d", c.err, w.begun.Load(), c.evaluations)
			}
		})
	}
}

// TestPanic: a panic is that of the requests, not of the process.
func TestPanic(t *testing.T) {
	g := singleflight.New[string, int64](transient)
	defer func() {
		if p, _ := recover().(string); !strings.Contains(p, "damaged") || !strings.Contains(p, "TestPanic") {
			t.Errorf("panic: %v", p)
		}
	}()
	_, _ = g.Do(t.Context(), "q", singleflight.Question[int64]{Compute: func(context.Context, bool) (int64, error) { panic("damaged") }})
	t.Error("no panic")
}

// TestMemory: the memory of an evaluation is taken once, until the last one has used the answer. Each
// query shows it, with what was read.
func TestMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, b, registry := singleflight.New[string, int64](transient), query.NewBudget(1000), query.NewRegistry()
		question := singleflight.Question[int64]{Watch: (&changes{}).watch, Compute: func(ctx context.Context, _ bool) (int64, error) {
			query.From(ctx).Read(7)
			err := query.AccountOf(ctx).Take(600)
			time.Sleep(time.Second)
			return 1, err
		}}
		var all sync.WaitGroup
		for i := range 5 {
			all.Go(func() {
				account := b.Open()
				defer account.Close()
				ctx, query := registry.Begin(query.WithAccount(t.Context(), account), query.Description{Text: "q"})
				defer query.End()
				share, err := g.Do(ctx, "q", question)
				if err != nil {
					t.Error(err)
				}
				time.Sleep(time.Duration(i) * time.Second) // sends it
				if b.Used() != 600 {
					t.Errorf("%d bytes are taken", b.Used())
				}
				share.Release()
			})
		}
		time.Sleep(500 * time.Millisecond)
		for _, s := range registry.List() {
			if s.Memory != 600 || s.Samples != 7 {
				t.Errorf("%+v", s)
			}
		}
		all.Wait()
		if b.Used() != 0 {
			t.Errorf("%d bytes are left", b.Used())
		}
	})
}

// TestTurn: who waits has no turn, and the evaluation has one; afterwards each has its turn again.
func TestTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, shared := singleflight.New[string, int64](transient), query.NewTurns(1)
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				turn, err := shared.Begin(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				defer turn.End()
				share, err := g.Do(query.WithTurn(t.Context(), turn), "q", singleflight.Question[int64]{Watch: (&changes{}).watch, Compute: func(context.Context, bool) (int64, error) {
					time.Sleep(time.Millisecond)
					return 1, nil
				}})
				if err != nil || !turn.Pause() {
					t.Errorf("%v, without a turn", err)
				}
				share.Release()
			})
		}
		all.Wait()
	})
}

// TestNeverOlder has writers and readers at once: an answer has all that was acknowledged before its
// question was asked.
func TestNeverOlder(t *testing.T) {
	g := singleflight.New[int, int64](transient)
	var stored atomic.Int64 // can be read
	var noted changes       // before they are acknowledged
	var acknowledged atomic.Int64
	ctx, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer stop()
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for ctx.Err() == nil {
				n := stored.Add(1)
				noted.n.Add(1)
				for {
					if old := acknowledged.Load(); old >= n || acknowledged.CompareAndSwap(old, n) {
						break
					}
				}
				time.Sleep(time.Duration(rand.IntN(300)) * time.Microsecond)
			}
		})
	}
	var answers, evaluations atomic.Int64
	for i := range 16 {
		all.Go(func() {
			for ctx.Err() == nil {
				before := acknowledged.Load()
				asking, cancel := context.WithTimeout(ctx, time.Duration(rand.IntN(2000))*time.Microsecond)
				share, err := g.Do(asking, i%2, singleflight.Question[int64]{Watch: noted.watch, Compute: func(context.Context, bool) (int64, error) {
					evaluations.Add(1)
					n := stored.Load()
					time.Sleep(time.Duration(rand.IntN(500)) * time.Microsecond)
					return n, nil
				}})
				cancel()
				if share == nil {
					continue
				}
				if answers.Add(1); err != nil || share.Answer < before {
					t.Errorf("answer %d, %v; %d were acknowledged before", share.Answer, err, before)
				}
				share.Release()
			}
		})
	}
	all.Wait()
	if answers.Load() <= evaluations.Load() {
		t.Errorf("%d answers of %d evaluations", answers.Load(), evaluations.Load())
	}
}
