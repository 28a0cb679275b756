package netserver

import (
	"slices"
	"sync"
	"sync/atomic"
)

// A Gate counts requests and the bytes that they hold, and admits none above its limits. It never
// makes a request wait: the sender tries again later, which takes less memory here. When bytes are
// short, requests whose bodies are still arriving are cut off, the oldest one first, so that slow
// senders do not block others. It is safe for concurrent use.
type Gate struct {
	maxRequests, maxBytes int64
	requests, bytes       atomic.Int64

	mu        sync.Mutex // guards receiving
	receiving []*Share   // whose bodies are arriving, in the order in which they began
}

// NewGate returns a gate for so many requests at once, with so many bytes together.
func NewGate(requests, bytes int) *Gate {
	return &Gate{maxRequests: int64(requests), maxBytes: int64(bytes)}
}

// Enter lets one request in, for which Leave must be called.
func (g *Gate) Enter() bool {
	if g.requests.Add(1) > g.maxRequests {
		g.requests.Add(-1)
		return false
	}
	return true
}

// Leave lets one request out.
func (g *Gate) Leave() { g.requests.Add(-1) }

// Requests are those that are in.
func (g *Gate) Requests() int64 { return g.requests.Load() }

// Bytes are those of all requests.
func (g *Gate) Bytes() int64 { return g.bytes.Load() }

// take takes n bytes; false when there are not so many left.
func (g *Gate) take(n int64) bool {
	if g.bytes.Add(n) > g.maxBytes {
		g.bytes.Add(-n)
		return false
	}
	return true
}

// makeRoom takes n bytes. It cuts off requests that are being received until there are enough. If s
// is being received itself, only requests that began before s are cut off.
func (g *Gate) makeRoom(n int64, s *Share) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(g.receiving) > 0 && g.receiving[0] != s {
		victim := g.receiving[0]
		g.receiving = slices.Delete(g.receiving, 0, 1)
		victim.wasCut.Store(true)
		victim.Release()
		victim.cut()
		if g.take(n) {
			return true
		}
	}
	return g.take(n)
}

// A Share is the bytes of one request.
type Share struct {
	Gate   *Gate
	bytes  atomic.Int64
	cut    func() // guarded by Gate.mu
	wasCut atomic.Bool
}

// Take takes n bytes more, before they are allocated; false when there are not so many left.
func (s *Share) Take(n int) bool {
	if s.wasCut.Load() || !s.Gate.take(int64(n)) && !s.Gate.makeRoom(int64(n), s) {
		return false
	}
	s.bytes.Add(int64(n))
	return true
}

// Held returns how many bytes the share has.
func (s *Share) Held() int { return int(s.bytes.Load()) }

// Give returns n bytes that were taken.
func (s *Share) Give(n int) {
	s.bytes.Add(-int64(n))
	s.Gate.bytes.Add(-int64(n))
}

// Release returns all bytes of the share.
func (s *Share) Release() { s.Gate.bytes.Add(-s.bytes.Swap(0)) }

// Receiving notes that the body of the request is arriving. Until Received, another goroutine may
// call cut once. cut must end the reading of the body, and must not wait. The share has lost its
// bytes then.
func (s *Share) Receiving(cut func()) {
	s.Gate.mu.Lock()
	defer s.Gate.mu.Unlock()
	s.cut = cut
	s.wasCut.Store(false)
	s.Gate.receiving = append(s.Gate.receiving, s)
}

// Received notes that the body is not read any further.
func (s *Share) Received() {
	s.Gate.mu.Lock()
	defer s.Gate.mu.Unlock()
	if at := slices.Index(s.Gate.receiving, s); at >= 0 {
		s.Gate.receiving = slices.Delete(s.Gate.receiving, at, at+1)
	}
}

// WasCut reports whether the body was cut off for others.
func (s *Share) WasCut() bool { return s.wasCut.Load() }
