package log

import (
	"context"
	"time"
)

// A sync costs the same for one record and for many. Callers that append one record after the other
// come back soon after the sync that answered them. So a group waits until as many records have
// come as the last round had: those that the last sync wrote, and those that came while it ran.
// Without the wait such callers fall into two halves, and each half waits for the sync of the other.
//
// A caller that is alone never waits, and no group waits for longer than two syncs take. After
// waits in vain the next groups do not wait.

// groupWait decides how long a group waits for more records. Log.mu guards it.
type groupWait struct {
	sync   time.Duration // of the last syncs, a moving mean
	expect int           // records of the last round
	held   bool          // the holder of the turn waits; the caller that clears this has the turn
	begun  int           // records of the group when the wait began
	vain   int           // waits in vain in succession
	skip   int           // groups that do not wait before the next one that does
}

const (
	// enough is how many records make more of them not worth a wait.
	enough = 64
	// longestWait bounds the wait where syncs are slow.
	longestWait = 2 * time.Millisecond
	// mostVain bounds the pauses after waits in vain: 2^mostVain groups.
	mostVain = 8
)

// synced notes how long a sync took, and the round that ends with it: the records that it wrote and
// those that came while it ran.
func (w *groupWait) synced(took time.Duration, round int) {
	if w.sync == 0 {
		w.sync = took
	}
	w.sync += (took - w.sync) / 8
	w.expect = min(round, enough)
}

// begin reports whether a group of n records waits, and returns for how long at most.
func (w *groupWait) begin(n int) (limit time.Duration, waits bool) {
	switch {
	case n >= w.expect || w.sync <= 0:
		return 0, false
	case w.skip > 0:
		w.skip--
		return 0, false
	}
	w.held, w.begun = true, n
	return min(2*w.sync, longestWait), true
}

// end ends the wait of a group that has n records by now. It returns false when no group waits.
func (w *groupWait) end(n int) bool {
	if !w.held {
		return false
	}
	w.held = false
	if missing := w.expect - w.begun; 2*(n-w.begun) >= missing {
		w.vain = 0
	} else {
		w.vain = min(w.vain+1, mostVain)
		w.skip = 1<<w.vain - 1
	}
	return true
}

// lead writes the group that gathers, after it has waited for more records. The record of t is in
// the group. The caller has the turn, which lead passes on.
func (c *commits) lead(ctx context.Context, t *ticket) {
	if limit, waits := c.beginWait(); waits {
		t.sleep(ctx, limit)
		if !c.endWait() {
			return // the caller that added the last record has the turn
		}
	}
	c.commitAndPass()
}

// commitAndPass writes what has gathered and passes the turn on.
func (c *commits) commitAndPass() {
	c.commit()
	c.turn <- struct{}{}
}

func (c *commits) beginWait() (limit time.Duration, waits bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wait.begin(len(c.gather.tickets))
}

// endWait ends the wait of the group that gathers. It returns false when no group waits any more.
func (c *commits) endWait() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wait.end(len(c.gather.tickets))
}

// sleep returns when the ticket has its result, ctx has ended or the time is over.
func (t *ticket) sleep(ctx context.Context, limit time.Duration) {
	if t.timer == nil {
		t.timer = time.NewTimer(limit)
	} else {
		t.timer.Reset(limit)
	}
	defer t.timer.Stop()
	select {
	case r := <-t.done:
		t.done <- r // it holds one
	case <-t.timer.C:
	case <-ctx.Done():
	}
}
