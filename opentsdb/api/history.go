package api

import (
	"sync"
	"time"
)

// mostRemembered is how many queries that have ended are shown.
const mostRemembered = 64

// history remembers the queries that ended last.
type history struct {
	mu    sync.Mutex
	ended [mostRemembered]finished
	next  int
}

// finished is a query that has ended. A failed one has an error.
type finished struct {
	text, client string
	begin, end   time.Time
	samples      int64
	err          error
}

func (h *history) add(f finished) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended[h.next%mostRemembered] = f
	h.next++
}

// list returns the queries, the newest first.
func (h *history) list() []finished {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []finished
	for i := h.next - 1; i >= 0 && i >= h.next-mostRemembered; i-- {
		out = append(out, h.ended[i%mostRemembered])
	}
	return out
}
