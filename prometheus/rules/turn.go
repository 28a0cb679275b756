package rules

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// A turn is what this process knows of the lease of a group.
type turn struct {
	leases Leases
	key    string
	now    func() time.Time

	mu     sync.Mutex // guards what follows; held while the lease is read or written
	length time.Duration
	mine   bool
	leased bool      // the lease could be read: mine is not an assumption
	until  time.Time // nobody else takes the lease before
	read   time.Time // when the lease was last read
	done   time.Time // up to where the group was evaluated, by any process
	ready  bool      // the group is in the state of then: it was taken over
	// behind is about how many instants since then are missing, though the group is ready: 0 are
	// not made up, since there is no time for them
	behind int
	// failing is since when the store fails; zero: it does not
	failing time.Time

	shown atomic.Pointer[Lease] // as it was when nobody held mu

	present atomic.Pointer[present] // nil: the group itself evaluates the present
	// what follows is of the goroutine of the group
	replay time.Time // up to where the group was taken over; zero: it was not begun, or is done
	stuck  int       // how many times the missing instants did not become fewer
	alone  bool      // there is no time to evaluate the present before what is missing
}

// forget forgets what was begun to catch up.
func (t *turn) forget() {
	t.present.Store(nil)
	t.replay, t.stuck, t.alone = time.Time{}, 0, false
}

// hold takes the lease or renews it. If it cannot be read, the process that had it goes on, and others take the
// group over when nobody can have renewed it: twice is better than not at all.
func (t *turn) hold(ctx context.Context, length time.Duration) (mine, was bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.length, was = length, t.mine
	done, err := t.renewLocked(ctx)
	switch {
	case err == nil:
		t.done = done
	case was:
		t.behind = math.MaxInt
	case t.now().Sub(t.read) > length:
		t.mine = true
	}
	return t.mine, was
}

// renewLocked takes the lease or renews it. An error changes nothing.
func (t *turn) renewLocked(ctx context.Context) (done time.Time, err error) {
	now := t.now()
	held, done, err := t.leases.Hold(ctx, t.key, t.length)
	t.leased = err == nil
	if err != nil {
		return done, err
	}
	t.mine, t.ready, t.read = held, t.ready && held, now
	if held {
		t.until = now.Add(t.length)
	}
	return done, nil
}

// keep renews the lease until stop. The context that it returns ends when another process has it.
func (t *turn) keep(ctx context.Context) (work context.Context, stop func()) {
	work, cancel := context.WithCancel(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() {
		tick := time.NewTicker(t.length / 3)
		defer tick.Stop()
		for {
			select {
			case <-work.Done():
				return
			case <-tick.C:
			}
			if !t.renew(work) {
				cancel()
			}
		}
	})
	return work, func() {
		cancel()
		renewing.Wait()
	}
}

// renew renews the lease of a group that is evaluated, and is false if another process has it.
func (t *turn) renew(ctx context.Context) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mine {
		_, _ = t.renewLocked(ctx) // without an answer it goes on, as in hold
	}
	return t.mine
}

// mayWrite reports whether this process may write what it evaluated. A process that was stopped for a while looks
// at the lease again.
func (t *turn) mayWrite(ctx context.Context) bool {
	t.mu.Lock()
	now := t.now()
	// the wall clock goes on while the machine sleeps, the other one when it is set
	sure := now.Before(t.until) && now.Round(0).Before(t.until.Round(0))
	mine := t.mine
	t.mu.Unlock()
	if sure {
		return mine
	}
	return t.renew(ctx)
}

// note notes up to where the group was evaluated. It is false if nobody knows that now.
func (t *turn) note(ctx context.Context, at time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.leased || !t.mine {
		return false
	}
	now := t.now()
	held, err := t.leases.Note(ctx, t.key, at, t.length)
	if err != nil {
		return false
	}
	t.mine, t.ready = held, t.ready && held
	if held {
		t.done, t.until = at, now.Add(t.length)
	}
	return held
}

// patienceFailing is how long an instant is evaluated again and again at which the store fails. A rule that always
// fails must not stop the others. A time in which the leases cannot be read either does not count: then nothing can be
// evaluated.
const patienceFailing = time.Minute

// tryAgain reports whether an evaluation is to be repeated.
func (t *turn) tryAgain(failed bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	switch {
	case !failed, !t.leased:
		t.failing = time.Time{}
	case t.failing.IsZero():
		t.failing = now
	}
	return failed && (t.failing.IsZero() || now.Sub(t.failing) < patienceFailing)
}

// release gives the lease back, if this process has it.
func (t *turn) release(ctx context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mine {
		_ = t.leases.Release(ctx, t.key) // it ends by itself
	}
	t.mine, t.ready, t.read = false, false, t.now()
}

func (t *turn) has() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mine
}

func (t *turn) progress() (done time.Time, ready bool, behind int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.done, t.ready, t.behind
}

func (t *turn) set(ready bool, behind int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ready, t.behind = ready && t.mine, behind
}
