package listen

import (
	"slices"
	"sync"
	"sync/atomic"
)

// A Gate counts requests and the bytes that they hold, and admits none above its limits. It never
// makes a request wait: the sender tries again later, and waits with less memory. Where bytes are
// short, requests whose bodies have not come yet give way: the one that has been sent for longest
// goes first, so that slow senders block no others. It is safe for concurrent use.
type Gate struct {
	maxRequests, maxBytes int64
	requests, bytes       atomic.Int64

	mu        sync.Mutex // guards receiving
	receiving []*Share   // whose bodies are coming, in the order in which they began
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

// makeRoom takes n bytes, and the bytes for them from requests that are being received, of those
// that began before s if s is one of them.
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

// Give gives n bytes back, which were taken.
func (s *Share) Give(n int) {
	s.bytes.Add(-int64(n))
	s.Gate.bytes.Add(-int64(n))
}

// Release gives all of it back.
func (s *Share) Release() { s.Gate.bytes.Add(-s.bytes.Swap(0)) }

// Receiving reports that the body of the request is coming. Until Received, cut may be called once,
// by another goroutine: it ends reading the body, and must not wait. What was taken is not the
// share's any more then.
func (s *Share) Receiving(cut func()) {
	s.Gate.mu.Lock()
	defer s.Gate.mu.Unlock()
	s.cut = cut
	s.wasCut.Store(false)
	s.Gate.receiving = append(s.Gate.receiving, s)
}

// Received reports that no more of the body is read.
func (s *Share) Received() {
	s.Gate.mu.Lock()
	defer s.Gate.mu.Unlock()
	if at := slices.Index(s.Gate.receiving, s); at >= 0 {
		s.Gate.receiving = slices.Delete(s.Gate.receiving, at, at+1)
	}
}

// WasCut reports whether the body had to give way to others.
func (s *Share) WasCut() bool { return s.wasCut.Load() }
