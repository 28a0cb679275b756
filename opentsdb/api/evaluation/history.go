package evaluation

import (
	"sync"
	"time"
)

// mostRemembered is how many queries that have ended are shown.
const mostRemembered = 64

// history remembers the queries that ended last.
type history struct {
	mu    sync.Mutex
	ended [mostRemembered]Finished
	next  int
}

// Finished is a query that has ended. A failed one has an error.
type Finished struct {
	Text, Client string
	Begin, End   time.Time
	Samples      int64
	Err          error
}

func (h *history) add(f Finished) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended[h.next%mostRemembered] = f
	h.next++
}

// Completed returns the queries that ended last, the newest first.
func (e *Evaluator) Completed() []Finished {
	h := &e.history
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []Finished
	for i := h.next - 1; i >= 0 && i >= h.next-mostRemembered; i-- {
		out = append(out, h.ended[i%mostRemembered])
	}
	return out
}
